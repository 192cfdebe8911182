"""Each generator says the truth of itself: held against the kernel's account of it from outside."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from experiment import counting, loads
from tests.bpf import bpf_syscall
from tests.bpf.conftest import Start

NS = 1_000_000_000
#: The kernel's account of the dead comes in whole microseconds for each process.
ROUNDING_NS = 1000


def run(build: Path, *words: object) -> tuple[dict[str, Any], int, float]:
    """(its report, CPU time of it and all it waited for in ns by the kernel, seconds it took)."""
    before = time.monotonic()
    command = [str(build / str(words[0])), *map(str, words[1:])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout
    said = json.loads(process.stdout.read())
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    assert process.returncode == 0
    return said, round((used.ru_utime + used.ru_stime) * NS), time.monotonic() - before


def planned(workload: str) -> dict[str, Any]:
    return {"workload": workload, "interval_ms": 100, "window_s": 0.4, "children": 12}


@pytest.mark.parametrize("workload", loads.KNOWN_USE)
def test_known_use_is_what_the_kernel_counted(build: Path, workload: str) -> None:
    load = loads.known_use(planned(workload))
    said, outside_ns, took = run(build, load.program, *load.arguments)
    processes = said.get("processes", [[said["pid"], said["cpu_ns"]]])
    assert sum(ns for _, ns in processes) == said["cpu_ns"]
    assert len({pid for pid, _ in processes}) == len(processes)
    # afterwards it only prints, sleeps and ends: at most some hundred microseconds
    slack = 3_000_000 + len(processes) * ROUNDING_NS
    assert said["cpu_ns"] - len(processes) * ROUNDING_NS <= outside_ns < said["cpu_ns"] + slack
    assert said["cpu_ns"] > 0.1 * NS
    assert took > 0.7 * min(load.seconds, said["cpu_ns"] / NS / (os.cpu_count() or 1))


def test_children_are_as_many_and_burn_as_long_as_they_should(build: Path) -> None:
    said, _, _ = run(build, "brood", "--count", 9, "--cpu-ms", 20, "--together", 3)
    children = [(pid, ns) for pid, ns in said["processes"] if pid != said["pid"]]
    assert len(children) == 9
    used = [ns for _, ns in children]
    assert min(used) >= 20_000_000 - ROUNDING_NS
    assert statistics.median(used) < 24_000_000, "one may be billed what a hypervisor took"


def test_children_die_with_their_parent(build: Path) -> None:
    process = subprocess.Popen(
        [str(build / "brood"), "--count", "2", "--cpu-ms", "60000", "--together", "2"]
    )
    time.sleep(0.2)
    folder = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    children = [int(word) for word in folder.read_text().split()]
    process.kill()
    process.wait()
    assert len(children) == 2
    until = time.monotonic() + 5
    while any(_alive(pid) for pid in children) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(_alive(pid) for pid in children)


def _alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return False
    return stat[0] not in (b"Z", b"X")


def test_a_busy_loop_notes_what_it_has_used_and_hardly_ever_sleeps(build: Path) -> None:
    load = loads.known_use(planned("busy"))
    process = subprocess.Popen(
        [str(build / load.program), *load.arguments], stdout=subprocess.PIPE, text=True
    )
    out, _ = process.communicate(timeout=60)
    said = json.loads(out)
    at, used = zip(*said["notes"], strict=True)
    assert list(at) == sorted(at) and list(used) == sorted(used)
    assert used[-1] <= said["cpu_ns"] < used[-1] + 50_000_000
    apart = [b - a for a, b in zip(at, at[1:], strict=False)]
    assert min(apart) >= 1_000_000
    assert statistics.median(apart) < 2_000_000, "but where a hypervisor took the CPU"


@pytest.mark.parametrize(
    ("option", "count"), [("--execs", 40), ("--opens", 3000), ("--sends", 3000)]
)
def test_fixed_work_takes_what_the_kernel_counted(build: Path, option: str, count: int) -> None:
    said, outside_ns, _ = run(build, "fixed_work", option, count)
    assert said["events"] == count
    # starting and ending the generator are outside of what it reports
    assert 0.3 * outside_ns < said["work_ns"] <= outside_ns + 2 * ROUNDING_NS
    paced, outside_ns, took = run(build, "fixed_work", option, 5, "--pause-us", 20_000)
    assert paced["events"] == 5 and took > 0.1
    if option == "--execs":
        assert paced["work_ns"] <= outside_ns + 2 * ROUNDING_NS
    else:  # by the wall clock: another process may have come between
        assert 1000 < paced["work_ns"] < 0.05 * NS


EMPTY = {
    "empty_switch": "on_switch",
    "empty_switch_perf": "on_switch_perf",
    "empty_exec": "on_exec",
    "empty_open": "on_open",
    "empty_send": "on_send",
}


@pytest.mark.parametrize("arm", EMPTY)
def test_an_empty_program_runs_at_every_event_that_is_counted_out(
    build: Path, start: Start, arm: str
) -> None:
    events = 500
    workload = arm.removeprefix("empty_").removesuffix("_perf")
    collector = start(arm, 600_000)
    (program,) = bpf_syscall.programs_named(EMPTY[arm])
    statistics = bpf_syscall.enable_stats()
    try:
        before = bpf_syscall.program_info(program).run_count
        trial = {"workload": workload, "pace": "hot", "events": events}
        with counting.counter(str(build), trial) as counter:
            billed, _ = counter.turn()
        runs = bpf_syscall.program_info(program).run_count - before
    finally:
        os.close(statistics)
    assert billed == events
    # others on this machine switch, open and send too
    assert events <= runs < 3 * events + 2000
    assert collector.finish()["recursion_misses"] == 0


@pytest.mark.parametrize(
    "words", [[], ["--execs", "1", "--opens", "1"], ["--execs", "0"], ["--pause-us", "5"]]
)
def test_fixed_work_wants_one_kind_of_event(build: Path, words: list[str]) -> None:
    done = subprocess.run([str(build / "fixed_work"), *words], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
