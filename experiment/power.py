"""What a plan can decide: smallest p, smallest effect and the blocks that a precision needs.

The unit of inference is the block; contrasts are paired by block.

Literature:
    Fisher, *The Design of Experiments* (1935), ch. 3: the sign-flip permutation test of paired
        differences. All 2**n sign patterns are equally likely under the null hypothesis; the
        two-sided p cannot be smaller than the two most extreme patterns, 2 / 2**n.
    Holm, Scand. J. Statist. 6 (1979) 65-70: the smallest of m p-values is multiplied by m.
    Cochran and Cox, *Experimental Designs* (1957), sec. 2.2: n pairs detect a difference of
        (t[1 - alpha/2] + t[power]) * sd / sqrt(n), with t on n - 1 degrees of freedom.
    Fieller, J. R. Stat. Soc. B 16 (1954) 175-185: the interval of a ratio of means.
    Hill, Comm. ACM 13 (1970) 619-620, algorithm 396: quantiles of Student's t.

With few blocks the test cannot use its level: only K of the 2**(n - 1) pairs of patterns lie below
alpha / m. Where K = 1 all differences must have one sign, with probability Phi(effect / sd)**n;
between that and the t formula at the level in use, K / 2**(n - 1), the effect is interpolated with
weight K**-1.5, as in the analysis; docs/validation.md shows the power that results.
"""

from __future__ import annotations

import math
from statistics import NormalDist

ALPHA = 0.05
POWER = 0.8


def smallest_p(blocks: int) -> float:
    """Smallest two-sided p of an exact sign-flip test of that many pairs."""
    return min(1.0, 2.0 / 2.0**blocks)


def smallest_adjusted_p(blocks: int, contrasts: int) -> float | None:
    """Smallest p after Holm's correction; None when no contrast is declared."""
    if contrasts == 0:
        return None
    return min(1.0, contrasts * smallest_p(blocks))


def t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t, for a probability of at least one half.

    Exact for 1 and 2 degrees of freedom, Hill's expansion above (relative error below 0.1 %).
    """
    if not 0.5 <= probability < 1 or degrees < 1:
        raise ValueError(f"no t quantile for probability {probability}, degrees {degrees}")
    tail = 2 * (1 - probability)
    if degrees == 1:
        return math.tan(math.pi * (probability - 0.5))
    if degrees == 2:
        return math.sqrt(2 / (tail * (2 - tail)) - 2)
    n = float(degrees)
    a = 1 / (n - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * n
    y = (d * tail) ** (2 / n)
    if y > 0.05 + a:
        x = NormalDist().inv_cdf(tail / 2)
        y = x * x
        if degrees < 5:
            c += 0.3 * (n - 4.5) * (x + 0.6)
        c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        y = math.expm1(a * y * y)
    else:
        y = (
            (1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1
        ) * (n + 1) / (n + 2) + 1 / y
    return math.sqrt(n * y)


def smallest_effect(sd: float, blocks: int, contrasts: int) -> float | None:
    """Smallest difference found with 80 % power, in the unit of ``sd``.

    ``sd`` is the sample standard deviation of the paired differences, from a pilot. The level is
    Holm's strictest, alpha / m. None when the exact test cannot reach that level at all.
    """
    p = smallest_adjusted_p(blocks, contrasts)
    if p is None or p >= ALPHA or blocks < 2:
        return None
    pairs = 2.0 ** (blocks - 1)
    below = math.ceil(ALPHA / contrasts * pairs) - 1
    reach = t_quantile(1 - below / pairs / 2, blocks - 1) + t_quantile(POWER, blocks - 1)
    one_sign = NormalDist().inv_cdf(POWER ** (1 / blocks))
    weight = float(below) ** -1.5
    return float((reach / math.sqrt(blocks)) ** (1 - weight) * one_sign**weight * sd)


def relative_spread(cv_numerator: float, cv_denominator: float, correlation: float) -> float:
    """sd of a ratio of two costs in one block, to first order, as a share of the ratio."""
    x, y = cv_numerator, cv_denominator
    return math.sqrt(max(0.0, x * x + y * y - 2 * correlation * x * y))


def ratio_half_width(
    cv_numerator: float, cv_denominator: float, correlation: float, blocks: int
) -> float | None:
    """Half-width of Fieller's 95 % interval of a ratio of means, as a share of the ratio.

    Fieller's quadratic with its moments in units of the means: with u = t^2 / n, a = 1 - u cv_y^2,
    b = 1 - u r cv_x cv_y, c = 1 - u cv_x^2, the half-width is sqrt(b^2 - a c) / a. None where a is
    not above zero: the denominator is not clearly above zero and the interval has no upper end.
    """
    if blocks < 2:
        return None
    u = t_quantile(1 - ALPHA / 2, blocks - 1) ** 2 / blocks
    a = 1 - u * cv_denominator**2
    if a <= 0:
        return None
    b = 1 - u * correlation * cv_numerator * cv_denominator
    c = 1 - u * cv_numerator**2
    return math.sqrt(max(0.0, b * b - a * c)) / a


def blocks_for_half_width(
    cv_numerator: float,
    cv_denominator: float,
    correlation: float,
    half_width: float,
    *,
    limit: int = 1000,
) -> int | None:
    """Fewest blocks for that half-width of the ratio's 95 % interval, as a share of the ratio.

    The spreads are a pilot's; the interval comes out wider than forecast about as often as
    narrower. None when ``limit`` blocks do not do.
    """
    for blocks in range(2, limit + 1):
        reached = ratio_half_width(cv_numerator, cv_denominator, correlation, blocks)
        if reached is not None and reached <= half_width:
            return blocks
    return None
