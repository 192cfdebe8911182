"""The table of exact instructions beside live time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis import levels
from analysis.beside import Summary, beside
from analysis.exact import BACKEND, Digits
from analysis.statistics.intervals import Interval
from analysis.tables.costs import Row, make_table
from analysis.tables.exact import columns
from analysis.tables.exact import shown as digits_shown
from analysis.text import NOTHING, Table, ends, interval, number


def _interval(row: Row, name: str, low: str, high: str) -> Interval:
    return Interval(row[name], row[low], row[high], 0, "no interval")


def condition(row: Row) -> str:
    """Where both were counted: the process count, or the pace of the events."""
    if row["kind"] == "event":
        return f"a context switch, {row['at']}"
    if row["stress_threads"] is not None:
        return f"a scrape, {levels.text(levels.of_entry(row))}"
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


def newest_exact(summaries: Sequence[Summary]) -> Table:
    """The newest run of the preset `exact` of each study, every arm, live time beside it."""
    live = {
        (row["exact_run"], row["arm"], row["at"], row["stress_threads"]): row
        for row in beside(summaries)
        if row["kind"] == "scrape"
    }
    rows: list[Row] = []
    shown: list[list[str]] = []
    for run in _newest(summaries):
        for cell in run["exact"]["cells"]:
            if cell["statistics"] != "off":
                continue
            count, total = cell["processes"], Digits(**cell["total"])
            threads = cell.get("stress_threads")
            row: Row = {"study": run["study"], "arm": cell["arm"], "processes": count}
            row["stress_threads"] = threads
            row |= columns("total_instructions", total)
            row["agent_instructions"] = cell["agent"]["median"]
            found = live.get((run["run"], cell["arm"], count, threads))
            us = _interval(found, "live_ns", "live_low", "live_high") if found else None
            us = us.scaled(1e-3) if us else None
            each = found["ns_per_instruction"] if found else None
            rows.append({**row, **ends("live_us", us), "ns_per_instruction": each})
            shown.append(
                [
                    cell["title"],
                    _level(cell),
                    digits_shown(total, 5),
                    number(row["agent_instructions"], 5),
                    interval(us) if us else NOTHING,
                    number(each, 2),
                ]
            )
    head = ["collector", "processes", "instructions per scrape", "of these in its cgroup"]
    head += ["live: µs per scrape in its cgroup", "ns per instruction"]
    return make_table("newest_exact", rows, head, shown)


def _level(cell: Summary) -> str:
    if cell.get("stress_threads") is not None:
        return levels.text(levels.of_entry(cell))
    return "as they are" if cell["processes"] is None else f"{cell['processes']:,}"


def _newest(summaries: Sequence[Summary]) -> list[Summary]:
    """By study; runs of other presets, and those that count events alone, are left out.

    One beside which a live run stands, of the same architecture, comes before all others.
    """
    able = {row["exact_run"] for row in beside(summaries)}
    found = {
        str(run["study"]): run
        for run in sorted(summaries, key=lambda run: (run["run"] in able, str(run["run"])))
        if (run.get("backend"), run["preset"], run["finished"]) == (BACKEND, BACKEND, True)
        and run["study"] != "accounts"
    }
    return [found[study] for study in sorted(found, reverse=True)]
