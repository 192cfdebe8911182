"""Task ids up to 4,194,304, ids that fall on one slot, and ids that are used again."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bpf.conftest import BUILD, Start

KERNEL = Path("/proc/sys/kernel")
LARGE = 4_194_304
#: Ids that differ by this fall on the same slot of sched_switch and entry of task_iter.
DIRECT = 32_768
COLLECTORS = ["sched_switch", "task_iter"]

needs_ids = pytest.mark.skipif(
    not os.access(KERNEL / "ns_last_pid", os.W_OK),
    reason="unavailable: choosing task ids needs root and CONFIG_CHECKPOINT_RESTORE",
)
pytestmark = needs_ids


@pytest.fixture
def large_ids() -> Iterator[None]:
    """pid_max at its greatest, as under systemd, and afterwards as it was."""
    before = (KERNEL / "pid_max").read_text()
    try:
        (KERNEL / "pid_max").write_text(str(LARGE))
        yield
    finally:
        (KERNEL / "pid_max").write_text(before)


def _spin(pid: int, *options: object) -> subprocess.Popen[str] | None:
    """The load under that id; None if the id is taken, or another process came first."""
    (KERNEL / "ns_last_pid").write_text(str(pid - 1))
    process = subprocess.Popen(
        [str(BUILD / "spin"), *map(str, options)], stdout=subprocess.PIPE, text=True
    )
    if process.pid == pid:
        return process
    process.kill()
    process.communicate()
    return None


def _family(ids: list[int], *options: object) -> list[subprocess.Popen[str]]:
    """Loads under ids that lie this far from a first one that is free."""
    for first in range(20_000, 20_400):
        family = [_spin(first + offset, *options) for offset in ids]
        if all(family):
            return [process for process in family if process]
        for process in filter(None, family):
            process.kill()
            process.communicate()
    pytest.fail("no free task ids")


def _own(process: subprocess.Popen[str]) -> tuple[int, int]:
    line = json.loads(process.communicate(timeout=60)[0])
    assert line["pid"] == process.pid
    return line["pid"], line["cpu_ns"]


@pytest.mark.parametrize("name", COLLECTORS)
def test_processes_whose_ids_fall_on_one_slot_are_kept_apart(
    large_ids: None, start: Start, name: str
) -> None:
    collector = start(name, 50, "--dump")
    offsets = [0, DIRECT, 2 * DIRECT, 64 * DIRECT, LARGE - 2 * DIRECT]
    options = ("--cpu-ms", 150, "--duty", 40, "--threads", 2, "--hold-ms", 200)
    known = [_own(process) for process in _family(offsets, *options)]
    closing = collector.finish()
    assert closing["lost"] == 0
    assert known[-1][0] > LARGE - 2 * DIRECT
    for pid, cpu_ns in known:
        assert collector.cpu_ns(pid) == pytest.approx(cpu_ns, rel=0.02, abs=2_000_000)


def test_slots_of_displaced_tasks_are_used_again(large_ids: None, start: Start) -> None:
    """Of 1,056 slots 1,024 are direct; more tasks are displaced in turn than the rest holds."""
    collector = start("sched_switch", 20, "--slots", "1056", "--dump")
    keeper = _family([0], "--cpu-ms", 60_000, "--duty", 5)[0]
    known = []
    try:
        for number in range(1, 49):
            child = None
            while child is None:
                child = _spin(keeper.pid + 1024 * number, "--cpu-ms", 2)
            known.append(_own(child))
            time.sleep(0.03)
    finally:
        keeper.kill()
        keeper.communicate()
    time.sleep(0.1)
    assert collector.finish()["lost"] == 0
    more = sorted(collector.cpu_ns(pid) - cpu_ns for pid, cpu_ns in known)
    assert all(cpu_ns * 0.98 < collector.cpu_ns(pid) for pid, cpu_ns in known)
    # none has inherited another's time; a few may be billed what a hypervisor took as they left
    assert more[len(more) * 9 // 10] < 2_000_000 and more[-1] < 50_000_000, more


@pytest.mark.parametrize("name", COLLECTORS)
def test_an_id_used_again_is_another_process(start: Start, name: str) -> None:
    collector = start(name, 50, "--dump")
    first = _family([0], "--cpu-ms", 80, "--hold-ms", 150)[0]
    known = [_own(first)[1]]
    time.sleep(0.1)
    second = None
    while second is None:
        second = _spin(first.pid, "--cpu-ms", 40, "--hold-ms", 150)
    known.append(_own(second)[1])
    collector.finish()
    reported: dict[int, int] = {}
    for record in collector.records():
        for pid, start_ticks, ns in record["processes"]:
            if pid == first.pid:
                reported[start_ticks] = reported.get(start_ticks, 0) + ns
    by_age = [ns for _, ns in sorted(reported.items())][-2:]
    assert by_age == pytest.approx(known, rel=0.02, abs=2_000_000)
