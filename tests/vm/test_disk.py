"""The machine with systemd on a disk image: what is built, how it is booted, how it is judged.

Building and booting it takes minutes, so that one test is marked ``disk`` and run by hand:
``./study test -m disk tests/vm/test_disk.py``.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from vm import archive, command
from vm.disk import boot, check, clone, image
from vm.problem import Problem
from vm.result import GuestFailed

ROOT = Path(__file__).resolve().parents[2]


def on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> None:
    """Put commands first on PATH, and nothing else that they could be mistaken for."""
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.fixture
def disk(tmp_path: Path) -> image.Disk:
    made = image.Disk(tmp_path / "disk.img", tmp_path / "vmlinuz", tmp_path / "initrd", "x86_64")
    made.file.write_bytes(b"untouched")
    return made


# --- building


@pytest.mark.parametrize("architecture", archive.DEBIAN)
def test_the_kernel_and_its_headers_are_the_guests(architecture: str) -> None:
    debian = archive.DEBIAN[architecture]
    names = image.packages(architecture)
    assert f"linux-image-cloud-{debian}" in names and f"linux-headers-cloud-{debian}" in names
    assert "systemd-sysv" in names


def test_what_the_project_needs_is_left_to_provision_sh() -> None:
    lists = (ROOT / "vm" / "packages.sh").read_text()
    needed = re.search(r"^NEEDED=\((.*)\)$", lists, re.M)
    assert needed and not set(needed[1].split()) & set(image.packages("x86_64"))
    assert 'provision.sh" --quiet' in (image.GUEST / "set-up").read_text()


def test_an_image_is_named_by_what_it_is_made_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert image.key("x86_64") == image.key("x86_64") != image.key("aarch64")
    before = image.key("x86_64")
    guest = tmp_path / "guest"
    guest.mkdir()
    for file in image.GUEST.iterdir():
        (guest / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(image, "GUEST", guest)
    assert image.key("x86_64") == before
    (guest / "set-up").write_text("something else\n")
    assert image.key("x86_64") != before


def test_wheels_are_fetched_for_the_guests_python_and_libc_by_their_hashes(tmp_path: Path) -> None:
    words = image.pip_command(tmp_path, "aarch64")
    assert "--require-hashes" in words and "--only-binary=:all:" in words
    platforms = [words[n + 1] for n, word in enumerate(words) if word == "--platform"]
    assert platforms[0] == "manylinux_2_36_aarch64"
    assert all(name.endswith("_aarch64") for name in platforms)


def test_a_missing_tool_is_one_line_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command.shutil, "which", lambda tool, path: None)
    with pytest.raises(Problem, match="apt-get install --no-install-recommends e2fsprogs"):
        image.build(tmp_path, lambda text: None)


def test_a_build_that_fails_leaves_nothing_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    on_path(tmp_path / "bin", monkeypatch, mmdebstrap="echo 'E: no such suite' >&2; exit 25")
    monkeypatch.setattr(image, "pip_command", lambda target, architecture: ["true"])
    monkeypatch.setattr(image, "_FREE_GB", 0)
    monkeypatch.setattr(archive, "mirrors", lambda suite: [])
    monkeypatch.setattr(archive, "transport", str)
    with pytest.raises(Problem, match=r"(?s)E: no such suite.*mmdebstrap failed \(25\)"):
        image.build(tmp_path / "cache", lambda text: None)
    left = [path for path in (tmp_path / "cache/disks").iterdir() if path.suffix != ".lock"]
    assert left == []


def test_an_image_of_earlier_inputs_makes_room_for_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(work: Path, architecture: str, say: Any) -> None:
        (work / "disk.img").touch()

    monkeypatch.setattr(image, "_make", make)
    first = image.build(tmp_path, lambda text: None)
    assert image.build(tmp_path, lambda text: None) == first, "it is there"
    monkeypatch.setattr(image, "key", lambda architecture: "another")
    second = image.build(tmp_path, lambda text: None)
    assert second.file.exists() and not first.file.exists()


@pytest.mark.parametrize("user", [0, 1000])
def test_root_is_not_needed(user: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image.os, "geteuid", lambda: user)
    monkeypatch.setattr(archive, "mirrors", lambda suite: [])
    words = image.mmdebstrap_arguments(tmp_path, "x86_64")
    assert f"--mode={'root' if user == 0 else 'unshare'}" in words
    assert words[-2:] == ["bookworm", str(tmp_path / "tree")]
    assert image._helper() == ([] if user == 0 else ["mmdebstrap", "--unshare-helper"])


def test_the_clone_is_what_git_lists_and_new_files_without_what_set_up_makes(
    tmp_path: Path,
) -> None:
    names = clone.files(ROOT)
    assert {"study", "vm/provision.sh", "vm/disk/guest/check", "bpf/Makefile"} <= set(names)
    assert not [n for n in names if n.startswith((".venv", ".setup", "bpf/build", ".git/"))]
    for name in ("study", ".venv/python", "bpf/build/tool", "bpf/tool.c", "cli/__pycache__/x.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert clone.files(tmp_path) == ["bpf/tool.c", "study"], "also where git cannot say"


def test_the_clone_travels_with_modes_and_times_and_nobodys_ids(tmp_path: Path) -> None:
    clone.write(ROOT, tmp_path / "clone.tar", prefix="clone/")
    with tarfile.open(tmp_path / "clone.tar") as tar:
        study = tar.getmember("clone/study")
    assert study.mode & 0o100 and study.uid == study.gid == 0 and study.uname == ""
    assert study.mtime == int((ROOT / "study").stat().st_mtime)


# --- booting


@pytest.mark.parametrize(
    ("architecture", "program", "console"),
    [
        ("x86_64", "qemu-system-x86_64", "ttyS0"),
        ("aarch64", "qemu-system-aarch64", "ttyAMA0"),
    ],
)
def test_the_machine_has_no_network_and_leaves_its_image_alone(
    disk: image.Disk, monkeypatch: Any, architecture: str, program: str, console: str
) -> None:
    monkeypatch.setattr(command, "need", lambda tool, package: f"/usr/bin/{tool}")
    other = image.Disk(disk.file, disk.kernel, disk.initrd, architecture)
    words = boot.command_line(other, "tcg")
    assert words[0] == f"/usr/bin/{program}"
    line = " ".join(words)
    assert "-nic none" in line and "-nodefaults" in line and "snapshot=on" in line
    assert f"console={console}" in line and "root=/dev/vda" in line
    assert "-smp 2" in line and "-m 4096" in line, "as large as Vagrant's and Lima's"


def test_without_qemu_one_line_names_the_package(disk: image.Disk, monkeypatch: Any) -> None:
    monkeypatch.setattr(command.shutil, "which", lambda tool, path: None)
    with pytest.raises(Problem, match=r"^no qemu-system-x86_64 here: .* qemu-system-x86$"):
        boot.command_line(disk, "tcg")


def qemu(script: str) -> str:
    """A QEMU that only pretends: $console and $result are the files it would write."""
    return (
        'line="$*"; console=${line#*-serial file:}; console=${console%% *}\n'
        "result=${line#*id=result,format=raw,file=}; result=${result%%,*}\n" + script
    )


def outcome(disk: image.Disk, results: Path, deadline_s: float = 30) -> boot.Outcome:
    job = image.GUEST / "check"
    return boot.run_job(disk, job, results, deadline_s, tell=lambda text: None)


FINISHED = """
d=$(mktemp -d); mkdir "$d/r"; echo hello >"$d/r/log"; echo 3 >"$d/status"
tar -cf "$result" -C "$d/r" . -C "$d" status; rm -r "$d"
"""


def test_what_the_job_leaves_comes_back_with_its_status(
    disk: image.Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "echo 'up and down' >$console\n" + FINISHED
    on_path(tmp_path, monkeypatch, **{"qemu-system-x86_64": qemu(script)})
    found = outcome(disk, tmp_path / "results")
    assert found.status == 3
    assert (tmp_path / "results" / "console").read_text() == "up and down\n"
    assert (tmp_path / "results" / "log").read_text() == "hello\n"
    assert disk.file.read_bytes() == b"untouched"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'Kernel panic - not syncing: no init' >$console", "kernel panicked: no init"),
        ("echo 'last words' >$console; head -c 600 /dev/urandom >$result", "cut off or damaged"),
        ("echo 'last words' >$console", "cut off or damaged"),
        (FINISHED.replace(' -C "$d" status', ""), "its last member is missing"),
    ],
)
def test_a_failed_guest_says_why_with_its_last_words_and_leaves_no_results(
    disk: image.Disk, tmp_path: Path, monkeypatch: Any, script: str, said: str
) -> None:
    on_path(tmp_path, monkeypatch, **{"qemu-system-x86_64": qemu(script)})
    with pytest.raises(GuestFailed, match=said) as problem:
        outcome(disk, tmp_path / "results")
    if "last words" in script:
        assert problem.value.console == ["last words"]
    assert not (tmp_path / "results").exists()


def test_a_qemu_that_refuses_says_why(
    disk: image.Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "echo 'cannot set up guest memory' >&2; exit 1"
    on_path(tmp_path, monkeypatch, **{"qemu-system-x86_64": qemu(script)})
    with pytest.raises(Problem, match="^QEMU failed: cannot set up guest memory$"):
        outcome(disk, tmp_path / "results")


def test_nothing_is_unpacked_outside_the_results(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "result", "w") as tar:
        for name in ("../outside", "status"):
            member = tarfile.TarInfo(name)
            member.size = 2
            tar.addfile(member, io.BytesIO(b"0\n"))
    with pytest.raises(GuestFailed, match="lies outside"):
        boot._unpack(tmp_path / "result", tmp_path / "unpacked", "")
    assert not (tmp_path / "outside").exists()


def test_a_stalled_machine_is_killed_at_its_deadline_and_its_console_shown(
    disk: image.Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = qemu(f'echo "stuck here" >$console; echo $$ >{tmp_path}/pid; exec sleep 60')
    on_path(tmp_path, monkeypatch, **{"qemu-system-x86_64": script})
    with pytest.raises(GuestFailed, match="did not end within 1 s") as problem:
        outcome(disk, tmp_path / "results", 1)
    assert problem.value.console == ["stuck here"]
    assert gone(int((tmp_path / "pid").read_text()))


def gone(pid: int) -> bool:
    until = time.monotonic() + 5
    while time.monotonic() < until:
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.02)
    return False


def test_the_machine_dies_with_the_command_that_started_it(
    disk: image.Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = qemu(f"echo $$ >{tmp_path}/pid; exec sleep 60")
    on_path(tmp_path, monkeypatch, **{"qemu-system-x86_64": script})
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    source = (
        "from pathlib import Path; from vm.disk import boot, image\n"
        f"p = Path({str(tmp_path)!r})\n"
        "disk = image.Disk(p / 'disk.img', p / 'vmlinuz', p / 'initrd', 'x86_64')\n"
        "boot.run_job(disk, image.GUEST / 'check', p / 'results', 60)"
    )
    starter = subprocess.Popen([sys.executable, "-c", source], cwd=ROOT, env=environment)
    pid = tmp_path / "pid"
    until = time.monotonic() + 20
    while not (pid.exists() and pid.read_text().strip()) and time.monotonic() < until:
        time.sleep(0.02)
    starter.kill()
    starter.wait()
    assert gone(int(pid.read_text()))
    (left,) = (tmp_path / "temporary").iterdir()
    monkeypatch.setattr(boot.tempfile, "tempdir", str(tmp_path / "temporary"))
    boot.repair()
    assert not left.exists(), "the next start removes what a killed one has left"


def test_too_little_memory_is_said_beforehand(
    disk: image.Disk, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(boot, "MEMORY_MB", 10**9)
    with pytest.raises(Problem, match="not enough memory"):
        outcome(disk, tmp_path / "results")


# --- judging


def results(folder: Path, **changed: Any) -> Path:
    """What a job leaves on a machine where everything works, with some of it changed."""
    folder.mkdir()
    doctor = "".join(f"processes  {arm}   can be measured\n" for arm in check.ARMS)
    texts = {
        "provision.txt": "ok       systemd      systemd is PID 1\n",
        "again.txt": "Debian packages to install: none\nPython packages to install: none\n",
        "doctor.txt": doctor,
        "scopes.txt": "",
        "counter.txt": "1003000 1003000\n",
    }
    for name, text in (texts | changed.get("texts", {})).items():
        (folder / name).write_text(text)
    for output, arms in (("root", check.ARMS), ("plain", ("null_agent", "proc_stat"))):
        run = folder / output / "raw/processes/one"
        run.mkdir(parents=True)
        (folder / output / "processed/processes/one/tables").mkdir(parents=True)
        (folder / output / "processed/processes/one/tables/arms.md").touch()
        rows = [
            {"trial": n, "kind": "cost", "arm": arm, "status": "ok", "reason": "", "agent_ns": 5}
            for n, arm in enumerate(arms)
        ]
        for row in rows:
            row.update(changed.get("rows", {}).get(row["arm"], {}))
        manifest = {"instrument": changed.get("instrument", "systemd"), "plan": {"trials": rows}}
        (run / "manifest.json").write_text(json.dumps(manifest))
        with open(run / "trials.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    return folder


def test_a_machine_on_which_everything_works_has_no_problems(tmp_path: Path) -> None:
    assert check.problems(results(tmp_path / "good")) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"instrument": "cgroup2"}, "measured by cgroup2, not by systemd scopes"),
        (
            {"rows": {"bcc_sched_switch": {"status": "unavailable", "reason": "no headers"}}},
            "cost of bcc_sched_switch: unavailable: no headers",
        ),
        ({"rows": {"proc_stat": {"agent_ns": 0}}}, "no cost of proc_stat"),
        ({"texts": {"scopes.txt": "probetax-1-2-3.scope loaded"}}, "left behind: probetax-1-2-3"),
        ({"texts": {"counter.txt": "1003000 990000\n"}}, "are not the same: 1003000 and 990000"),
        ({"texts": {"doctor.txt": "missing  bcc  cannot import\n"}}, "missing  bcc"),
        ({"texts": {"again.txt": "to build: make -C bpf\n"}}, "still to be built"),
        ({"texts": {"provision.txt": ""}}, "did not end with the doctor"),
        ({"texts": {"failed.txt": "papermill: status 138\n"}}, "papermill: status 138"),
    ],
)
def test_what_does_not_work_is_named(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    assert any(said in line for line in check.problems(results(tmp_path / "bad", **changed)))


def test_a_run_that_left_nothing_is_a_problem_and_no_traceback(tmp_path: Path) -> None:
    assert any("0 runs, not one" in line for line in check.problems(tmp_path))


def test_an_existing_results_folder_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vm.disk", "check", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2
    assert done.stderr == f"probetax: {tmp_path} exists: give a new folder\n"


@pytest.mark.disk
@pytest.mark.timeout(5400)
def test_on_a_real_machine_with_systemd_everything_works(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "vm.disk", "check", str(tmp_path / "results")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
