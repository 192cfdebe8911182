"""Where two collectors cost the same: a rate of context switches, and how sure it is.

With the model of each, and the steeper one's coefficient per switch the greater,

    S* = (scrape of the flatter - scrape of the steeper) / interval / (difference per switch)

where a scrape is fixed + per_process P + per_thread T + per_active A.  The steeper one, a hook, is
the cheaper below S*.  S* falls with the interval as 1 / interval: a hook's cost does not.

Band, live: the abscissa of the intersection of two fitted lines is a ratio of two estimates, and
its interval is Fieller's, over the pairs of numerator and denominator that the blocks give.
    E. C. Fieller, J. R. Stat. Soc. B 16 (1954)
    J. J. Filliben, J. E. McKinney, "Confidence limits for the abscissa of intersection of two
        linear regressions", J. Res. Nat. Bur. Stand. 76B (1972): the same for two lines
It has no upper end where the difference per switch is not clearly above zero.
Exact: the least and the greatest S* over perturbations; nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from analysis.crossover.model import RANGE, TERMS, Fit, Where
from analysis.exact import digits
from analysis.statistics.intervals import ROUNDING, Interval, fieller
from analysis.statistics.types import Array

SWITCH = TERMS.index("per_switch")
Region = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Crossing:
    """Two collectors over the rate of switches.

    steeper, flatter: arms by their cost per switch. rate: 1/s at which they cost the same; its
    estimate is None where they do not meet, and `always` names the one that is cheaper at any rate.
    """

    steeper: str
    flatter: str
    rate: Interval
    always: str | None = None


def _middle(values: Array, exact: bool) -> float:
    return float(np.median(values) if exact else np.mean(values))


def crossing(one: Fit, other: Fit, where: Where) -> Crossing:
    """Where the two meet under these conditions, whose rate is not looked at.

    Raises ValueError if the two share no block.
    """
    shared = [block for block in one.blocks if block in other.blocks]
    if not shared:
        raise ValueError(f"{one.arm} and {other.arm} share no block")
    apart = _rows(one, shared) - _rows(other, shared)
    exact = one.exact
    steeper, flatter = one.arm, other.arm
    if _middle(apart[:, SWITCH], exact) < 0:
        steeper, flatter, apart = flatter, steeper, -apart
    slope = apart[:, SWITCH]
    ahead = -apart @ replace(where, switches_per_s=0.0).terms()  # per second; of the steeper one
    size = float(np.abs(_rows(one, shared)[:, SWITCH]).max())
    if _middle(slope, exact) <= ROUNDING * max(size, 1e-300):
        cheaper = steeper if _middle(ahead, exact) > 0 else flatter
        note = "neither depends on the rate more than the other"
        return Crossing(steeper, flatter, Interval(None, None, None, len(shared), note), cheaper)
    if _middle(ahead, exact) <= 0:
        note = "cheaper at any rate"
        return Crossing(steeper, flatter, Interval(None, None, None, len(shared), note), flatter)
    if exact:
        found = digits(np.where(slope > 0, ahead / np.where(slope > 0, slope, 1.0), np.nan))
        rate = Interval(found.median, found.low, found.high, found.n, RANGE)
    else:
        rate = fieller(ahead, slope)
        if rate.low is not None and rate.low < 0:  # the steeper may be the dearer at any rate
            rate = replace(rate, low=0.0)
    return Crossing(steeper, flatter, rate)


def _rows(fit: Fit, blocks: list[int]) -> Array:
    return fit.coefficients[[fit.blocks.index(block) for block in blocks]]


def outside(region: Region, where: Where) -> list[str]:
    """Conditions that lie beyond what was measured, by name; empty if none."""
    values = {
        "processes": where.processes,
        "threads": where.threads,
        "switches_per_s": where.switches_per_s,
        "active_tasks": where.active,
        "interval_s": where.interval_s,
    }
    slack = 1 + 1e-6
    return [
        name
        for name, value in values.items()
        if not region[name][0] / slack <= value <= region[name][1] * slack
    ]
