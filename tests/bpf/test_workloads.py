"""The load generators do what they say, and refuse with a cause and a cure."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from array import array
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bpf.conftest import BUILD, needs_root

Workload = Callable[..., subprocess.Popen[str]]
NOBODY = "65534"


def test_spin_uses_what_it_was_asked(workload: Workload) -> None:
    options = ("--cpu-ms", 300, "--duty", 50, "--burst-ms", 5, "--hold-ms", 100)
    begin = time.monotonic()
    loads = [workload("spin", *options) for _ in range(3)]
    lines = [json.loads(load.communicate(timeout=60)[0]) for load in loads]
    assert time.monotonic() - begin > 0.6 + 0.1 - 0.05
    assert [line["pid"] for line in lines] == [load.pid for load in loads]
    used = [line["cpu_ns"] for line in lines]
    assert min(used) >= 300e6
    assert min(used) < 330e6, "a hypervisor that takes the CPU away only adds"


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


def ready(*command: object) -> subprocess.Popen[str]:
    """A generator that has said it is ready. It dies with the shell it has replaced."""
    words = " ".join(map(str, command))
    process = subprocess.Popen(
        ["bash", "-c", f'exec "{BUILD}"/{words} 3>&1'], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def ended(pids: list[int]) -> bool:
    """All gone, or about to be reaped."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if not any(_running(pid) for pid in pids):
            return True
        time.sleep(0.01)
    return False


def _running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_an_idle_process_killed_before_it_has_its_threads_is_one_line_and_no_wait(
    build: object,
) -> None:
    """As by the kernel, out of memory."""
    command = [str(BUILD / "idle_processes"), "--count", "2", "--threads", "5000"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as idle:
        children = Path(f"/proc/{idle.pid}/task/{idle.pid}/children")
        while not (born := children.read_text().split()):
            pass
        os.kill(int(born[0]), signal.SIGKILL)
        try:
            _, said = idle.communicate(timeout=30)
        finally:
            idle.kill()
    assert idle.returncode == 1
    assert said.count("\n") == 1 and "killed" in said


def test_idle_processes_have_the_threads_asked_for_and_end_with_their_parent(build: object) -> None:
    with ready("idle_processes", "--count", 20, "--threads", 5) as idle:
        started = children(idle.pid)
        assert [len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in started] == [5] * 20
        idle.kill()
    assert ended(started)


def counts(file: Path) -> list[list[int]]:
    """Switches so far, and voluntary ones, of each task."""
    words = array("Q", file.read_bytes())
    return [list(words[at : at + 2]) for at in range(0, len(words), 8)]


@pytest.mark.parametrize(("rate", "tasks"), [(200, 20), (4000, 2)])
def test_the_switch_load_keeps_its_rate_and_shares_it_among_its_tasks(
    build: object, tmp_path: Path, rate: int, tasks: int
) -> None:
    file = tmp_path / "counters"
    with ready("switch_load", "--rate", rate, "--tasks", tasks, "--counters", file) as load:
        started = children(load.pid)
        assert len(started) == tasks
        time.sleep(0.2)
        for _ in range(3):  # where a hypervisor took the CPU away, the next second shows the rate
            before, began = counts(file), time.monotonic()
            time.sleep(1)
            after, seconds = counts(file), time.monotonic() - began
            status = [Path(f"/proc/{pid}/status").read_text() for pid in started]
            made = [now[1] - then[1] for now, then in zip(after, before, strict=True)]
            wanted = pytest.approx([rate / tasks * seconds] * tasks, rel=0.15, abs=3)
            if sum(made) == pytest.approx(rate * seconds, rel=0.1) and made == wanted:
                break
        load.terminate()
        assert load.wait(timeout=30) == 0
    assert ended(started)
    assert sum(made) == pytest.approx(rate * seconds, rel=0.1)
    assert made == wanted
    for (_, voluntary), text in zip(after, status, strict=True):
        kernels = int(text.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
        assert 0 <= kernels - voluntary <= 3 + rate / tasks, "read a little later"


def test_the_switch_load_ends_with_its_parent(build: object) -> None:
    with ready("switch_load", "--rate", 100, "--tasks", 4) as load:
        started = children(load.pid)
        load.kill()
    assert ended(started)


def test_a_rate_out_of_reach_is_the_highest_that_can_be(build: object, tmp_path: Path) -> None:
    file = tmp_path / "counters"
    with ready("switch_load", "--rate", 90_000_000, "--tasks", 2, "--counters", file) as load:
        before = counts(file)
        time.sleep(0.3)
        after = counts(file)
        load.terminate()
        assert load.wait(timeout=30) == 0
    assert 1000 < after[0][0] - before[0][0] < 10_000_000


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
        (["idle_processes", "--count", "5", "--threads", "0"], "--threads"),
        (["switch_load", "--tasks", "4"], "--rate"),
        (["switch_load", "--rate", "100"], "--tasks"),
        (["switch_load", "--rate", "100", "--tasks", "5"], "even"),
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


@pytest.mark.parametrize(
    "words", [("switch_load", "--rate", 100, "--tasks", 4), ("stress_threads", "--count", 4)]
)
def test_a_crowd_ends_with_its_parent(build: object, words: tuple[object, ...]) -> None:
    script = f'"{BUILD}"/{" ".join(map(str, words))} 3>&1 & echo $!; wait'
    parent = subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    crowd = int(parent.stdout.readline())
    assert parent.stdout.readline() == "ready\n"
    tasks = children(crowd)
    assert len(tasks) == 4
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert ended([crowd, *tasks])
