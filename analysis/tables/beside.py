"""The table of exact instructions beside live time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.statistics.intervals import Interval
from analysis.tables.costs import Row, make_table
from analysis.text import NOTHING, Table, interval, number


def _interval(row: Row, name: str, low: str, high: str) -> Interval:
    return Interval(row[name], row[low], row[high], 0, "no interval")


def condition(row: Row) -> str:
    """Where both were counted: the process count, or the pace of the events."""
    if row["kind"] == "event":
        return f"a context switch, {row['at']}"
    return "a scrape" if row["at"] is None else f"a scrape of {row['at']:,} processes"


def exact_beside_live(rows: Sequence[dict[str, Any]]) -> Table:
    """One line per arm and condition that an exact and a live run share."""
    shown = [
        [
            row["title"],
            condition(row),
            number(row["instructions"], 4),
            interval(_interval(row, "live_ns", "live_low", "live_high")),
            interval(_interval(row, "ns_per_instruction", "low", "high")),
        ]
        for row in rows
    ] or [[NOTHING] * 5]
    head = ["collector", "for", "instructions", "live time, ns", "ns per instruction"]
    return make_table(
        "exact_beside_live",
        [dict(row) for row in rows],
        head,
        shown,
        "Instructions: of the collector's cgroup in the exact virtual machine for a scrape, or "
        "added by its program to a context switch. Live: the same account on the live machine, "
        "mean [95 % interval] over blocks. Emulated guest instructions, not a hardware counter's; "
        "the kernels differ. Where a piece takes several times longer, caches decide and not "
        "instructions.",
    )
