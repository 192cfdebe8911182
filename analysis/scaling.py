"""Cost against the number of processes: a straight line per arm.

Literature: J. N. S. Matthews et al., "Analysis of serial measurements in medical research",
BMJ 300 (1990): one summary (here slope and intercept) per unit (here the block), then a t interval
over the units. That is the clustering by block, without a model of the spread inside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.measures import Measures
from analysis.statistics.intervals import Interval, mean_interval
from analysis.statistics.types import Array


@dataclass(frozen=True)
class Line:
    """A fitted line of one arm. slope: percent of a core per process; intercept: percent."""

    arm: str
    measure: str
    points: pd.DataFrame  # columns block, processes (actual), value
    slope: Interval
    intercept: Interval
    ns_per_process: Interval  # per process and scrape
    misfit: float | None  # largest |level mean - line| / level mean
    coefficients: Array  # one row a block: slope, intercept

    def at(self, processes: float) -> Interval:
        """Fitted cost at a process count, with its pointwise interval over blocks."""
        return mean_interval(self.coefficients @ np.array([processes, 1.0]))


def points(measures: Measures, arm: str, measure: str) -> pd.DataFrame:
    """Columns level, block, processes (counted, at the start), value of an arm over all levels."""
    made = []
    for level in measures.levels:
        values = measures.get(measure, arm, level)
        statistics = "on" if measure == "published" else "off"
        counted = measures.column("processes", statistics, arm, level, 1)
        both = pd.DataFrame({"processes": counted, "value": values}).dropna()
        both.insert(0, "block", both.index.astype(int))
        both.insert(0, "level", level)
        made.append(both)
    empty = pd.DataFrame({"level": [], "block": [], "processes": [], "value": []})
    return pd.concat(made, ignore_index=True) if made else empty


def _weights(data: pd.DataFrame) -> pd.Series[float]:
    mean = data.groupby("level")["value"].transform("mean").astype(float)
    return 1 / mean if bool((mean > 0).all()) else mean * 0.0 + 1.0


def fit(measures: Measures, arm: str, measure: str = "headline") -> Line | None:
    """Weighted least-squares line in each block with at least two levels, averaged over blocks.

    Weights are 1 / mean^2 of the level: the spread of a cost over blocks grows with the cost (the
    coefficient of variation is what is stable), and without weights the dearest level alone would
    set the intercept. None if the arm has no block with two levels.
    """
    data = points(measures, arm, measure)
    matrix = by_block(data)
    if matrix is None:
        return None
    slope, intercept = mean_interval(matrix[:, 0]), mean_interval(matrix[:, 1])
    scrape_ns = float(measures.run.plan.get("interval_ms", 1000)) * 1e6
    per_process = slope.scaled(scrape_ns / 100)  # percent of a core over one interval -> ns
    return Line(arm, measure, data, slope, intercept, per_process, misfit(data, matrix), matrix)


def by_block(data: pd.DataFrame, least: int = 2) -> Array | None:
    """Slope and intercept of each block with so many places at least; None without such a block.

    data: columns level, block, processes (or whatever else the cost is set against), value.
    """
    weights = _weights(data)
    coefficients = []
    for _, block in data.groupby("block"):
        x = block["processes"].to_numpy(dtype=np.float64)
        if len(np.unique(x)) < least:
            continue
        design = np.column_stack([x, np.ones_like(x)])
        y = block["value"].to_numpy(dtype=np.float64)
        w = weights.loc[block.index].to_numpy(dtype=np.float64)  # of the residual, not its square
        coefficients.append(np.linalg.lstsq(design * w[:, None], y * w, rcond=None)[0])
    return np.array(coefficients, dtype=np.float64) if coefficients else None


def misfit(data: pd.DataFrame, matrix: Array) -> float | None:
    """Largest |mean of a level - line| / mean; None below three levels."""
    means = data.groupby("level")[["processes", "value"]].mean()
    line = means["processes"] * matrix[:, 0].mean() + matrix[:, 1].mean()
    positive = means["value"] > 0
    relative = ((means["value"] - line).abs() / means["value"])[positive]
    return float(relative.max()) if len(means) > 2 and positive.any() else None
