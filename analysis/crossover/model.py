"""The cost model of one collector, and how well it foretells points that it was not fitted to.

    cost per s = (fixed + per_process P + per_thread T + per_active A) / interval + per_switch S

Polling pays for each scrape and for what it reads there; a hook pays for each switch, whoever reads
it.  No part of a collector's work is negative, so neither is a coefficient.

Literature
    C. L. Lawson, R. J. Hanson, "Solving least squares problems" (1974), ch. 23: least squares with
        coefficients that are not negative.
    J. N. S. Matthews et al., BMJ 300 (1990): one fit per unit (the block, see `scaling`), then a t
        interval over the units.

Residuals are weighted by 1 / mean cost of the point: the spread of a cost grows with the cost, and
unweighted the few dearest points alone would set every coefficient.

Which terms a collector has, the non-negative fit of its means over blocks says; the value of those
is then fitted in each block without that bound, so that their mean over blocks is the non-negative
fit itself.  Bounded in each block by itself a term that is absent would be above 0 in every mean,
and push the others down: in 300 simulations of the synthetic design with 5 % of noise and 12 blocks
the 95 % intervals of the coefficients that matter then held the truth in 66 to 94 %, and in 93 to
95 % as it is done here; with 3 blocks in 93 to 95 %.

On the exact machine the units are perturbations and a value is given as median, least and greatest:
a range, no confidence interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from analysis.crossover.cells import CONDITIONS
from analysis.exact import digits
from analysis.statistics.intervals import Interval, mean_interval
from analysis.statistics.types import Array

TERMS = ("fixed", "per_process", "per_thread", "per_active", "per_switch")
#: Key of a design point that has to take two values for a term to be told from the others.
VARIED = {
    "per_process": "processes",
    "per_thread": "threads_per_process",
    "per_active": "switching_tasks",
    "per_switch": "switches_per_s",
}
HELD_OUT_LIMIT = 0.10  # median |fitted / measured - 1| over the held-out points
RANGE = "least and greatest over perturbations"


@dataclass(frozen=True)
class Where:
    """Conditions of a machine and a scrape; see `cells` for their meaning."""

    processes: float
    threads: float
    active: float
    interval_s: float
    switches_per_s: float

    def terms(self) -> Array:
        """What the coefficients are multiplied by, in the order of TERMS."""
        row: Array = terms(*(np.array([getattr(self, name)]) for name in CONDITIONS))[0]
        return row


def terms(
    processes: Array, threads: Array, active: Array, interval_s: Array, switches_per_s: Array
) -> Array:
    """Rows of the design matrix, one a set of conditions; columns as TERMS."""
    scrapes = 1.0 / interval_s  # a second
    columns = [scrapes, processes * scrapes, threads * scrapes, active * scrapes, switches_per_s]
    return np.column_stack(columns)


def spread(values: Array, exact: bool) -> Interval:
    """Mean with its t interval over blocks; of perturbations median, least and greatest."""
    if not exact:
        return mean_interval(values)
    found = digits(np.asarray(values, dtype=np.float64))
    return Interval(found.median, found.low, found.high, found.n, RANGE if found.n else "no boot")


@dataclass(frozen=True)
class Fit:
    """A fitted collector. coefficients: a row a block, columns as TERMS; unit of cost as fitted."""

    arm: str
    exact: bool
    blocks: tuple[int, ...]
    coefficients: Array
    left_out: tuple[str, ...] = ()  # terms that the plan did not vary: 0

    def term(self, name: str) -> Interval:
        """A coefficient over blocks (or perturbations)."""
        return spread(self.coefficients[:, TERMS.index(name)], self.exact)

    def each(self, where: Where) -> Array:
        """Cost per second, a value a block."""
        return self.coefficients @ where.terms()

    def at(self, where: Where) -> Interval:
        """Cost per second under these conditions."""
        return spread(self.each(where), self.exact)

    def centre(self) -> Array:
        """The coefficients that one number is foretold with: mean, or median of perturbations."""
        middle = np.median if self.exact else np.mean
        return np.asarray(middle(self.coefficients, axis=0), dtype=np.float64)


def design(cells: pd.DataFrame) -> Array:
    """The design matrix of cells."""
    return terms(*(cells[name].to_numpy(dtype=np.float64) for name in CONDITIONS))


def not_varied(points: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Terms that these design points cannot tell apart from the others."""
    each = list(points)
    return tuple(term for term, key in VARIED.items() if len({point[key] for point in each}) < 2)


def fit(arm: str, cells: pd.DataFrame, exact: bool, left_out: tuple[str, ...] = ()) -> Fit | None:
    """The model of an arm's cells.

    A block whose points cannot tell the terms apart is left out. None without a block.
    """
    means = cells.groupby("point")[[*CONDITIONS, "cost"]].mean()
    positive = means["cost"][means["cost"] > 0]
    if positive.empty:
        return None
    weights = 1.0 / means["cost"].clip(lower=float(positive.min()))  # noise can take one below 0
    allowed = [n for n, term in enumerate(TERMS) if term not in left_out]
    whole = np.zeros(len(TERMS))
    x, size = _scaled(means, weights)
    whole[allowed] = nnls(x[:, allowed], _column(means, "cost") * weights.to_numpy(float))[0]
    kept = np.flatnonzero(whole > 0)
    found: dict[int, Array] = {}
    for block, rows in cells.groupby("block"):
        w = weights.loc[rows["point"]]
        x, size = _scaled(rows, w)
        y = _column(rows, "cost") * w.to_numpy(dtype=np.float64)
        solved, _, rank, _ = np.linalg.lstsq(x[:, kept], y, rcond=None)
        if rank == len(kept) and len(rows) >= len(allowed):
            coefficients = np.zeros(len(TERMS))
            coefficients[kept] = solved / size[kept]
            found[int(str(block))] = coefficients
    if not found:
        return None
    return Fit(arm, exact, tuple(found), np.array(list(found.values())), left_out)


def _column(frame: pd.DataFrame, name: str) -> Array:
    return frame[name].to_numpy(dtype=np.float64)


def _scaled(frame: pd.DataFrame, weights: pd.Series[float]) -> tuple[Array, Array]:
    """The weighted design matrix with columns of length 1, and their lengths."""
    x = design(frame) * weights.to_numpy(dtype=np.float64)[:, None]
    size = np.linalg.norm(x, axis=0)
    size[size == 0] = 1.0
    return x / size, size


def foretold(fitted: Fit, cells: pd.DataFrame) -> pd.DataFrame:
    """Index point; columns measured and fitted (cost per second), error (fitted / measured - 1).

    The measured cost is the middle over blocks (mean, or median of perturbations), the fitted one
    that of the centre at the point's mean conditions. error is NaN where nothing was measured.
    """
    grouped = cells.groupby("point")
    made = grouped[list(CONDITIONS)].mean()
    made["fitted"] = design(made) @ fitted.centre()
    made["measured"] = grouped["cost"].median() if fitted.exact else grouped["cost"].mean()
    made["error"] = made["fitted"] / made["measured"].where(made["measured"] > 0) - 1
    return made[["measured", "fitted", "error"]]


def median_error(errors: pd.Series[float]) -> float | None:
    """Median of |error| over points; None without one."""
    found = errors.dropna().abs()
    return float(found.median()) if len(found) else None
