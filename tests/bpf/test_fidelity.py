"""Every collector of the `processes` study agrees with a process's own clock within 2 %."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from tests.bpf.conftest import ARMS, BUILD, Collector, Start, refused

TOLERANCE = 0.02
CPU_MS = 1000
#: long enough for every collector's next scrape and for what was still running at the last one
HOLD_MS = 1000
COLLECTORS = [n for n in ARMS if ARMS[n]["study"] == "processes" and n != "null_agent"]
#: keyed by thread: sees one thread of a process under that process's id
BY_THREAD = {"sched_switch_published"}
#: loses what is added while it reads (a listed difference): held to the usual interval, and to a
#: machine with a CPU to spare, where that is some milliseconds in a second
SLOW_READER = {"bcc_sched_switch"}
#: count wall time between switches (a listed difference): what a hypervisor steals is in it, and
#: after a switch that the kernel does not report, a slice of one process is billed to another
BY_WALL_CLOCK = {"sched_switch_published", "bcc_sched_switch"}
SLICE_NS = 4_000_000

LOADS = {
    "one thread, half the time": ["--duty", "50", "--burst-ms", "20"],
    "one thread, short bursts": ["--duty", "30", "--burst-ms", "2"],
    "one thread, never yields": [],
    "four threads": ["--threads", "4", "--duty", "60"],
    "the first thread leaves": ["--threads", "3", "--leader-exits", "1"],
}


@dataclass
class Measured:
    known_ns: dict[str, tuple[int, int]]  # load -> pid, cpu_ns by its own clock
    collectors: dict[str, Collector]
    reasons: dict[str, str]
    stolen_ns: int = 0  # by interrupts and a hypervisor meanwhile, on all CPUs
    missed: int = 0  # switches that the kernel did not report


def _stolen_ns() -> int:
    with open("/proc/stat") as file:
        ticks = sum(map(int, file.readline().split()[6:9]))  # irq, softirq, steal
    return ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def _attached(start: Start, names: Iterable[str], interval_ms: int) -> Measured:
    """Those of the collectors that can run here, started; the reasons of the others."""
    measured = Measured({}, {}, {}, stolen_ns=-_stolen_ns())
    for name in names:
        collector = start(name, interval_ms, "--dump", wait=False)
        try:
            collector.wait_ready()
            measured.collectors[name] = collector
        except (pytest.skip.Exception, pytest.fail.Exception):
            assert collector.process.wait() == 3, collector.stderr
            measured.reasons[name] = collector.stderr
    return measured


def _finish(measured: Measured) -> Measured:
    for collector in measured.collectors.values():
        measured.missed += collector.finish().get("missed") or 0
    measured.stolen_ns += _stolen_ns()
    return measured


def _spin(load: str, hold_ms: int) -> subprocess.Popen[bytes]:
    options = ["--cpu-ms", str(CPU_MS), "--hold-ms", str(hold_ms), *LOADS[load]]
    return subprocess.Popen([str(BUILD / "spin"), *options], stdout=subprocess.PIPE)


def _own_figure(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    line = json.loads(process.communicate(timeout=120)[0])
    assert line["pid"] == process.pid
    return line["pid"], line["cpu_ns"]


@pytest.fixture(scope="module")
def together(start_in_module: Start) -> Measured:
    """All collectors watch the same processes at once, more than the CPUs can run."""
    measured = _attached(start_in_module, set(COLLECTORS) - SLOW_READER, 250)
    processes = {load: _spin(load, HOLD_MS) for load in LOADS}
    measured.known_ns = {load: _own_figure(process) for load, process in processes.items()}
    return _finish(measured)


@pytest.fixture(scope="module")
def one_by_one(start_in_module: Start) -> Measured:
    """The loads one after another, a CPU left free for the reader."""
    measured = _attached(start_in_module, SLOW_READER | {"sched_switch"}, 1000)
    for load in LOADS if SLOW_READER & set(measured.collectors) else ():
        measured.known_ns[load] = _own_figure(_spin(load, 50))
    time.sleep(1.1)
    return _finish(measured)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", COLLECTORS)
def test_agrees_with_the_process_itself(
    request: pytest.FixtureRequest, name: str, load: str
) -> None:
    fixture = "one_by_one" if name in SLOW_READER else "together"
    measured: Measured = request.getfixturevalue(fixture)
    if name in measured.reasons:
        refused(name, measured.reasons[name])
    pid, known_ns = measured.known_ns[load]
    assert known_ns >= CPU_MS * 1_000_000
    reported_ns = measured.collectors[name].cpu_ns(pid)
    if name in BY_THREAD and "--threads" in LOADS[load]:
        # a fault of the published algorithm, listed in its YAML: threads are not added up
        assert reported_ns < 0.9 * known_ns
        return
    less = more = TOLERANCE * known_ns
    if name in BY_WALL_CLOCK:
        less += measured.missed * SLICE_NS
        more += measured.missed * SLICE_NS + measured.stolen_ns
    assert known_ns - less < reported_ns < known_ns + more


@pytest.mark.parametrize(
    "name", ["proc_stat", "proc_stat_tuned", "sched_switch", "task_iter", "psutil_processes"]
)
def test_start_time_is_field_22(start: Start, name: str) -> None:
    with subprocess.Popen([str(BUILD / "spin"), "--cpu-ms", "100000"]) as process:
        try:
            collector = start(name, 100, "--scrapes", "4", "--dump")
            with open(f"/proc/{process.pid}/stat", "rb") as file:
                field = int(file.read().rpartition(b")")[2].split()[19])
            collector.finish(None)
        finally:
            process.kill()
    starts = {s for r in collector.records() for pid, s, _ in r["processes"] if pid == process.pid}
    assert starts == {field}
