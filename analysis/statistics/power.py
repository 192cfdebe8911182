"""The effect that a number of blocks can detect with the exact sign-flip test.

Literature
    R. A. Fisher, "The design of experiments" (1935), ch. 3: the test; with n blocks its p are
        multiples of 2 / 2^n only.
    E. L. Lehmann, J. P. Romano, "Testing statistical hypotheses" (2005), sec. 15.2: with many
    blocks
        the permutation test has the power of the t test, which is exact by the noncentral t.

That holds where the test can use its level.  With few blocks it cannot: of the 2^(n-1) pairs of
sign patterns only K lie below alpha / m (Holm's strictest step for m contrasts), so that the level
in use is K / 2^(n-1).  Where K = 1, as for one contrast and 6 blocks or six contrasts and 8, p
falls below it only if all differences have one sign, which for normal differences of mean e and
standard deviation s has probability Phi(e / s)^n: that, too, is exact.  In between the two are
interpolated on a log scale with weight K^-1.5 for the second; docs/validation.md shows the power
that results.
"""

from __future__ import annotations

import math
from functools import cache

from scipy import optimize, stats

from analysis.statistics.permutation import ALPHA, EXACT_UP_TO, smallest_p

POWER = 0.8


def attainable_level(n: int, family: int = 1, alpha: float = ALPHA) -> float | None:
    """The largest p of n blocks below alpha / family; None if there is none.

    With more blocks than are counted out exactly the step is so small that the level itself is it.
    """
    if n < 1 or smallest_p(n) * family >= alpha:
        return None
    if n > EXACT_UP_TO:
        return alpha / family
    pairs = 2 ** (n - 1)
    return float((math.ceil(alpha / family * pairs) - 1) / pairs)


@cache
def detectable_factor(n: int, family: int = 1, power: float = POWER) -> float | None:
    """Smallest true mean difference found with that power, in its sd over blocks; None: none is."""
    level = attainable_level(n, family)
    if level is None or n < 2:
        return None
    critical = float(stats.t.ppf(1 - level / 2, n - 1))
    root = math.sqrt(n)

    def short_of(effect: float) -> float:
        return float(stats.nct.sf(critical, n - 1, effect * root)) - power

    by_t = float(optimize.brentq(short_of, 0.0, (critical + 5) / root))
    if n > EXACT_UP_TO:
        return by_t
    one_sign = float(stats.norm.ppf(power ** (1 / n)))
    weight = float(level * 2 ** (n - 1)) ** -1.5
    return float(by_t ** (1 - weight) * one_sign**weight)
