"""2,000,001 forced context switches are counted as such."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.bpf import bpf_syscall
from tests.bpf.conftest import Start

SWITCHES = 2_000_001
Workload = Callable[..., subprocess.Popen[str]]


def _machine_switches() -> int:
    with open("/proc/stat") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("ctxt"))


def _result(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, errors = process.communicate(timeout=250)
    assert process.returncode == 0, errors
    line: dict[str, Any] = json.loads(out)
    return line


def test_two_million_and_one(start: Start, workload: Workload) -> None:
    collector = start("sched_switch", 100, "--dump")
    (program,) = bpf_syscall.programs_named("sched_switch")
    statistics = bpf_syscall.enable_stats()
    try:
        machine, runs = _machine_switches(), bpf_syscall.program_info(program).run_count
        process = workload("pipe_switch", "--switches", SWITCHES)
        line = _result(process)
        runs = bpf_syscall.program_info(program).run_count - runs
        machine = _machine_switches() - machine
    finally:
        os.close(statistics)
    time.sleep(0.3)  # what is used after the last scrape is not reported
    closing = collector.finish()
    assert line["switches"] == line["billed_switches"] == SWITCHES
    # by the kernel's count for the two processes: none missing, interruptions by others on top
    own = line["voluntary"] + line["involuntary"]
    assert SWITCHES <= own < SWITCHES * 1.02
    # by the program's runs: one for each switch of the machine, these two million among them
    assert runs >= SWITCHES
    # (Linux 6.18 was seen to leave a few switches a second out of the tracepoint)
    assert 0 <= machine - runs < 0.005 * machine
    assert closing["lost"] == 0 and closing["recursion_misses"] == 0
    both = collector.cpu_ns(process.pid) + collector.cpu_ns(line["answering_pid"])
    assert both == pytest.approx(line["cpu_ns"], rel=0.02)


@pytest.mark.parametrize("switches", [1, 2, 3, 1000, 1001])
def test_small_counts_are_exact(workload: Workload, switches: int) -> None:
    line = _result(workload("pipe_switch", "--switches", switches))
    assert line["switches"] == line["billed_switches"] == switches
    assert switches <= line["voluntary"] + line["involuntary"] <= switches + 20


@pytest.mark.parametrize("switches", [200, 201])
def test_paced_counts_the_idle_switches_apart(workload: Workload, switches: int) -> None:
    """A pause adds two switches; the one to the idle task is billed to no process."""
    pauses = (switches + 1) // 2
    line = _result(workload("pipe_switch", "--switches", switches, "--pause-us", 1000))
    assert line["switches"] == switches + 2 * pauses
    assert line["billed_switches"] == switches + pauses
    assert line["wall_ns"] >= pauses * 1_000_000
    assert line["cpu_ns"] < line["wall_ns"] / 2
    # what leaves a CPU: each hand-over and each pause
    left = line["voluntary"] + line["involuntary"]
    assert switches + pauses <= left <= (switches + pauses) * 1.1 + 20
