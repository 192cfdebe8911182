"""Whatever a machine does, its end is a result or one clear line, and nothing goes on running."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vm import hardware, machine
from vm.problem import Problem
from vm.result import GuestFailed

ROOT = Path(__file__).resolve().parents[2]


def boot(image, folder, deadline_s=20.0):
    folder.mkdir()
    segment = folder / "plan.cpio"
    segment.write_bytes(b'{"schema": 4, "trials": []}\0')
    return machine.boot(
        image, [segment], memory_mb=512, seed=1, deadline_s=deadline_s, folder=folder
    )


def test_a_machine_that_ends_well_gives_its_files(tmp_path, image, fake_qemu):
    fake_qemu("good")
    outcome = boot(image, tmp_path / "boot")
    assert set(outcome.files) == {"trials.csv", "manifest.json"}
    assert outcome.marks == [] and "Linux version" in outcome.console


@pytest.mark.parametrize(
    ("manner", "kind", "told"),
    [
        ("stall", GuestFailed, "did not end within 1 s"),
        ("panic", GuestFailed, "kernel panicked: VFS: no root"),
        ("truncated", GuestFailed, "cut off"),
        ("silent", GuestFailed, "without a result"),
        ("failed", GuestFailed, "not built: top; the command ended with status 2"),
        ("refuse", Problem, "could not load kernel"),
        ("memory", Problem, "ended by SIGKILL; was there enough memory"),
    ],
)
def test_a_machine_that_ends_badly_is_one_clear_line(
    tmp_path, image, fake_qemu, manner, kind, told
):
    fake_qemu(manner)
    with pytest.raises(kind, match=told) as caught:
        boot(image, tmp_path / "boot", deadline_s=1.0 if manner == "stall" else 20.0)
    assert "\n" not in str(caught.value)
    if manner == "stall":
        assert caught.value.console[-1] == "BUG: soft lockup"


def test_no_qemu_is_told_with_the_package_that_has_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(hardware.command.shutil, "which", lambda *words, **names: None)
    with pytest.raises(Problem, match="no qemu-system-arm|no qemu-system-aarch64.*qemu-system-arm"):
        hardware.version("aarch64")


def test_a_qemu_before_7_2_is_refused(fake_qemu, monkeypatch):
    fake_qemu("good")
    assert hardware.version("x86_64") == "7.2.22 (Debian 1)"
    monkeypatch.setenv("FAKE_QEMU_VERSION", "6.2.0 (Debian 1)")
    with pytest.raises(Problem, match="6.2.0 .* too old"):
        hardware.version("x86_64")


def test_too_little_memory_is_told_beforehand():
    assert machine.room(1) >= 1
    with pytest.raises(Problem, match="not enough memory"):
        machine.room(10**7)


def test_an_image_without_the_kernels_symbols_is_refused(tmp_path):
    empty = tmp_path / "System.map"
    empty.write_text("ffffffff81000000 T _text\nffffffff82000000 t something\n")
    with pytest.raises(Problem, match="_end"):
        hardware.kernel_text(empty)


def test_nothing_of_the_host_reaches_the_machine(tmp_path, image, fake_qemu):
    fake_qemu("good")
    words = hardware.command_line(
        hardware.HARDWARE["x86_64"],
        image,
        tmp_path / "a,b",
        cpu=None,
        memory_mb=512,
        seed=7,
        folder=tmp_path,
    )
    line = " ".join(words)
    assert "-nodefaults -no-user-config" in line and "-nic none" in line
    assert "clock=vm" in line and "-icount shift=1,sleep=off -seed 7" in line
    assert "pc-q35-7.2" in line and not {"max", "host"} & set(words)


PARENT = """
import sys, time
sys.path.insert(0, sys.argv[1])
from types import SimpleNamespace
from pathlib import Path
from vm import hardware, machine
folder = Path(sys.argv[2])
hardware.PLUGIN = hardware.TURNS = folder / "bin" / "count.so"
machine.environment = lambda: None
image = SimpleNamespace(
    inputs={"architecture": "x86_64"}, kernel=folder / "vmlinuz", system_map=folder / "System.map"
)
made = machine.Machine(image, [], memory_mb=1, seed=1, deadline_s=60, folder=folder / "boot")
print(made.process.pid, flush=True)
time.sleep(60)
"""


def test_a_machine_dies_with_a_parent_that_is_killed(tmp_path, image, fake_qemu):
    fake_qemu("stall")
    (tmp_path / "boot").mkdir()
    words = [sys.executable, "-c", PARENT, str(ROOT), str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        assert Path(f"/proc/{pid}").exists()
        os.kill(parent.pid, signal.SIGKILL)
    until = time.monotonic() + 5
    while _alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _alive(pid)


def _alive(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")
