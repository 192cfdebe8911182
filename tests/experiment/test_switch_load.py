"""The load of a design point: kept, read at edges, verified, and gone with the runner."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiment.accounting import schedstat
from experiment.collector import Failed
from experiment.switch_load import Seen, SwitchLoad, fault

BUILD = Path(__file__).resolve().parents[2] / "bpf" / "build"


def wanted(rate: int, tasks: int) -> dict[str, Any]:
    return {"switches_per_s": rate, "switching_tasks": tasks}


@pytest.fixture
def load(tmp_path: Path) -> Iterator[SwitchLoad]:
    assert (BUILD / "switch_load").exists(), "make -C bpf"
    made = SwitchLoad(str(BUILD), tmp_path / "load.stderr", schedstat.Schedstat())
    yield made
    made.stop()


def tasks_of_loads() -> set[int]:
    found = set()
    for entry in os.listdir("/proc"):
        try:
            stat = Path(f"/proc/{entry}/stat").read_text() if entry.isdigit() else ""
        except OSError:
            continue
        if "(switch_load)" in stat and stat.rpartition(")")[2].split()[0] not in "ZX":
            found.add(int(entry))
    return found


def test_it_runs_until_another_is_wanted(load: SwitchLoad) -> None:
    before = tasks_of_loads()
    load.ensure(wanted(1000, 4))
    first = tasks_of_loads() - before
    assert len(first) == 5, "the tasks and what has started them"
    load.ensure(wanted(1000, 4))
    assert tasks_of_loads() - before == first, "kept for the next trial of the point"
    load.ensure(wanted(500, 2))
    second = tasks_of_loads() - before
    assert len(second) == 3 and not second & first
    load.ensure({"processes": 600})
    assert tasks_of_loads() - before == set(), "a trial without a load has none"
    assert load.read() == Seen(0, 0, 0)


def test_a_window_sees_its_switches_and_its_cpu_time(load: SwitchLoad) -> None:
    load.ensure(wanted(4000, 4))
    for _ in range(4):  # where a hypervisor took the CPU away, the next window shows the rate
        before, began = load.read(), time.monotonic()
        time.sleep(0.5)
        seen, seconds = load.read().since(before), time.monotonic() - began
        if seen.voluntary == pytest.approx(4000 * seconds, rel=0.1):
            break
    assert seen.voluntary == pytest.approx(4000 * seconds, rel=0.1)
    assert seen.switches >= seen.voluntary
    assert 0 < seen.cpu_ns < 1e9 * seconds * (os.cpu_count() or 1)
    assert fault(seen, round(1e9 * seconds), 4000) is None


def test_one_that_has_died_is_started_again(load: SwitchLoad) -> None:
    before = tasks_of_loads()
    load.ensure(wanted(100, 2))
    os.kill(max(tasks_of_loads() - before), 9)
    time.sleep(0.2)
    load.ensure(wanted(100, 2))
    assert len(tasks_of_loads() - before) == 3


def test_one_that_cannot_start_says_why(load: SwitchLoad) -> None:
    with pytest.raises(Failed, match="of 3 tasks could not be started: .*must be even"):
        load.ensure(wanted(100, 3))
    load.ensure(wanted(100, 2))
    assert load.read().cpu_ns > 0


def test_scheduler_pressure_is_a_load_like_the_others(load: SwitchLoad) -> None:
    load.ensure({"stress_threads": 20})
    before = load.read()
    time.sleep(1)
    seen = load.read().since(before)
    assert 20 * 30 < seen.voluntary <= 20 * 101, "each sleeps for 10 ms"
    assert seen.switches >= seen.voluntary and seen.cpu_ns > 0
    load.ensure({"stress_threads": 0})
    assert load.read() == Seen(0, 0, 0)


@pytest.mark.parametrize(
    ("made", "window_ns", "rate", "good"),
    [
        (2000, 2_000_000_000, 1000, True),
        (1801, 2_000_000_000, 1000, True),
        (1790, 2_000_000_000, 1000, False),
        (2210, 2_000_000_000, 1000, False),
        (13, 1_000_000_000, 10, True),  # three more or less say nothing of a rate
    ],
)
def test_a_rate_more_than_ten_percent_off_is_named(
    made: int, window_ns: int, rate: int, good: bool
) -> None:
    found = fault(Seen(made + 500, made, 1), window_ns, rate)
    assert (found is None) is good
    if found:
        reached = round(made * 1e9 / window_ns)
        assert found == f"the load made {reached} context switches a second, {rate} were asked for"
