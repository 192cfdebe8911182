"""A made-up run of the backend `exact`, whose instruction counts are known. Not a measurement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import synthetic

ARMS = ["null_agent", "proc_stat", "sched_switch_published", "sched_switch"]
LEVELS = [100, 600]
#: Instructions per scrape at no process, and per process.
TRUTH: Mapping[str, tuple[int, int]] = {
    "null_agent": (5_000, 0),
    "proc_stat": (20_000, 33_000),
    "sched_switch_published": (240_000, 10),
    "sched_switch": (30_000, 12),
}
EMPTY = 700_000  # instructions of a window without an agent, per second
SHARES = {"user": 3, "kernel": 5, "bpf": 2}  # of ten

Change = Callable[[dict[str, Any], dict[str, Any]], None]


def plan(blocks: int = 8, levels: list[int] | None = None) -> dict[str, Any]:
    """In the shape of the runner's: no warm-up, an empty window per block and process count."""
    counts = LEVELS if levels is None else levels
    made = synthetic.make_plan(
        ARMS,
        counts,
        blocks,
        statistics=("off",),
        external=False,
        contrasts=[
            synthetic.contrast("proc_stat", "sched_switch_published", counts[-1]),
            synthetic.contrast("sched_switch", "null_agent", counts[0]),
        ],
    )
    trials = [t for t in made["trials"] if t["kind"] == "cost" and t["block"] > 0]
    trials += [
        {"kind": "empty", "arm": "none", "replica": 1, "statistics": "off", "processes": level}
        | {"block": block, "position": 99, "interval_ms": 1000, "window_s": 4.0}
        for block in range(1, blocks + 1)
        for level in counts
    ]
    for number, trial in enumerate(trials):
        trial["trial"] = number
    return made | {"backend": "exact", "warm_up_blocks": 0, "trials": trials}


def write(
    folder: Path,
    planned: dict[str, Any] | None = None,
    *,
    jitter: int = 0,
    change: Change | None = None,
    **options: Any,
) -> Path:
    """Write a run of TRUTH; `jitter`: instructions a scrape that each later block adds."""

    def fill(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "empty":
            row |= {"instrument": "exact", "bpf_programs": None, "scrapes": None}
            count = EMPTY * row["window_ns"] // synthetic.NS
        else:
            fixed, slope = TRUTH[trial["arm"]]
            a_scrape = fixed + slope * trial["processes"] + jitter * trial["block"]
            count = EMPTY * row["window_ns"] // synthetic.NS + row["scrapes"] * a_scrape
        for part, share in SHARES.items():
            row[f"{part}_instructions"] = count * share // 10
        if change:
            change(row, trial)

    return synthetic.write_run(folder, planned or plan(), change=fill, noise=0.0, **options)
