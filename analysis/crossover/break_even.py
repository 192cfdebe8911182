"""Where two collectors cost the same: a rate of context switches, and how sure it is.

With the model of each, S0 as in `warmth`, a scrape of fixed + per_process P + per_thread T +
per_active A, and differences of the two throughout, times S0 + S what they differ by is

    per_switch S^2 + (scrape / interval + S0 (per_switch + per_cold_switch)) S
                   + S0 (scrape + per_cold_scrape) / interval

and they meet at its greatest root: S* = scrape / interval / per_switch where nothing is cold.  The
steeper one, a hook, is the cheaper below S*, which falls as the interval grows: a hook's cost does
not depend on it.

Band, live: the rates at which the t interval of the difference holds 0 (its mean squared is at
most t^2 times the variance of the mean: a polynomial of degree four).  For two straight lines that
is Fieller's interval of the abscissa where they meet.
    E. C. Fieller, J. R. Stat. Soc. B 16 (1954)
    J. J. Filliben, J. E. McKinney, "Confidence limits for the abscissa of intersection of two
        linear regressions", J. Res. Nat. Bur. Stand. 76B (1972): the same for two lines
It has no upper end where the two may not differ at any greater rate either.
Exact: the least and the greatest S* over perturbations; nothing is sampled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.crossover.model import RANGE, SWITCH, Fit, Where
from analysis.exact import digits
from analysis.statistics.intervals import ROUNDING, Interval, quantile
from analysis.statistics.types import Array

ENDLESS = 1e9  # switches a second that no machine makes: where growth is compared


@dataclass(frozen=True)
class Crossing:
    """Two collectors over the rate of switches.

    steeper, flatter: arms by what the rate adds to their cost. rate: 1/s at which they cost the
    same; its estimate is None where they do not meet, and `always` names the one that is cheaper at
    any rate. again: a lower rate below which the steeper one is the dearer again, if there is one.
    """

    steeper: str
    flatter: str
    rate: Interval
    always: str | None = None
    again: float | None = None


def _middle(values: Array, exact: bool) -> float:
    return float(np.median(values) if exact else np.mean(values))


def crossing(one: Fit, other: Fit, where: Where) -> Crossing:
    """Where the two meet under these conditions, whose rate is not looked at.

    Raises ValueError if the two share no block.
    """
    shared = [block for block in one.blocks if block in other.blocks]
    if not shared:
        raise ValueError(f"{one.arm} and {other.arm} share no block")
    rows, exact = one.of(shared) - other.of(shared), one.exact
    steeper, flatter = one.arm, other.arm
    each = polynomials(rows, where, one.half)
    growth = _apart(each, ENDLESS, one.half) - _apart(each, 1 / ENDLESS, one.half)
    if _middle(growth, exact) < 0:
        steeper, flatter, each = flatter, steeper, -each
    middle = np.array([_middle(column, exact) for column in each.T])
    size = max(float(np.abs(fit.of(shared)[:, SWITCH]).max()) for fit in (one, other))
    even = abs(middle[2]) <= ROUNDING * max(size, 1e-300)
    if even:
        middle[2] = 0.0
    found = roots(middle)
    if not found:
        cheaper = flatter if middle @ np.array([1.0, 1.0, 1.0]) > 0 else steeper
        note = "neither depends on the rate more than the other" if even else "cheaper at any rate"
        return Crossing(steeper, flatter, Interval(None, None, None, len(shared), note), cheaper)
    again = found[-2] if len(found) > 1 else None
    if exact:
        greatest = [max(roots(row), default=np.nan) for row in each]
        seen = digits(np.array(greatest, dtype=np.float64))
        rate = Interval(seen.median, seen.low, seen.high, seen.n, RANGE)
    else:
        rate = _band(each, found[-1])
    return Crossing(steeper, flatter, rate, None, again)


def _apart(each: Array, rate: float, half: float) -> Array:
    """The difference per second at a rate, a value a block."""
    made: Array = each @ np.array([1.0, rate, rate**2]) / (half + rate)
    return made


def polynomials(rows: Array, where: Where, half: float) -> Array:
    """(S0 + S) times the cost per second of these coefficients, a row each: of 1, S and S^2."""
    at = where.terms(half)
    scrape = rows[:, : SWITCH - 1] @ at[: SWITCH - 1]
    cold = rows[:, SWITCH - 1] / where.interval_s
    warm, more = rows[:, SWITCH], rows[:, SWITCH + 1]
    return np.column_stack([half * (scrape + cold), scrape + half * (warm + more), warm])


def roots(coefficients: Array) -> list[float]:
    """Real roots above 0 of a polynomial (of 1, x, x^2, ...) at which it changes its sign."""
    found = np.roots(np.trim_zeros(coefficients, "b")[::-1])
    real = sorted(float(r.real) for r in found if abs(r.imag) <= 1e-9 * abs(r) and r.real > 0)
    powers = np.arange(len(coefficients))
    # between two roots, and beyond the last, the sign is that of any place there
    if not real:
        return []
    places = [real[0] / 2, *np.sqrt(np.multiply(real[:-1], real[1:])), real[-1] * 2]
    signs = [np.sign(coefficients @ place**powers) for place in places]
    return [r for r, below, above in zip(real, signs, signs[1:], strict=False) if below != above]


def _band(each: Array, estimate: float) -> Interval:
    """The rates around the estimate at which the t interval of the difference holds 0."""
    n = len(each)
    if n == 1:
        return Interval(estimate, None, None, 1, "one block: no interval")
    scaled = each * estimate ** np.arange(3)  # of rates in units of the estimate
    scaled = scaled / np.abs(scaled).max()
    mean, spread = scaled.mean(axis=0), np.cov(scaled.T, ddof=1) / n
    if np.abs(spread).max() <= ROUNDING**2:
        return Interval(estimate, estimate, estimate, n, "the same in each block: no spread")
    inner = np.outer(mean, mean) - quantile(n) ** 2 * spread
    quartic = np.array([np.trace(inner[::-1], offset=k - 2) for k in range(5)])
    ends = roots(quartic)
    low = max((r for r in ends if r < 1), default=0.0)
    high = min((r for r in ends if r > 1), default=None)
    note = "" if high is not None else "the difference per switch is not clearly above zero"
    return Interval(estimate, low * estimate, None if high is None else high * estimate, n, note)
