"""The launcher: what it sets up, what it leaves alone, and what it takes back."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def site(clone: Any) -> Path:
    return next((clone.root / ".venv" / "lib").glob("python3*")) / "site-packages"


def test_a_dry_run_lists_everything_and_changes_nothing(clone: Any) -> None:
    before = clone.snapshot()
    done = clone("run", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert clone.snapshot() == before
    assert "clang" in done.stdout and "libbpf-dev" in done.stdout
    assert "as root: apt-get install --yes --no-install-recommends" in done.stdout
    assert "1 from requirements.lock" in done.stdout
    assert "MB; set-up: about" in done.stdout
    assert " make " not in done.stdout.split("disk:")[0].replace("make -C bpf", "")
    assert clone.installed == {"make", "gcc", "unrelated"}
    assert all(call.startswith("-s ") for call in clone.apt_calls)


def test_set_up_is_complete_and_idempotent(installed: Any) -> None:
    clone = installed
    assert (site(clone) / "tinything" / "__init__.py").exists()
    done = clone("doctor")
    assert done.returncode == 0, done.stderr
    assert (clone.root / "bpf/build/collector").exists()
    installs = [
        call for call in clone.apt_calls if " install " in call and "-s" not in call.split()
    ]
    assert len(installs) == 1
    assert "clang" in installs[0].split() and "unrelated" not in installs[0].split()
    assert "make" not in installs[0].split(), "what is there is not installed again"
    assert "clang-format" not in installs[0], "only ./study test needs it"

    # from anywhere, through a link, without HOME: set up already, so nothing is done again
    before, calls = clone.snapshot(), len(clone.apt_calls)
    link = clone.fake / "link"
    link.symlink_to(clone.root / "study")
    environment = {"PATH": f"{clone.fake}/bin:/usr/bin:/bin", "FAKE": str(clone.fake)}
    again = subprocess.run(
        [link, "doctor"], env=environment, capture_output=True, text=True, cwd="/"
    )
    assert again.stdout == "reached doctor\n", again.stderr
    assert clone.snapshot() == before
    assert not [call for call in clone.apt_calls[calls:] if not call.startswith("-s")]


@pytest.mark.parametrize("damage", ["file", "pip"])
def test_a_half_made_environment_is_completed(installed: Any, damage: str) -> None:
    clone = installed
    (clone.root / ".venv/probetax.stamp").unlink()
    if damage == "file":  # pip would call the package installed
        (site(clone) / "tinything" / "other.py").unlink()
    else:
        shutil.rmtree(site(clone) / "pip")
    done = clone("plan")
    assert done.returncode == 0, done.stderr
    assert (site(clone) / "tinything" / "other.py").read_text() == "other = 2\n"
    assert (clone.root / ".venv/probetax.stamp").exists()


def test_an_environment_of_another_place_is_made_anew_and_not_cleared_there(installed: Any) -> None:
    old = installed.root
    installed.root = old.rename(old.with_name("moved clone"))
    there = (installed.root / ".venv").rename(installed.fake / "another's")
    (installed.root / ".venv").symlink_to(there)
    done = installed("plan")
    assert done.returncode == 0, done.stderr
    assert str(old) not in (installed.root / ".venv" / "bin" / "pip").read_text()
    assert str(old) in (there / "bin" / "pip").read_text()
    assert (there / "probetax.stamp").exists()


def test_a_changed_lock_is_installed(installed: Any) -> None:
    clone = installed
    with open(clone.root / "requirements.lock", "a") as lock:
        lock.write("# changed\n")
    assert "installing the locked Python packages" in clone("plan").stdout
    assert "installing" not in clone("plan").stdout


def test_a_wrong_hash_stops_with_cause_and_cure(installed: Any) -> None:
    clone = installed
    shutil.rmtree(site(clone) / "tinything")
    shutil.rmtree(site(clone) / "tinything-1.0.dist-info")
    lock = clone.root / "requirements.lock"
    right = lock.read_text()
    lock.write_text(re.sub("sha256:.{8}", "sha256:00000000", right))
    done = clone("plan")
    assert done.returncode == 1
    assert "HASH" in done.stderr.upper()
    assert "run this again" in done.stderr.splitlines()[-1]
    assert not (clone.root / ".venv/probetax.stamp").exists()
    lock.write_text(right)
    assert clone("plan").returncode == 0, "the right one goes on from there"


def test_remove_takes_back_what_set_up_added(installed: Any) -> None:
    clone = installed
    assert clone("doctor").returncode == 0
    done = clone("remove")
    assert done.returncode == 0, done.stderr
    assert clone.installed == {"make", "gcc", "unrelated"}
    assert not (clone.root / ".venv").exists() and not (clone.root / "bpf/build").exists()
    assert not (clone.root / ".setup").exists()
    assert (clone.root / "data/raw/processes/measured.csv").read_text() == "kept\n"
    assert clone("remove").returncode == 0, "nothing to undo is no failure"


def test_figures_take_the_first_python_that_is_new_enough(ready: Any) -> None:
    script = ready.root / "vm/provision.sh"
    system = str(ready.fake / "bin/system-python")
    script.write_text(script.read_text().replace("/usr/bin/python3", system))
    for name in ("system-python", "python3.13", "python3.12", "python3.11", "python3"):
        ready.put(name, "#!/bin/bash\nexit 1\n")
    done = ready("figures")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and "3.11 or newer" in done.stderr
    ready.put("python3.12", '#!/bin/bash\nexec /usr/bin/python3 "$@"\n')
    done = ready("figures")
    assert done.stdout == "reached figures\n", done.stderr
    assert ready("doctor").returncode == 1, "measuring keeps to the system's"


def test_the_virtual_machine_gets_all_but_what_set_up_makes() -> None:
    (excluded,) = re.findall(r"rsync__exclude: \[(.*)\]", (ROOT / "Vagrantfile").read_text())
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert set(re.findall(r'"(.+?)"', excluded)) <= set(ignored), "the tests need .git too"


def test_a_failed_apt_shows_its_reason_and_is_resumable(ready: Any) -> None:
    (ready.fake / "broken").touch()
    done = ready("doctor")
    assert done.returncode == 1
    assert "E: dpkg was interrupted" in done.stderr
    assert "run this again" in done.stderr.splitlines()[-1]
    (ready.fake / "broken").unlink()
    assert ready("doctor").returncode == 0
    assert ready("remove").returncode == 0
    assert ready.installed == {"make", "gcc", "unrelated"}


def test_remove_keeps_what_something_else_needs_by_now(ready: Any) -> None:
    assert ready("doctor").returncode == 0
    (ready.fake / "foreign").touch()  # needs libfake, and was installed by somebody else
    done = ready("remove")
    assert done.returncode == 0, done.stderr
    assert "kept libfake" in done.stdout
    assert ready.installed == {"make", "gcc", "unrelated", "libfake"}


def test_without_root_one_line_says_what_to_ask_for(clone: Any) -> None:
    clone.put("id", "#!/bin/bash\necho 1000\n")
    clone.put("sudo", "#!/bin/bash\nexit 1\n")
    done = clone("doctor")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "apt-get install clang" in done.stderr
    assert clone.installed == {"make", "gcc", "unrelated"}


def test_without_root_wished_packages_are_no_obstacle(ready: Any) -> None:
    needed = "clang llvm make gcc libc6-dev libbpf-dev libelf-dev zlib1g-dev libyaml-dev procps"
    needed += " python3-venv"
    (ready.fake / "installed").write_text(needed.replace(" ", "\n") + "\n")
    ready.put("id", "#!/bin/bash\necho 1000\n")
    ready.put("sudo", "#!/bin/bash\nexit 1\n")
    done = ready("doctor")
    assert done.returncode == 0, done.stderr
    assert "python3-bpfcc" in done.stdout and "unavailable" in done.stdout


def test_no_debian_is_one_line(clone: Any) -> None:
    tools = clone.fake / "tools"
    tools.mkdir()
    for name in (
        "bash",
        "env",
        "dirname",
        "cat",
        "mkdir",
        "uname",
        "readlink",
        "id",
        "stat",
        "flock",
    ):
        (tools / name).symlink_to(str(shutil.which(name)))
    done = clone("doctor", PATH=str(tools))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "clang" in done.stderr and "Vagrantfile" in done.stderr


def test_an_unwritable_clone_is_one_line(clone: Any) -> None:
    (clone.root / ".setup").write_text("a file where the folder should be")
    done = clone("plan")
    assert done.returncode == 1
    assert "cannot write" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", [["rnu"], ["remove", "everything"], ["--runs", "3"]])
def test_unknown_words_are_one_line_and_status_2(clone: Any, words: list[str]) -> None:
    before = clone.snapshot()
    done = clone(*words)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert clone.snapshot() == before


def test_the_plan_of_a_review_installs_nothing(ready: Any) -> None:
    done = ready("review", "--plan")
    assert done.stdout == "reached review --plan\n", done.stderr
    assert ready.apt_calls == []
    assert ready("review", "--dry-run").stdout.endswith("reached review --plan\n")
    assert all(call.startswith("-s ") for call in ready.apt_calls)
    assert ready("report").stdout == "reached report\n", "no root, BPF or Linux is needed for it"


def test_advice_needs_no_set_up_and_leaves_nothing(clone: Any) -> None:
    shutil.copytree(
        ROOT / "cli", clone.root / "cli", dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )  # fmt: skip
    before = clone.snapshot()
    tools = clone.fake / "tools"
    tools.mkdir()
    for name in ("bash", "env", "dirname"):  # all that it may find, and no python3 among them
        (tools / name).symlink_to(str(shutil.which(name)))
    done = clone("advise", "--help", PATH=str(tools))
    assert done.returncode == 0 and "--fleet" in done.stdout, done.stderr
    done = clone("advise", "--processes", "600", "--switches", "1", PATH=str(tools))
    assert done.returncode == 2, "no coefficients are in this clone"
    assert len(done.stderr.splitlines()) == 1 and "data/advice.json is missing" in done.stderr
    assert "changes nothing" in clone("advise", "--dry-run").stdout
    assert clone.snapshot() == before and clone.apt_calls == []


def test_advice_without_a_python_is_one_line(clone: Any) -> None:
    launcher = clone.root / "study"
    launcher.write_text(launcher.read_text().replace("/usr/bin/python3", "/nowhere/python3"))
    clone.put("python3", "#!/bin/bash\nexit 1\n")
    done = clone("advise")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and "Python 3.9 or newer" in done.stderr


def test_calibrating_sets_up_as_a_run_does(ready: Any) -> None:
    done = ready("advise", "--calibrate", "--interval", "15")
    assert done.stdout.splitlines()[-1] == "reached advise --calibrate --interval 15", done.stderr
    assert any(" install " in call for call in ready.apt_calls)


def test_help_needs_nothing(clone: Any) -> None:
    before = clone.snapshot()
    for words in ([], ["help"], ["--help"]):
        done = clone(*words)
        assert done.returncode == 0 and "./study run" in done.stdout
    assert clone.snapshot() == before
    assert os.access(clone.root / "study", os.X_OK)


def test_compare_upstream_gets_its_words_as_they_are(ready: Any) -> None:
    done = ready("compare-upstream", "a clone", "--preset", "smoke")
    assert done.stdout.endswith("reached compare-upstream a clone --preset smoke\n"), done.stderr
