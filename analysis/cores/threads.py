"""Cost against the threads that press the scheduler: a line a tool.

In each block the least-squares line of the headline (percent of a core) over the planned threads,
weighted as `analysis.scaling` weights its own; slope and intercept are the means of the blocks'
with their t intervals.  The free system is a level too where the plan has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis import levels, scaling
from analysis.measures import Measures
from analysis.statistics.intervals import mean_interval


def has_stress(measures: Measures) -> bool:
    """True for a run whose levels are numbers of stress threads."""
    return any(levels.stress_of(level) is not None for level in measures.levels)


def points(measures: Measures, arm: str, measure: str = "headline") -> pd.DataFrame:
    """Columns threads, block, value (% of a core), switches_per_s of an arm."""
    rows = [
        {
            "threads": levels.stress_of(level),
            "block": int(str(block)),
            "value": float(value),
            "switches_per_s": measures.get("switches_per_s", arm, level).get(block, np.nan),
        }
        for level in measures.levels
        for block, value in measures.get(measure, arm, level).items()
    ]
    return pd.DataFrame(rows, columns=["threads", "block", "value", "switches_per_s"])


def lines(measures: Measures) -> list[dict[str, Any]]:
    """Every arm that has two levels or more.

    Keys arm, title, slope (Interval, % of a core per thread), intercept (% of a core), per_thread
    (ns per thread and scrape), misfit (largest |mean / line - 1| of a level; None below three
    levels), levels (threads).
    """
    made: list[dict[str, Any]] = []
    if not has_stress(measures):
        return made
    scrape_ns = float(measures.run.plan.get("interval_ms") or 1000) * 1e6
    for arm in measures.arms:
        data = points(measures, arm)
        places = data.rename(columns={"threads": "processes"}).assign(level=data["threads"])
        count = data["threads"].nunique()
        fitted = scaling.by_block(places, count) if count > 1 else None
        if fitted is None:
            continue
        slope, intercept = mean_interval(fitted[:, 0]), mean_interval(fitted[:, 1])
        entry: dict[str, Any] = {"arm": arm, "title": measures.run.title(arm)}
        entry |= {"levels": sorted(set(data["threads"]))}
        entry |= {"slope": slope, "intercept": intercept}
        entry |= {"per_thread": slope.scaled(scrape_ns / 100)}
        made.append({**entry, "misfit": scaling.misfit(places, fitted)})
    return made
