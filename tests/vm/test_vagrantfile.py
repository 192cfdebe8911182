"""The Vagrantfile, validated by Vagrant itself, and read for what Vagrant leaves out.

Without a provider Vagrant ignores what stands in a provider's block; a misspelt setting there is
found by reading.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
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


def validate(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What Vagrant says of a Vagrantfile; it needs no network, box or provider for it."""
    (folder / "Vagrantfile").write_text(text, encoding="utf-8")
    home = {"HOME": str(folder), "VAGRANT_HOME": str(folder / "home"), "VAGRANT_NO_COLOR": "1"}
    return subprocess.run(
        ["vagrant", "validate", "--ignore-provider"],
        cwd=folder,
        env=os.environ | home | {"VAGRANT_CHECKPOINT_DISABLE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.skipif(
    shutil.which("vagrant") is None,
    reason="unavailable: no vagrant here: ./study test installs it where apt knows it",
)
class TestVagrantItself:
    def test_the_file_is_valid(self, tmp_path: Path) -> None:
        done = validate(TEXT, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Vagrantfile validated successfully" in done.stdout

    @pytest.mark.parametrize(("old", "new"), [("\nend\n", "\n"), ("vm.hostname", "vm.hostnam")])
    def test_a_broken_one_is_refused(self, old: str, new: str, tmp_path: Path) -> None:
        done = validate(TEXT.replace(old, new), tmp_path)
        assert done.returncode == 1, done.stdout + done.stderr


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
