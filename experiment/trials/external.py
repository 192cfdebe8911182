"""The time of a fixed count of work with the arm attached, its reader asleep, and without it."""

from __future__ import annotations

import time
from typing import Any

from experiment import counting
from experiment.accounting import bpf_stats, harness, machine
from experiment.trials.common import (
    COUNTERS,
    Invalid,
    Row,
    Setting,
    note_programs,
    programs_of,
    running,
)

_NEVER_MS = 3_600_000
#: What a loader used once and unloaded, or an arm left attached, takes a moment to be gone.
_SETTLE_S = 0.05


def measure(trial: dict[str, Any], setting: Setting, row: Row, scrapes: list[Row]) -> None:
    """Fill the row: the work's events and CPU time, and what the programs ran meanwhile.

    Turns without the arm surround those with it, in one process and within a second or two.
    """
    del scrapes
    before = bpf_stats.loaded()
    build = setting.paths["build"]
    with harness.stopped(setting.polling), counting.counter(build, trial) as counter:
        counter.turn()
        alone = [counter.turn()]
        with running(trial, setting, _NEVER_MS) as (collector, group, setup_ns):
            time.sleep(_SETTLE_S)
            with programs_of(before, group, row) as programs:
                bpf_before = programs.read()
                began = time.monotonic_ns()
                attached = [counter.turn(), counter.turn()]
                ended = time.monotonic_ns()
                bpf_after = programs.read()
            row.update(
                setup_ns=setup_ns,
                window_ns=ended - began,
                processes=machine.processes(),
                events=sum(turn.events for turn in attached),
                work_ns=sum(turn.work_ns for turn in attached),
            )
            note_programs(row, programs, bpf_before, bpf_after, trial["statistics"] == "on")
            collector.check_alive()
            closing = collector.stop()
        time.sleep(_SETTLE_S)
        alone.append(counter.turn())
    row["unattached_ns"] = sum(turn.work_ns for turn in alone)
    row.update({name: closing.get(name) for name in COUNTERS})
    if row.get("lost"):
        raise Invalid(f"the collector lost {row['lost']} updates")
