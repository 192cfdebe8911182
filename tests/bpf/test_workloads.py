"""The load generators do what they say, and refuse with a cause and a cure."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bpf.conftest import BUILD, needs_root

Workload = Callable[..., subprocess.Popen[str]]
NOBODY = "65534"


def test_spin_uses_what_it_was_asked(workload: Workload) -> None:
    load = workload("spin", "--cpu-ms", 300, "--duty", 50, "--burst-ms", 5, "--hold-ms", 100)
    begin = time.monotonic()
    line = json.loads(load.communicate(timeout=60)[0])
    assert line["pid"] == load.pid
    assert 300e6 <= line["cpu_ns"] < 330e6
    assert time.monotonic() - begin > 0.6 + 0.1 - 0.05


def test_5000_idle_processes_take_less_than_2_gb(build: object) -> None:
    def free() -> int:
        with open("/proc/meminfo") as file:
            return next(int(li.split()[1]) for li in file if li.startswith("MemAvail")) * 1024

    before = free()
    command = ["bash", "-c", f'exec "{BUILD}/idle_processes" --count 5000 3>&1']
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as idle:
        assert idle.stdout is not None and idle.stdout.readline() == "ready\n"
        used = before - free()
        idle.terminate()
        assert idle.wait(timeout=60) == 0
    assert used < 2_000_000_000


@needs_root
def test_idle_processes_name_the_exhausted_limit(build: object, tmp_path: Path) -> None:
    binary = Path(shutil.copy(BUILD / "idle_processes", "/tmp/probetax-idle-test"))
    try:
        limited = (
            f"ulimit -u 40; exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups "
            f"{binary} --count 100"
        )
        done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=30)
    finally:
        binary.unlink()
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "RLIMIT_NPROC" in done.stderr and "ulimit -u" in done.stderr
    assert "of 100" in done.stderr


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["idle_processes"], "--count"),
        (["idle_processes", "--count", "0"], "--count"),
        (["idle_processes", "--count", "12x"], "--count"),
        (["pipe_switch", "--switches", "1_000"], "--switches"),
        (["pipe_switch"], "--switches"),
        (["pipe_switch", "--hops", "5"], "--hops"),
        (["spin", "--cpu-ms", "5", "--duty", "101"], "--duty"),
        (["spin"], "--cpu-ms"),
    ],
)
def test_bad_arguments_are_one_line_and_2(build: object, command: list[str], named: str) -> None:
    done = subprocess.run(
        [str(BUILD / command[0]), *command[1:]], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and named in done.stderr


def test_pinning_to_a_cpu_that_is_not_there_is_said(build: object) -> None:
    command = [str(BUILD / "pipe_switch"), "--switches", "10", "--cpu", "1000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "--cpu" in done.stderr
