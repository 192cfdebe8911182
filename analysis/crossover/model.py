"""The cost model of one collector, and how well it foretells points that it was not fitted to.

    cost per second = (fixed + per_process P + per_thread T + per_active A) / interval
                    + per_cold_scrape w / interval
                    + (per_switch + per_cold_switch w) S

    with w = S0 / (S0 + S), the share that finds the machine cold: see `warmth`

Polling pays for each scrape and for what it reads there; a hook pays for each switch, whoever reads
it; both pay more on a machine that switches so seldom that it has gone cold in between.  No part
of a collector's work is negative, so neither is a coefficient.

What a switch costs a hook is calibrated apart (`calibration`): both coefficients of a switch are
the calibration's, block by block, and the others are fitted to what the reader's own clock says.
Fitted together, as they were at first, the noise of a calibration, which all points of a block
share, went into every coefficient of that block.  A collector whose switches nobody calibrated, and
every one on the exact machine, is fitted as a whole.

Literature
    C. L. Lawson, R. J. Hanson, "Solving least squares problems" (1974), ch. 23: least squares with
        coefficients that are not negative.
    J. N. S. Matthews et al., BMJ 300 (1990): one fit per unit (the block, see `scaling`), then a t
        interval over the units.
    A. Calotoiu et al., "Using automated performance modeling to find scalability bugs in complex
        codes", SC (2013): a few forms with few terms each, and what was not fitted decides.

Residuals are weighted by 1 / mean cost of the point: the spread of a cost grows with the cost, and
unweighted the few dearest points alone would set every coefficient.

Which terms a collector has, the non-negative fit of its means over blocks says; the value of those
is then fitted in each block without that bound, so that their mean over blocks is the non-negative
fit itself.  Bounded in each block by itself a term that is absent would be above 0 in every mean,
and push the others down: in 300 simulations of the synthetic design with 5 % of noise and 12 blocks
the 95 % intervals of the coefficients that matter then held the truth in 66 to 94 %, and in 93 to
95 % as it is done here; with 3 blocks in 93 to 95 %.

On the exact machine, which has no caches, nothing is cold; the units are perturbations and a value
is given as median, least and greatest: a range, no confidence interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from analysis.crossover.conditions import CONDITIONS
from analysis.crossover.warmth import share
from analysis.exact import digits
from analysis.statistics.intervals import ROUNDING, Interval, mean_interval
from analysis.statistics.types import Array

TERMS = (
    "fixed",
    "per_process",
    "per_thread",
    "per_active",
    "per_cold_scrape",
    "per_switch",
    "per_cold_switch",
)
SWITCH = TERMS.index("per_switch")  # and the one after it: what a hook pays for
COLD = ("per_cold_scrape", "per_cold_switch")
#: Key of a design point that has to take two values for a term to be told from the others.
VARIED = {
    "per_process": "processes",
    "per_thread": "threads_per_process",
    "per_active": "switching_tasks",
    "per_cold_scrape": "switches_per_s",
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

    def terms(self, half: float) -> Array:
        """What the coefficients are multiplied by, in the order of TERMS."""
        row: Array = terms(half, *(np.array([getattr(self, name)]) for name in CONDITIONS))[0]
        return row


def terms(
    half: float,
    processes: Array,
    threads: Array,
    active: Array,
    interval_s: Array,
    switches_per_s: Array,
) -> Array:
    """Rows of the design matrix, one a set of conditions; columns as TERMS. half: see `warmth`."""
    scrapes, cold = 1.0 / interval_s, share(switches_per_s, half)  # a second
    columns = [scrapes, processes * scrapes, threads * scrapes, active * scrapes, cold * scrapes]
    return np.column_stack([*columns, switches_per_s, cold * switches_per_s])


def spread(values: Array, exact: bool) -> Interval:
    """Mean with its t interval over blocks; of perturbations median, least and greatest."""
    if not exact:
        return mean_interval(values)
    found = digits(np.asarray(values, dtype=np.float64))
    return Interval(found.median, found.low, found.high, found.n, RANGE if found.n else "no boot")


@dataclass(frozen=True)
class Fit:
    """A fitted collector. coefficients: a row a block, columns as TERMS; unit of cost as fitted.

    half: switches a second at which one in two finds the machine cold; 0: none ever does.
    """

    arm: str
    exact: bool
    blocks: tuple[int, ...]
    coefficients: Array
    left_out: tuple[str, ...] = ()  # terms that the plan did not vary: 0
    half: float = 0.0

    def term(self, name: str) -> Interval:
        """A coefficient over blocks (or perturbations)."""
        values = self.coefficients[:, TERMS.index(name)]
        found = spread(values, self.exact)
        rest = ROUNDING * float(np.abs(values).max(initial=0.0))
        if found.estimate is not None and abs(found.estimate) <= rest:  # moved to 0: `half_cold`
            return replace(found, estimate=0.0)
        return found

    def has(self, name: str) -> bool:
        """True for a term that the collector has."""
        return bool(self.coefficients[:, TERMS.index(name)].any())

    def of(self, blocks: Iterable[int]) -> Array:
        """The rows of these blocks."""
        return self.coefficients[[self.blocks.index(block) for block in blocks]]

    def each(self, where: Where) -> Array:
        """Cost per second, a value a block."""
        return self.coefficients @ where.terms(self.half)

    def at(self, where: Where) -> Interval:
        """Cost per second under these conditions."""
        return spread(self.each(where), self.exact)

    def middle(self, where: Where) -> float:
        """The one number that is foretold for these conditions."""
        return float(self.centre() @ where.terms(self.half))

    def centre(self) -> Array:
        """The coefficients that one number is foretold with: mean, or median of perturbations."""
        middle = np.median if self.exact else np.mean
        return np.asarray(middle(self.coefficients, axis=0), dtype=np.float64)


def design(cells: pd.DataFrame, half: float) -> Array:
    """The design matrix of cells."""
    return terms(half, *(cells[name].to_numpy(dtype=np.float64) for name in CONDITIONS))


def not_varied(points: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Terms that these design points cannot tell apart from the others."""
    each = list(points)
    return tuple(term for term, key in VARIED.items() if len({point[key] for point in each}) < 2)


