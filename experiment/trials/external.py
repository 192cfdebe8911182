"""The time of a fixed count of work with the arm attached and its reader asleep."""

from __future__ import annotations

import time
from typing import Any

from experiment import workloads
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
#: What a loader used once and unloaded takes a moment to be gone.
_SETTLE_S = 0.05


def measure(trial: dict[str, Any], setting: Setting, row: Row, scrapes: list[Row]) -> None:
    """Fill the row: the work's events and CPU time, and what the programs ran meanwhile."""
    del scrapes
    before = bpf_stats.loaded()
    with running(trial, setting, _NEVER_MS) as (collector, group, setup_ns):
        time.sleep(_SETTLE_S)
        with programs_of(before, group, row) as programs:
            bpf_before = programs.read()
            began = time.monotonic_ns()
            with harness.stopped(setting.polling):
                billed, work_ns = workloads.count_out(setting.paths["build"], trial)
            ended = time.monotonic_ns()
            bpf_after = programs.read()
        row.update(
            setup_ns=setup_ns,
            window_ns=ended - began,
            processes=machine.processes(),
            events=billed,
            work_ns=work_ns,
        )
        note_programs(row, programs, bpf_before, bpf_after, trial["statistics"] == "on")
        collector.check_alive()
        closing = collector.stop()
    row.update({name: closing.get(name) for name in COUNTERS})
    if row.get("lost"):
        raise Invalid(f"the collector lost {row['lost']} updates")
