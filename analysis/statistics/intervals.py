"""Interval estimates of means, and of the ratio of two means measured in the same blocks.

Literature
    Student, "The probable error of a mean", Biometrika 6 (1908): the t interval.
    E. C. Fieller, "Some problems in interval estimation", J. R. Stat. Soc. B 16 (1954): the ratio.
    V. H. Franz, "Ratios: a short guide to confidence limits and proper use", arXiv:0710.2024
        (2007): when Fieller's set is unbounded, and why the ratio of means is taken, not the mean
        of ratios.
    T. Kalibera, R. Jones, "Rigorous benchmarking in reasonable time", ISMM (2013): ratios of means
        with Fieller intervals for systems work, and the repetition level as the unit of inference.
    J. T. G. Hwang, "Fieller's problems and resampling techniques", Stat. Sinica 5 (1995): Fieller's
        set with other quantiles of its pivot than Student's. Ours follow the skew: see `skewness`.

What few blocks do to a ratio.  With n blocks Fieller's set is bounded only while the mean of the
denominator is t(n-1) standard errors above zero, that is while its coefficient of variation (sd
over blocks / mean) stays below sqrt(n) / t(n-1): 0.11 for 2 blocks, 0.95 for 6, 1.57 for 12.
While it is bounded its half-width is about t(n-1) / sqrt(n) = 9.0, 1.05
and 0.64 times sqrt(cv_x^2 + cv_y^2 - 2 r cv_x cv_y), relative to the ratio: two blocks say next to
nothing, and going from 6 to 12 gains a factor of 1.65.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import stats

from analysis.statistics.skewness import pivot_quantiles
from analysis.statistics.types import Array

CONFIDENCE = 0.95
# Two numbers computed on different ways from the same nanoseconds differ by rounding only: 53 bits
# leave 1e-16, sums over a few hundred blocks lose three digits of it.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Interval:
    """An estimate and its interval, in the input's unit. None: cannot be stated, see note."""

    estimate: float | None
    low: float | None
    high: float | None
    n: int
    note: str = ""

    def scaled(self, factor: float) -> Interval:
        """The same in another unit."""
        estimate, low, high = (
            None if v is None else v * factor for v in (self.estimate, self.low, self.high)
        )
        return Interval(estimate, low, high, self.n, self.note)

    def inside(self, low: float, high: float) -> bool:
        """True if the whole interval is known and lies in [low, high]."""
        return (
            self.low is not None and self.high is not None and low <= self.low <= self.high <= high
        )


@cache
def quantile(n: int, level: float = CONFIDENCE) -> float:
    """Two-sided t quantile for n blocks: 12.71 for 2, 2.57 for 6, 2.20 for 12 at 95 %."""
    return float(stats.t.ppf(0.5 + level / 2, n - 1))


def is_constant(values: Array) -> bool:
    """True if the values differ by rounding only."""
    return bool(np.ptp(values) <= ROUNDING * np.max(np.abs(values))) if len(values) else True


def mean_interval(values: Array, level: float = CONFIDENCE) -> Interval:
    """Mean of one value a block with its t interval.

    One block, or none, has no interval. Constant values have one of no width, and the note says
    that this is a lack of resolution, not certainty.
    """
    n = len(values)
    if n == 0:
        return Interval(None, None, None, 0, "no valid block")
    mean = float(np.mean(values))
    if n == 1:
        return Interval(mean, None, None, 1, "one block: no interval")
    if is_constant(values):
        return Interval(mean, mean, mean, n, "constant over the blocks: no spread to estimate from")
    half = quantile(n, level) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def skewed_mean_interval(values: Array, level: float = CONFIDENCE) -> Interval:
    """The t interval of a mean, widened on the side of the values' skew (see `skewness`)."""
    plain = mean_interval(values, level)
    if plain.low is None or plain.low == plain.high or plain.estimate is None:
        return plain
    lower, upper = pivot_quantiles(values, quantile(len(values), level))
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    mean = plain.estimate
    return Interval(mean, mean - float(upper) * error, mean - float(lower) * error, plain.n)


def _bounds(q: float, ratio: float, cov: Array) -> tuple[float | None, float | None]:
    """Ends of Fieller's set for one quantile; None: no such end. See `fieller`."""
    a = 1.0 - q * q * float(cov[1, 1])
    b = ratio - q * q * float(cov[0, 1])
    c = ratio * ratio - q * q * float(cov[0, 0])
    root = math.sqrt(max(b * b - a * c, 0.0))
    if a > ROUNDING:
        return (b - root) / a, (b + root) / a
    if a < -ROUNDING and b * b - a * c > 0:
        ends = sorted([(b - root) / a, (b + root) / a])
        if ends[0] <= 0 < ends[1]:
            return ends[1], None
    return None, None


def fieller(x: Array, y: Array, level: float = CONFIDENCE, skewed: bool = True) -> Interval:
    """Ratio mean(x) / mean(y) of paired values (one pair a block) with Fieller's interval.

    The set {r : (mx - r my)^2 <= q^2 (vxx - 2 r vxy + r^2 vyy)}, v the (co)variances of the means
    and q a quantile of the pivot, is a r^2 - 2 b r + c <= 0 with a = my^2 - q^2 vyy, b = mx my -
    q^2 vxy, c = mx^2 - q^2 vxx.  For a > 0 it is an interval.  For a <= 0 the denominator is not
    clearly above zero and the set has no upper end: costs being positive, a lower end is stated
    where only one branch of the set is positive.

    Its lower end takes the pivot's upper quantile and its upper end the lower one. They are
    Student's t with n-1 degrees of freedom, or beyond it where x - ratio y is skewed; `skewed`
    False: Student's alone, the plain interval.
    """
    n = len(x)
    if n != len(y):
        raise ValueError("fieller needs pairs")
    if n == 0:
        return Interval(None, None, None, 0, "no valid block")
    mx, my = float(np.mean(x)), float(np.mean(y))
    scale = float(max(np.max(np.abs(x)), np.max(np.abs(y))))
    if my <= ROUNDING * scale:
        return Interval(None, None, None, n, "denominator is not above zero: no ratio")
    ratio = mx / my
    if n == 1:
        return Interval(ratio, None, None, 1, "one block: no interval")
    residual = x - ratio * y
    if np.max(np.abs(residual)) <= ROUNDING * scale * max(1.0, abs(ratio)):
        return Interval(ratio, ratio, ratio, n, "the same ratio in each block: no spread")
    t = quantile(n, level)
    lower, upper = (float(q) for q in pivot_quantiles(residual, t)) if skewed else (-t, t)
    # In units of the denominator's mean, which keeps the quadratic well conditioned at any scale.
    cov = np.cov(x / my, y / my, ddof=1) / n
    low, high = _bounds(upper, ratio, cov)[0], _bounds(-lower, ratio, cov)[1]
    if low is not None and high is not None:
        return Interval(ratio, low, high, n)
    note = "denominator is not clearly above zero: the ratio has no upper bound"
    return Interval(ratio, _bounds(max(upper, -lower), ratio, cov)[0], None, n, note)
