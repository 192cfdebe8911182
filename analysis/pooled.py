"""One value an arm from each of several units, sessions or machines: ratio, difference, verdict.

Literature: see `statistics.intervals` (Fieller 1954; Student 1908) and `contrasts`; why the unit is
the highest level that was repeated is said in `sessions`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from analysis.contrasts import DIFFERENCE_MARGIN, RATIO_MARGIN
from analysis.statistics.intervals import Interval, fieller, is_constant, mean_interval
from analysis.statistics.permutation import ALPHA, holm
from analysis.statistics.power import POWER
from analysis.statistics.types import Array


def over_means(x: Array, y: Array, family: int) -> dict[str, Any]:
    """Contrast of two arms over the units' means, in percent of one core.

    Keys ratio, difference, numerator, denominator (Interval), p (Student's test that the mean
    difference is zero; None without a spread), detectable (with 80 % power, at alpha / family).
    """
    differences = x - y
    n = len(differences)
    p = detectable = None
    if n > 1 and not is_constant(differences):
        p = float(stats.ttest_1samp(differences, 0.0).pvalue)
        factor = float(stats.t.ppf(1 - ALPHA / (2 * family), n - 1) + stats.t.ppf(POWER, n - 1))
        detectable = factor * float(np.std(differences, ddof=1)) / math.sqrt(n)
    return {
        "ratio": fieller(x, y, skewed=False),  # a skew cannot be told from a few means
        "difference": mean_interval(differences),
        "numerator": mean_interval(x),
        "denominator": mean_interval(y),
        "p": p,
        "detectable": detectable,
    }


def decide(pooled: Sequence[dict[str, Any] | None], unit: str) -> None:
    """Add p_adjusted (Holm over all of them), verdict and why to each; unit in the plural."""
    adjusted = holm([entry["p"] if entry else None for entry in pooled])
    for entry, p in zip(pooled, adjusted, strict=True):
        if entry is not None:
            word, why = _verdict(entry["ratio"], entry["difference"], p, entry["detectable"], unit)
            entry |= {"p_adjusted": p, "verdict": word, "why": why}


def _verdict(
    ratio: Interval, difference: Interval, p: float | None, smallest: float | None, unit: str
) -> tuple[str, str]:
    if ratio.inside(*RATIO_MARGIN):
        return "indistinguishable", "the interval of the ratio lies inside 0.9 to 1.1"
    if difference.inside(-DIFFERENCE_MARGIN, DIFFERENCE_MARGIN):
        return "indistinguishable", "the interval of the difference lies within ±0.005 % of a core"
    if p is None:
        return "undetermined", f"the {unit}' differences have no spread to judge by"
    if p < ALPHA and difference.estimate:
        return ("dearer" if difference.estimate > 0 else "cheaper"), f"adjusted p = {p:.2g}"
    return "undetermined", f"adjusted p = {p:.2g}; smallest detectable effect " + (
        "unknown" if smallest is None else f"{smallest:.2g} % of a core"
    )
