"""The intervals of `intervals` and the verdict's guards for many samples at once.

A twin of the scalar functions, for simulations: samples are rows, blocks columns.  That the twin
says the same as `stated_ratio`, `fieller` and `skewed_mean_interval`, note by note, is a test over
random inputs (tests/analysis/test_batch.py); only what has no interval is told less finely, as NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.contrasts import INTERVAL_BLOCKS, WIDE_BLOCKS, WIDE_SPREAD
from analysis.statistics.intervals import ROUNDING, quantile
from analysis.statistics.skewness import pivot_quantiles
from analysis.statistics.types import Array


@dataclass(frozen=True)
class Ends:
    """Ends of intervals, one a sample: NaN where none is stated, infinity for no upper end."""

    low: Array
    high: Array

    @property
    def stated(self) -> Array:
        """1 where any interval is stated, else 0."""
        return np.isfinite(self.low).astype(float)

    def cover(self, truth: float) -> Array:
        """1 where the truth lies in the stated interval, else 0."""
        return ((self.low <= truth) & (truth <= self.high)).astype(float)

    def inside(self, low: float, high: float) -> Array:
        """1 where the whole stated interval lies between the two, else 0."""
        return ((self.low >= low) & (self.high <= high)).astype(float)


def means(values: Array, skewed: bool = True) -> Ends:
    """`skewed_mean_interval` of each row, or `mean_interval`; rows of two blocks or more."""
    n = values.shape[1]
    t = quantile(n)
    lower, upper = pivot_quantiles(values, t) if skewed else (-t, t)
    error = values.std(axis=1, ddof=1) / np.sqrt(n)
    mean = values.mean(axis=1)
    return Ends(mean - upper * error, mean - lower * error)


def ratios(x: Array, y: Array, skewed: bool = True) -> Ends:
    """`fieller` of each pair of rows; rows of two blocks or more, not constant."""
    n = x.shape[1]
    mx, my = x.mean(axis=1), y.mean(axis=1)
    positive = my > ROUNDING * np.maximum(np.abs(x).max(axis=1), np.abs(y).max(axis=1))
    my = np.where(positive, my, 1.0)
    ratio = mx / my
    t = quantile(n)
    lower, upper = -t * np.ones_like(mx), t * np.ones_like(mx)
    if skewed:
        lower, upper = pivot_quantiles(x - ratio[:, None] * y, t)
    u, v = (x - mx[:, None]) / my[:, None], (y - y.mean(axis=1)[:, None]) / my[:, None]
    vxx, vxy, vyy = ((p * q).sum(axis=1) / (n - 1) / n for p, q in ((u, u), (u, v), (v, v)))

    def bounds(q: Array) -> tuple[Array, Array]:
        a, b, c = 1 - q * q * vyy, ratio - q * q * vxy, ratio * ratio - q * q * vxx
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        safe = np.where(np.abs(a) > ROUNDING, a, 1.0)
        first, second = (b - root) / safe, (b + root) / safe
        branch = (a < -ROUNDING) & (b * b > a * c)
        ends = np.minimum(first, second), np.maximum(first, second)
        branch &= (ends[0] <= 0) & (ends[1] > 0)
        low = np.where(a > ROUNDING, first, np.where(branch, ends[1], np.nan))
        return low, np.where(a > ROUNDING, second, np.nan)

    low, high = bounds(upper)[0], bounds(-lower)[1]
    bounded = ~np.isnan(low) & ~np.isnan(high)
    open_low = bounds(np.maximum(upper, -lower))[0]
    low = np.where(positive, np.where(bounded, low, open_low), np.nan)
    return Ends(low, np.where(np.isnan(low), np.nan, np.where(bounded, high, np.inf)))


def spreads(x: Array, y: Array) -> Array:
    """`widest_spread` of each pair of rows; NaN where there is none."""
    means = x.mean(axis=1), y.mean(axis=1)
    positive = (means[0] > 0) & (means[1] > 0)
    made: Array = np.maximum(
        *(
            v.std(axis=1, ddof=1) / np.where(positive, m, np.nan)
            for v, m in zip((x, y), means, strict=True)
        )
    )
    return made


def stated_ratios(x: Array, y: Array) -> Ends:
    """`stated_ratio` of each pair of rows: NaN where the spread is beyond what was validated."""
    found, n = ratios(x, y), x.shape[1]
    if n >= WIDE_BLOCKS:
        return found
    hidden = spreads(x, y) >= WIDE_SPREAD
    return Ends(np.where(hidden, np.nan, found.low), np.where(hidden, np.nan, found.high))


def indistinguishable(ratio: Ends, margin: tuple[float, float], n: int) -> Array:
    """1 where the ratio's interval alone makes the verdict `indistinguishable`, else 0."""
    return ratio.inside(*margin) * (n >= INTERVAL_BLOCKS)
