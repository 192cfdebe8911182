"""Every collector of the `processes` study agrees with a process's own clock within 2 %."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from tests.bpf.conftest import ARMS, BUILD, Collector, Start, refused

TOLERANCE = 0.02
CPU_MS = 1500
#: long enough for every collector's next scrape and for what was still running at the last one
HOLD_MS = 1000
COLLECTORS = [n for n in ARMS if ARMS[n]["study"] == "processes" and n != "null_agent"]
#: keyed by thread: sees one thread of a process under that process's id
BY_THREAD = {"sched_switch_published"}
#: loses what is added while it reads (a listed difference): held to the usual interval, and to a
#: machine with a CPU to spare, where that is some milliseconds in a second
SLOW_READER = {"bcc_sched_switch"}

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


def _attached(start: Start, names: Iterable[str], interval_ms: int) -> Measured:
    """Those of the collectors that can run here, started; the reasons of the others."""
    measured = Measured({}, {}, {})
    for name in names:
        collector = start(name, interval_ms, "--dump", wait=False)
        try:
            collector.wait_ready()
            measured.collectors[name] = collector
        except (pytest.skip.Exception, pytest.fail.Exception):
            assert collector.process.wait() == 3, collector.stderr
            measured.reasons[name] = collector.stderr
    return measured


def _spin(load: str, cpu_ms: int) -> subprocess.Popen[bytes]:
    options = ["--cpu-ms", str(cpu_ms), "--hold-ms", str(HOLD_MS), *LOADS[load]]
    return subprocess.Popen([str(BUILD / "spin"), *options], stdout=subprocess.PIPE)


def _own_figure(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    line = json.loads(process.communicate(timeout=120)[0])
    assert line["pid"] == process.pid
    return line["pid"], line["cpu_ns"]


@pytest.fixture(scope="module")
def together(start_in_module: Start) -> Measured:
    """All collectors watch the same processes at once, more than the CPUs can run."""
    measured = _attached(start_in_module, set(COLLECTORS) - SLOW_READER, 250)
    processes = {load: _spin(load, CPU_MS) for load in LOADS}
    measured.known_ns = {load: _own_figure(process) for load, process in processes.items()}
    for collector in measured.collectors.values():
        collector.finish()
    return measured


@pytest.fixture(scope="module")
def one_by_one(start_in_module: Start) -> Measured:
    """The loads one after another, a CPU left free for the reader."""
    measured = _attached(start_in_module, SLOW_READER, 1000)
    for load in LOADS if measured.collectors else ():
        measured.known_ns[load] = _own_figure(_spin(load, CPU_MS // 2))
    time.sleep(1.1)
    for collector in measured.collectors.values():
        collector.finish()
    return measured


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
    assert known_ns >= CPU_MS // 2 * 1_000_000
    reported_ns = measured.collectors[name].cpu_ns(pid)
    if name in BY_THREAD and "--threads" in LOADS[load]:
        # a fault of the published algorithm, listed in its YAML: threads are not added up
        assert reported_ns < 0.9 * known_ns
    else:
        assert reported_ns == pytest.approx(known_ns, rel=TOLERANCE)


@pytest.mark.parametrize("name", ["proc_stat", "sched_switch", "psutil_processes"])
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