def fit(
    arm: str,
    cells: pd.DataFrame,
    exact: bool,
    left_out: tuple[str, ...] = (),
    half: float = 0.0,
    calibrated: Mapping[int, tuple[float, float]] | None = None,
    hooked: bool = True,
) -> Fit | None:
    """The model of an arm's cells.

    half: see `Fit`; calibrated: per block, what a switch costs it warm, and more when cold; hooked:
    false where a switch costs nothing that its account could see.

    A block whose points cannot tell the terms apart, or without a calibration where there is one,
    is left out. None without a block.
    """
    column = "cost" if calibrated is None else "reader"
    gone = {*left_out, *(COLD if half == 0 else ("per_cold_switch",))}
    if calibrated is not None or not hooked:
        gone |= {"per_switch"}
        left_out = tuple(term for term in left_out if term != "per_switch")
    means = cells.groupby("point")[[*CONDITIONS, column]].mean()
    positive = means[column][means[column] > 0]
    if positive.empty:
        return None
    weights = 1.0 / means[column].clip(lower=float(positive.min()))  # noise can take one below 0
    allowed = [n for n, term in enumerate(TERMS) if term not in gone]
    whole = np.zeros(len(TERMS))
    x, size = _scaled(means, weights, half)
    whole[allowed] = nnls(x[:, allowed], _column(means, column) * weights.to_numpy(float))[0]
    kept = np.flatnonzero(whole > 0)
    found: dict[int, Array] = {}
    for block, rows in cells.groupby("block"):
        number = int(str(block))
        w = weights.loc[rows["point"]]
        x, size = _scaled(rows, w, half)
        y = _column(rows, column) * w.to_numpy(dtype=np.float64)
        solved, _, rank, _ = np.linalg.lstsq(x[:, kept], y, rcond=None)
        if calibrated is not None and number not in calibrated:
            continue
        if rank == len(kept) and len(rows) >= len(allowed):
            coefficients = np.zeros(len(TERMS))
            coefficients[kept] = solved / size[kept]
            if calibrated is not None:
                coefficients[SWITCH : SWITCH + 2] = calibrated[number]
            found[number] = coefficients
    if not found:
        return None
    return Fit(arm, exact, tuple(found), np.array(list(found.values())), left_out, half)


def _column(frame: pd.DataFrame, name: str) -> Array:
    return frame[name].to_numpy(dtype=np.float64)


def _scaled(frame: pd.DataFrame, weights: pd.Series[float], half: float) -> tuple[Array, Array]:
    """The weighted design matrix with columns of length 1, and their lengths."""
    x = design(frame, half) * weights.to_numpy(dtype=np.float64)[:, None]
    size = np.linalg.norm(x, axis=0)
    size[size == 0] = 1.0
    return x / size, size


def foretold(fitted: Fit, cells: pd.DataFrame) -> pd.DataFrame:
    """Index point; columns measured and fitted (cost per second), error (fitted / measured - 1),
    reader_error (the same of what the reader's own clock says) and half_width (of the interval of
    the fitted cost, as a share of it; NaN without one).

    The measured cost is the middle over blocks (mean, or median of perturbations), the fitted one
    that of the centre at the point's mean conditions. error is NaN where nothing was measured.
    Where a switch is calibrated, the calibration is in both costs: there the error is what the
    reader adds to it, and how sure the calibration is, the half width says.
    """
    grouped = cells.groupby("point")
    made = grouped[list(CONDITIONS)].mean()
    made["fitted"] = design(made, fitted.half) @ fitted.centre()
    made["measured"] = grouped["cost"].median() if fitted.exact else grouped["cost"].mean()
    made["error"] = made["fitted"] / made["measured"].where(made["measured"] > 0) - 1
    reader, x = grouped["reader"].mean(), design(made, fitted.half)
    own = x[:, :SWITCH] @ fitted.centre()[:SWITCH]
    made["reader_error"] = np.nan if fitted.exact else own / reader.where(reader > 0) - 1
    ends = [spread(values, fitted.exact) for values in x @ fitted.coefficients.T]
    made["half_width"] = [
        np.nan if e.low is None or e.high is None or not e.estimate
        else (e.high - e.low) / 2 / abs(e.estimate)
        for e in ends
    ]  # fmt: skip
    return made[["measured", "fitted", "error", "reader_error", "half_width"]]


def median_error(errors: pd.Series[float]) -> float | None:
    """Median of |error| over points; None without one."""
    found = errors.dropna().abs()
    return float(found.median()) if len(found) else None
