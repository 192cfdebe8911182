"""What each level of repetition adds to the scatter of a reader's CPU: scrapes and blocks.

Literature: see `statistics.variance` (Kalibera & Jones 2013). The scrapes are the reader's own,
from scrapes.csv.gz: CPU from the end of one scrape to the end of the next, both in the window.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from analysis.levels import of_rows
from analysis.load import Run
from analysis.statistics.variance import Split, split

KEYS = ["arm", "level", "statistics"]


def variance(run: Run) -> list[dict[str, Any]]:
    """Split of every cell with two blocks or more, in percent of one core.

    Keys arm, level, statistics, split (`variance.Split`), best_scrapes: the window, in scrapes,
    that gives the narrowest interval in a given time; None: the longer the better.
    """
    t = run.trials
    ok = (t["kind"] == "cost") & (t["status"] == "ok") & (t["block"] > 0) & (t["replica"] == 1)
    rows = t[ok].dropna(subset=["interval_ms"])
    cells = rows[["trial", "block", "arm", "statistics", "interval_ms", "setup_ns"]].copy()
    cells["level"] = of_rows(rows)
    s = run.scrapes
    inside = s[(s["in_window"] == 1).fillna(False)].dropna(subset=["cpu_ns"])
    each = inside[["trial", "cpu_ns"]].merge(cells, on="trial")
    each["value"] = each["cpu_ns"].astype(float) / each["interval_ms"].astype(float) / 1e4
    made: list[dict[str, Any]] = []
    for key, cell in each.groupby(KEYS, sort=False):
        arm, level, statistics = cast(tuple[str, int, str], key)
        found = split([b.to_numpy(dtype=np.float64) for _, b in cell.groupby("block")["value"]])
        if found is None:
            continue
        interval = float(cell["interval_ms"].astype(float).median()) / 1e3
        setup = float(cell["setup_ns"].astype("Float64").fillna(0).median()) / 1e9
        entry = {"arm": arm, "level": int(level), "statistics": statistics}
        best = found.best_scrapes(interval, setup + interval / 2)  # a window begins mid-interval
        made.append({**entry, "split": found, "best_scrapes": best})
    place = {arm: n for n, arm in enumerate(run.arms)}
    return sorted(made, key=lambda e: (place[e["arm"]], e["level"], e["statistics"]))


def percent_of_mean(found: Split, part: float | None) -> float | None:
    """A variance as a coefficient of variation, in percent; below zero counts as none."""
    if part is None or found.mean <= 0:
        return None
    return 100 * float(np.sqrt(max(part, 0.0))) / found.mean
