"""The agent's CPU in a window whose edges fall mid-interval."""

from __future__ import annotations

import time
from typing import Any

from experiment import samples, workloads
from experiment.accounting import Group, bpf_stats, harness, machine, memory
from experiment.trials.common import (
    COUNTERS,
    Invalid,
    Row,
    Setting,
    Unsettled,
    note_programs,
    programs_of,
    running,
)


def measure(trial: dict[str, Any], setting: Setting, row: Row, scrapes: list[Row]) -> None:
    interval_ms = int(trial["interval_ms"])
    window_ns = int(trial["window_s"] * 1e9)
    before = bpf_stats.loaded()
    with running(trial, setting, interval_ms) as (collector, group, setup_ns):
        ready = time.monotonic()
        row.update(interval_ms=interval_ms, setup_ns=setup_ns)
        time.sleep(max(0.0, ready + interval_ms / 2000 - time.monotonic()))
        # Only now: what a loader used once and unloaded takes a moment to be gone.
        with programs_of(before, group, row) as programs:
            began = _window(window_ns, setting, group, programs, trial["statistics"] == "on", row)
        pids = group.pids()
        row.update(
            processes_end=machine.processes(),
            threads=machine.threads(),
            agent_tasks=len(pids),
            agent_rss_bytes=memory.resident_bytes(pids),
        )
        collector.check_alive()
        closing = collector.stop()
    row.update({name: closing.get(name) for name in COUNTERS})
    if row["kernel_ns"] is not None:
        row["kernel_life_ns"] = closing.get("scrapes", 0) * interval_ms * 1_000_000
    scrapes += samples.per_scrape(trial["trial"], closing, began, row["window_ns"])
    row["scrapes"] = sum(s["in_window"] for s in scrapes) if closing else None
    _judge(row, window_ns, interval_ms)
    longest = max((s["cpu_ns"] or 0 for s in scrapes if s["in_window"]), default=0)
    if longest > interval_ms * 500_000:
        raise Invalid(f"a scrape took {longest / 1e6:.0f} ms, more than half an interval")


def _window(
    window_ns: int,
    setting: Setting,
    group: Group,
    programs: bpf_stats.Programs,
    with_statistics: bool,
    row: Row,
) -> int:
    """Read every instrument, sleep through the window, read again; returns its start in ns.

    The order of reading is mirrored at the two edges, so that each instrument sees the window
    and as little as possible of the others' reading.
    """
    target, row["processes"] = row["processes_target"], machine.processes()
    if target is not None and abs(row["processes"] - target) > workloads.tolerance(target):
        raise Unsettled(f"{row['processes']} processes at the start, {target} planned")
    machine_before = machine.read()
    bpf_before = programs.read()
    with harness.stopped(setting.polling):
        harness_before = harness.at_start(setting.drivers)
        agent_before = group.cpu_ns()
        began = time.monotonic_ns()
        time.sleep(max(0, began + window_ns - time.monotonic_ns()) / 1e9)
        ended = time.monotonic_ns()
        agent_after = group.cpu_ns()
        harness_after = harness.at_end(setting.drivers)
    bpf_after = programs.read()
    seen = machine.read().since(machine_before, ended - began)
    harness_ns, wakeups = harness_after.since(harness_before)
    row.update(
        window_ns=ended - began,
        agent_ns=agent_after - agent_before,
        harness_ns=harness_ns,
        harness_wakeups=wakeups,
        **seen,
    )
    note_programs(row, programs, bpf_before, bpf_after, with_statistics)
    return began


def _judge(row: Row, window_ns: int, interval_ms: int) -> None:
    """Raise Invalid where the window is not what was planned."""
    planned = round(window_ns / 1e6 / interval_ms)
    if row["agent_ns"] < 0:
        row["agent_ns"] = None
        raise Invalid("the account of the agent's CPU went backwards")
    if row["scrapes"] is not None and row["scrapes"] != planned:
        raise Invalid(f"{row['scrapes']} scrapes in the window, {planned} planned")
    if row.get("lost"):
        raise Invalid(f"the collector lost {row['lost']} updates")
