"""Cost against the threads that press the scheduler: a line a tool.

In each block the least-squares line of the headline (percent of a core) over the planned threads,
weighted as `analysis.scaling` weights its own; slope and intercept are the means of the blocks'
with their t intervals.  The free system is a level too where the plan has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis import levels
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
        means = data.groupby("threads")["value"].mean()
        fitted = _by_block(data, means)
        if fitted is None:
            continue
        slope, intercept = mean_interval(fitted[:, 0]), mean_interval(fitted[:, 1])
        at = means.index.to_numpy(dtype=np.float64)
        values = means.to_numpy(dtype=np.float64)
        line = at * fitted[:, 0].mean() + fitted[:, 1].mean()
        apart = np.abs(values - line) / np.where(values > 0, values, np.nan)
        entry: dict[str, Any] = {"arm": arm, "title": measures.run.title(arm)}
        entry |= {"levels": [int(x) for x in at]}
        entry |= {"slope": slope, "intercept": intercept}
        entry |= {"per_thread": slope.scaled(scrape_ns / 100)}
        made.append({**entry, "misfit": float(np.nanmax(apart)) if len(at) > 2 else None})
    return made


def _by_block(data: pd.DataFrame, means: pd.Series[float]) -> np.ndarray[Any, Any] | None:
    """Slope and intercept of each block with all levels; None if there is no such block."""
    if len(means) < 2:
        return None
    weights = 1 / means if bool((means > 0).all()) else means * 0.0 + 1.0
    found = []
    for _, block in data.groupby("block"):
        if block["threads"].nunique() < len(means):
            continue
        x = block["threads"].to_numpy(dtype=np.float64)
        y = block["value"].to_numpy(dtype=np.float64)
        w = weights.loc[block["threads"]].to_numpy(dtype=np.float64)
        design = np.column_stack([x, np.ones_like(x)])
        found.append(np.linalg.lstsq(design * w[:, None], y * w, rcond=None)[0])
    return np.array(found, dtype=np.float64) if found else None
