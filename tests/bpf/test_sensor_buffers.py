"""How events reach the reader: none unnoticed, woken as told, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.bpf import bpf_syscall
from tests.bpf.conftest import Start, needs_root
from tests.bpf.sensing import Watch, maps_of, watch

BUFFERS = ("ring", "perf")

pytestmark = needs_root


def signals(count: int, pause_s: float = 0) -> None:
    """Events that nothing else on a quiet machine makes: signal 0 to itself."""
    for _ in range(count):
        os.kill(os.getpid(), 0)
        if pause_s:
            time.sleep(pause_s)


def received(seen: Watch) -> int:
    """How many of those it was told of."""
    return sum(event["target"] == os.getpid() for event in seen.of("kill"))


@pytest.mark.parametrize("wakeup", ["each", "adaptive", "batch", "tick"])
@pytest.mark.parametrize("buffer", BUFFERS)
def test_every_policy_brings_every_event(start: Start, buffer: str, wakeup: str) -> None:
    if (buffer, wakeup) == ("perf", "adaptive"):
        pytest.skip("a perf buffer has no such rule: it is refused as a bad argument")
    seen = watch(start, "kill", "--buffer", buffer, "--wakeup", wakeup, "--batch-kb", "8")
    signals(2000)
    assert received(seen) == 2000
    closing = seen.closing
    assert closing["lost"] == 0 and closing["events"] == closing["events_by_kind"]["kill"] >= 2000
    if wakeup == "tick":
        assert closing["wakeups"] == 0
    elif wakeup == "batch":
        assert 1 <= closing["wakeups"] < 200
    else:
        assert closing["wakeups"] >= 1


@pytest.mark.parametrize("buffer", BUFFERS)
def test_each_event_by_itself_wakes_the_reader_at_once(start: Start, buffer: str) -> None:
    seen = watch(start, "kill", "--buffer", buffer, "--wakeup", "each")
    signals(40, 0.005)
    assert received(seen) == 40
    assert seen.closing["wakeups"] >= 20  # two may come together on a busy machine


def test_small_batches_do_not_wake_for_less(start: Start) -> None:
    seen = watch(start, "kill", "--wakeup", "batch", "--batch-kb", "64")
    signals(40, 0.005)
    assert received(seen) == 40
    assert seen.closing["wakeups"] <= 2


@pytest.mark.parametrize("buffer", BUFFERS)
def test_what_a_full_buffer_refuses_is_counted(start: Start, buffer: str) -> None:
    options = ("--buffer", buffer, "--buffer-kb", "4", "--wakeup", "tick", "--interval-ms", "2000")
    collector = start("sensor", 2000, "--hooks", "kill", *options)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    try:
        signals(500)
    finally:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    closing = collector.finish()
    received, lost = closing["events_by_kind"].get("kill", 0), closing["lost"]
    # few others send signals meanwhile
    assert lost > 300 and 500 <= received + lost <= 505, closing
    assert closing["buffer_bytes"] >= 4096


@pytest.mark.parametrize(("kilobytes", "ring"), [(1, 4096), (5, 8192), (1024, 1 << 20)])
def test_buffer_sizes_are_rounded_up_and_reported(start: Start, kilobytes: int, ring: int) -> None:
    cpus = len(os.sched_getaffinity(0))
    for buffer in BUFFERS:
        collector = start(
            "sensor", 100, "--hooks", "kill", "--buffer", buffer, "--buffer-kb", str(kilobytes)
        )
        size = collector.finish()["buffer_bytes"]
        if buffer == "ring":
            assert size == ring
        else:
            assert kilobytes * 1024 <= size < 2 * max(kilobytes * 1024, 4096 * cpus)


def test_only_the_last_4096_events_are_held(start: Start) -> None:
    collector = start("sensor", 600, "--hooks", "kill", "--dump")
    signals(5000)
    time.sleep(1.3)
    closing = collector.finish()
    records = collector.records()
    assert closing["events"] >= 5000 and closing["records"] == 4096 and closing["lost"] == 0
    held, omitted = sum(len(r["events"]) for r in records), sum(r["omitted"] for r in records)
    assert held + omitted == sum(r["counts"].get("kill", 0) for r in records)
    assert omitted > 0


@pytest.mark.parametrize("buffer", BUFFERS)
def test_after_a_kill_nothing_is_left(start: Start, buffer: str) -> None:
    programs, maps = bpf_syscall.program_ids(), bpf_syscall.map_ids()
    seen = watch(start, "all", "--missing", "skip", "--buffer", buffer)
    assert len(bpf_syscall.program_ids() - programs) > 30
    assert bpf_syscall.map_ids() - maps
    seen.collector.process.send_signal(signal.SIGKILL)
    seen.collector.process.wait(timeout=20)
    deadline = time.monotonic() + 10
    while bpf_syscall.program_ids() - programs or bpf_syscall.map_ids() - maps:
        assert time.monotonic() < deadline, "programs or maps are left"
        time.sleep(0.05)


def test_maps_that_are_not_needed_are_not_made(start: Start) -> None:
    def made(*options: str) -> int:
        collector = start("sensor", 100, *options)
        count = maps_of(collector.process.pid)
        collector.finish()
        return count

    everything = made("--hooks", "source")
    assert made("--hooks", "source", "--filter", "user") == everything - 1
    assert made("--hooks", "source", "--bytes", "off") == everything - 2
    assert everything - 2 <= made("--hooks", "source", "--bytes", "event") < everything
    assert made("--hooks", "kill") == everything - 3


@pytest.mark.parametrize("buffer", BUFFERS)
def test_a_flood_keeps_it_neither_from_its_ticks_nor_from_its_end(
    start: Start, buffer: str
) -> None:
    collector = start("sensor", 50, "--hooks", "kill", "--buffer", buffer, "--buffer-kb", "64")
    script = "import os\nwhile True: os.kill(os.getpid(), 0)"
    flood = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(os.cpu_count() or 1)]
    try:
        time.sleep(1)
        begin = time.monotonic()
        closing = collector.finish()
    finally:
        for process in flood:
            process.kill()
            process.wait()
    assert time.monotonic() - begin < 10
    assert closing["scrapes"] >= 2 and closing["events"] > 1000
