"""How far a studentised mean strays when the blocks are few and their noise is skewed.

Literature
    N. J. Johnson, "Modified t tests and confidence intervals for asymmetrical populations", JASA 73
        (1978): a skew shifts the t statistic by the skewness over sqrt(n).
    P. Hall, "On the removal of skewness by transformation", J. R. Stat. Soc. B 54 (1992): the cubic
        that removes the first term of that shift, is monotone and has a closed inverse.
    X.-H. Zhou, S. Gao, "One-sided confidence intervals for means of positively skewed
        distributions", Am. Stat. 54 (2000): it helps most on the side of the skew.

T = (mean - truth) / (s / sqrt(n)).  With a = skewness / sqrt(n), Hall's g(T) = ((1 + a T / 3)^3 -
1) / a + a / 6 is nearly symmetric again, so that g(T) = +-t gives quantiles of T that follow the
skew.

The correction shortens the interval on the other side, and an estimated skewness of few symmetric
values, outliers among them, makes it too short there.  So either end takes the longer of Student's
and Hall's: the interval is widened on the side of the skew and nowhere shortened.  It is widened up
to |T| = 3 / |a|, the point where the cubic is flat: beyond, its slope grows again, and with it one
outlying value among a dozen would set an end anywhere.  What the widening buys and costs is in
docs/validation.md, for every cell.
"""

from __future__ import annotations

import numpy as np

from analysis.statistics.types import Array


def pivot_quantiles(residuals: Array, t: float) -> tuple[Array, Array]:
    """Lower and upper quantile of T, for values along the last axis; t: Student's two-sided one.

    Returns two arrays of the leading shape, at most -t and at least t. Constant values give -t, t.
    """
    n = residuals.shape[-1]
    centred = residuals - residuals.mean(axis=-1, keepdims=True)
    scale = np.max(np.abs(centred), axis=-1, keepdims=True)
    centred = centred / np.where(scale > 0, scale, 1.0)
    second, third = (centred**2).mean(axis=-1), (centred**3).mean(axis=-1)
    skewness = third / np.where(second > 0, second, 1.0) ** 1.5
    a = skewness / np.sqrt(n)
    flat = np.abs(a) < 1e-6  # there the cubic is the identity to 1e-6, and its inverse 0 / 0
    safe = np.where(flat, 1.0, a)

    def inverse(y: float) -> Array:
        return np.where(flat, y, 3 / safe * (np.cbrt(1 + safe * (y - safe / 6)) - 1))

    most = np.maximum(3 / np.abs(safe), t)
    return np.clip(inverse(-t), -most, -t), np.clip(inverse(t), t, most)
