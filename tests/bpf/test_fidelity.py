"""Every collector of the `processes` study agrees with a process's own clock within 2 %."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
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


@pytest.fixture(scope="module")
def measured(start_in_module: Start) -> Iterator[Measured]:
    """All collectors watch the same processes, which tell what they used."""
    collectors, reasons = {}, {}
    for name in COLLECTORS:
        collector = start_in_module(name, 250, "--dump", wait=False)
        try:
            collector.wait_ready()
            collectors[name] = collector
        except (pytest.skip.Exception, pytest.fail.Exception):
            assert collector.process.wait() == 3, collector.stderr
            reasons[name] = collector.stderr
    loads = {
        load: subprocess.Popen(
            [str(BUILD / "spin"), "--cpu-ms", str(CPU_MS), "--hold-ms", str(HOLD_MS), *options],
            stdout=subprocess.PIPE,
        )
        for load, options in LOADS.items()
    }
    known = {}
    for load, process in loads.items():
        line = json.loads(process.communicate(timeout=120)[0])
        assert line["pid"] == process.pid
        known[load] = (line["pid"], line["cpu_ns"])
    for collector in collectors.values():
        collector.finish()
    yield Measured(known, collectors, reasons)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", COLLECTORS)
def test_agrees_with_the_process_itself(measured: Measured, name: str, load: str) -> None:
    if name in measured.reasons:
        refused(name, measured.reasons[name])
    pid, known_ns = measured.known_ns[load]
    assert known_ns >= CPU_MS * 1_000_000
    reported_ns = measured.collectors[name].cpu_ns(pid)
    if name in BY_THREAD and "--threads" in LOADS[load]:
        # a fault of the published algorithm, listed in its YAML: threads are not added up
        assert reported_ns < 0.9 * known_ns
        return
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
