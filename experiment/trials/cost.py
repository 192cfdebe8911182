"""The agent's CPU in a window whose edges fall mid-interval."""

from __future__ import annotations

import time
from typing import Any

from experiment import samples
from experiment.accounting import bpf_stats, machine, memory, own
from experiment.trials import window
from experiment.trials.common import COUNTERS, Invalid, Row, Setting, programs_of, running


def measure(trial: dict[str, Any], setting: Setting, row: Row, scrapes: list[Row]) -> None:
    interval_ms = int(trial["interval_ms"])
    window_ns = int(trial["window_s"] * 1e9)
    sleeps_per_scrape = setting.arms[trial["arm"]].get("sleeps_per_scrape")
    before = bpf_stats.loaded()
    with running(trial, setting, interval_ms) as (collector, group, setup_ns):
        ready = time.monotonic()
        row.update(interval_ms=interval_ms, setup_ns=setup_ns)
        time.sleep(max(0.0, ready + interval_ms / 2000 - time.monotonic()))
        # Only now: what a loader used once and unloaded takes a moment to be gone.
        with programs_of(before, group, row) as programs:
            silent = group.pids() if sleeps_per_scrape else None
            # beyond the edges, where the agent sleeps: what is read there is the window's
            counted = group.pids() if row["stress_threads"] is not None else None
            before_own = own.read(counted or [])
            try:
                seen = window.measure(window_ns, setting, row, group, programs, silent)
            except OSError:  # some accounts end with the agent: then its own words say more
                collector.check_alive()
                raise
        if counted is not None:
            row.update(own.read(counted).since(before_own))
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
    scrapes += samples.per_scrape(trial["trial"], closing, seen.began_ns, row["window_ns"])
    row["scrapes"] = sum(s["in_window"] for s in scrapes) if closing else None
    if sleeps_per_scrape:
        row["scrapes"] = seen.slept // sleeps_per_scrape
    _judge(row, None if sleeps_per_scrape else round(window_ns / 1e6 / interval_ms))
    longest = max((s["cpu_ns"] or 0 for s in scrapes if s["in_window"]), default=0)
    if longest > interval_ms * 500_000:
        raise Invalid(f"a scrape took {longest / 1e6:.0f} ms, more than half an interval")
    window.check_load(row, seen)


def _judge(row: Row, planned: int | None) -> None:
    """Raise Invalid where the window is not what was planned; None: scrapes keep their own time."""
    if row["agent_ns"] < 0:
        row["agent_ns"] = None
        raise Invalid("the account of the agent's CPU went backwards")
    if None not in (row["scrapes"], planned) and row["scrapes"] != planned:
        raise Invalid(f"{row['scrapes']} scrapes in the window, {planned} planned")
    if row.get("lost"):
        raise Invalid(f"the collector lost {row['lost']} updates")
