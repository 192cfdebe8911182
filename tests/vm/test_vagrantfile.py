"""The Vagrantfile, read without Ruby. `vagrant validate --ignore-provider` itself is run by hand:

Debian's vagrant pulls in Ruby and some hundred packages, too much for every run of the tests.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Vagrantfile").read_text(encoding="utf-8")

#: What Vagrant's configuration of version 2 has, of what ours sets.
SETTINGS = {"vm.box", "vm.hostname"}
CALLS = {"vm.synced_folder", "vm.provider", "vm.provision"}
PROVIDER_SETTINGS = {"cpus", "memory"}


class Unsound(ValueError):
    """A line that is not of the few forms a Vagrantfile needs."""


def read(text: str) -> list[tuple[str, ...]]:
    """Statements with the variables of the blocks they stand in. Raises Unsound."""
    found: list[tuple[str, ...]] = []
    blocks: list[str] = []
    for line in joined(text):
        if opened := re.fullmatch(r"Vagrant\.configure\(\"2\"\) do \|(\w+)\|", line):
            blocks.append(opened[1])
        elif opened := re.fullmatch(r"(\w+)\.([\w.]+) \"(\w+)\" do \|(\w+)\|", line):
            _known(opened[1], blocks)
            found.append((opened[1], opened[2], opened[3]))
            blocks.append(opened[4])
        elif line == "end":
            if not blocks:
                raise Unsound("an end too many")
            blocks.pop()
        elif given := re.fullmatch(r"(\w+)\.([\w.]+) = (.+)", line):
            _known(given[1], blocks)
            found.append((given[1], given[2], given[3]))
        elif called := re.fullmatch(r"(\w+)\.([\w.]+) (\"[^\"]*\".*)", line):
            _known(called[1], blocks)
            found.append((called[1], called[2], called[3]))
        else:
            raise Unsound(line)
        if line.count('"') % 2 or line.count("[") != line.count("]"):
            raise Unsound(line)
    if blocks:
        raise Unsound(f"an end is missing for |{blocks[-1]}|")
    return found


def joined(text: str) -> list[str]:
    """Lines without comments; one that ends with a comma goes on in the next."""
    lines: list[str] = []
    for line in text.splitlines():
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        if lines and lines[-1].endswith(","):
            lines[-1] += " " + line
        elif line:
            lines.append(line)
    return lines


def _known(name: str, blocks: list[str]) -> None:
    if name not in blocks:
        raise Unsound(f"{name} is not of this block")


def test_every_line_is_of_a_known_form_and_every_setting_exists() -> None:
    statements = read(TEXT)
    assert len(statements) >= 8
    for variable, name, _ in statements:
        known = SETTINGS | CALLS if variable == "config" else PROVIDER_SETTINGS
        assert name in known, name


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\nend\n", "\n"),
        ("machine.cpus", "machin.cpus"),
        ('config.vm.hostname = "probetax"', 'config.vm.hostname = "probetax'),
        ("do |config|", "|config|"),
        ('"bpf/build/"]', '"bpf/build/"'),
    ],
)
def test_a_broken_file_is_found(old: str, new: str) -> None:
    assert old in TEXT
    with pytest.raises(Unsound):
        read(TEXT.replace(old, new, 1))


def test_it_sets_up_by_the_shared_script_as_the_user() -> None:
    ((_, _, call),) = [s for s in read(TEXT) if s[1] == "vm.provision"]
    assert call.startswith('"shell"') and "privileged: false" in call
    path = re.search(r'inline: "/home/vagrant/probetax/(\S+)"', call)
    assert path and (ROOT / path[1]).stat().st_mode & 0o100


def test_it_takes_the_clone_to_the_guests_own_disk() -> None:
    ((_, _, call),) = [s for s in read(TEXT) if s[1] == "vm.synced_folder"]
    assert call.startswith('".", "/home/vagrant/probetax"') and 'type: "rsync"' in call
