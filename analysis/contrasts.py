"""Declared contrasts of two arms, and their verdicts.

Literature: see `intervals` (Student 1908; Fieller 1954; Franz 2007; Kalibera & Jones 2013),
`skewness` (Hall 1992), `permutation` (Fisher 1935; Holm 1979), `power`, and
    D. J. Schuirmann, "A comparison of the two one-sided tests procedure...", J. Pharmacokin.
        Biopharm. 15 (1987): equivalence by an interval inside margins. With a 95 % interval each of
        the two one-sided tests is at 2.5 %, stricter than the customary 5 %.
    J. M. Hoenig, D. M. Heisey, "The abuse of power", Am. Stat. 55 (2001): why an undecided contrast
        is answered with the effect the design could detect, never with observed power.

The block is the unit: x_b and y_b come from the same block, and a block in which either arm lacks a
valid row is dropped as a pair and counted.  What drifts from block to block cancels.  Net of the
null agent the difference and hence p are the same, only the ratio differs: one p a contrast, and
Holm's family is the declared contrasts under their own method (headline with statistics off, the
articles' method with statistics on).

Margins (design rules of the study): a ratio inside 0.9-1.1 or a difference within 0.005 % of a
core, half of what a process that only sleeps costs at one scrape a second (0.011 %).

What an interval is good for was simulated (docs/validation.md, `./study validate`).  Where it did
not keep its word it is not stated: with fewer than INTERVAL_BLOCKS blocks no two arms are called
indistinguishable, and where either arm's spread over blocks reaches WIDE_SPREAD of its mean the
ratio is undetermined below WIDE_BLOCKS blocks.  Cheaper and dearer rest on the permutation test,
which kept its level in every cell, and need no such guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.fidelity import failed, fidelity
from analysis.levels import of_entry
from analysis.measures import Measures
from analysis.statistics.intervals import (
    Interval,
    fieller,
    is_constant,
    mean_interval,
    skewed_mean_interval,
)
from analysis.statistics.permutation import ALPHA, blocks_needed, holm, sign_flip_p, smallest_p
from analysis.statistics.power import detectable_factor
from analysis.statistics.types import Array

RATIO_MARGIN = (0.9, 1.1)
DIFFERENCE_MARGIN = 0.005  # percent of one core
# From docs/validation.md: fewest blocks whose intervals were validated, and the spread from which
# on a skewed noise takes more of them.
INTERVAL_BLOCKS = 4
WIDE_SPREAD, WIDE_BLOCKS = 1.0, 20


BESIDE = ("headline", "headline_net", "headline_hot", "agent", "published")


@dataclass(frozen=True)
class Comparison:
    """Two arms in the same blocks. Means and difference in the measure's unit; p is unadjusted."""

    blocks: tuple[int, ...]
    dropped: int
    numerator: Interval
    denominator: Interval
    difference: Interval
    ratio: Interval
    p: float | None
    detectable: float | None


def detectable_effect(differences: Array, family: int = 1) -> float | None:
    """Smallest true difference found with 80 % power, in the differences' unit.

    The factor of `power` times their standard deviation, at Holm's strictest level alpha/m. None if
    n blocks cannot reach that level, or have no spread.
    """
    factor = detectable_factor(len(differences), family)
    if factor is None or is_constant(differences):
        return None
    return factor * float(np.std(differences, ddof=1))


def widest_spread(x: Array, y: Array) -> float | None:
    """Larger of the two arms' sample sd / mean over blocks; None where a mean is not above zero."""
    means = float(np.mean(x)), float(np.mean(y))
    if len(x) < 2 or min(means) <= 0:
        return None
    return max(float(np.std(v, ddof=1)) / m for v, m in zip((x, y), means, strict=True))


def stated_ratio(x: Array, y: Array) -> Interval:
    """Fieller's interval where it was validated; else the estimate, and what would be needed."""
    found = fieller(x, y)
    wide = widest_spread(x, y)
    if found.low is None and found.high is None:
        return found
    if wide is None or wide < WIDE_SPREAD or len(x) >= WIDE_BLOCKS:
        return found
    return Interval(
        found.estimate,
        None,
        None,
        found.n,
        f"undetermined: a spread of {100 * wide:.0f} % of the mean over {len(x)} blocks; "
        f"{WIDE_BLOCKS} blocks would do",
    )


def compare(
    x: pd.Series[float], y: pd.Series[float], blocks: set[int] | None = None, family: int = 1
) -> Comparison:
    """Compare two series by block. `blocks`: where both were tried, to count the dropped."""
    both = sorted(set(x.index) & set(y.index))
    tried = blocks if blocks is not None else set(x.index) | set(y.index)
    xs = x.loc[both].to_numpy(dtype=np.float64)
    ys = y.loc[both].to_numpy(dtype=np.float64)
    return Comparison(
        blocks=tuple(int(b) for b in both),
        dropped=len(tried - set(both)),
        numerator=mean_interval(xs),
        denominator=mean_interval(ys),
        difference=skewed_mean_interval(xs - ys),
        ratio=stated_ratio(xs, ys) if both else fieller(xs, ys),
        p=sign_flip_p(xs - ys) if both else None,
        detectable=detectable_effect(xs - ys, family),
    )


def verdict(
    c: Comparison, adjusted: float | None, family: int = 1, excluded: int = 0
) -> tuple[str, str]:
    """(verdict, why) about the numerator: indistinguishable, cheaper, dearer, undetermined.

    `excluded`: blocks that were left out as disturbed, for the reason where too few are left.
    """
    n = len(c.blocks)
    validated = n >= INTERVAL_BLOCKS
    if validated and c.ratio.inside(*RATIO_MARGIN):
        return "indistinguishable", "the interval of the ratio lies inside 0.9 to 1.1"
    if validated and c.difference.inside(-DIFFERENCE_MARGIN, DIFFERENCE_MARGIN):
        return "indistinguishable", "the interval of the difference lies within ±0.005 % of a core"
    named = "p" if family == 1 else "adjusted p"
    if adjusted is not None and adjusted < ALPHA and c.difference.estimate:
        word = "dearer" if c.difference.estimate > 0 else "cheaper"
        return word, f"{named} = {adjusted:.2g}"
    floor = min(1.0, smallest_p(n) * family)
    if floor >= ALPHA:
        need = blocks_needed(family)
        contrasts = "one contrast" if family == 1 else f"{family} contrasts"
        left = f" ({excluded} more left out as disturbed)" if excluded else ""
        return "undetermined", (
            f"{n} block{'s' if n != 1 else ''}{left} and {contrasts} cannot bring {named} below "
            f"{floor:.2g}; {need} blocks are the fewest that reach {ALPHA:g}"
        )
    if c.detectable is None:
        return "undetermined", f"{named} = {adjusted:.2g}; the differences have no spread"
    return "undetermined", (
        f"{named} = {adjusted:.2g}; smallest detectable effect {c.detectable:.2g} % of a core"
    )


def evaluate(measures: Measures, beside: Sequence[str] = BESIDE) -> list[dict[str, Any]]:
    """The run's declared contrasts, in their order, by the declared method and those `beside` it.

    Keys: id, numerator, denominator, statistics, level, measure, comparison (None if unavailable),
    p_adjusted, verdict, why, others {measure: Comparison} for the methods beside the declared one.
    """
    run = measures.run
    declared = run.plan.get("contrasts") or []
    family = len(declared)
    wrong = failed(fidelity(run))
    found: list[dict[str, Any]] = []
    for contrast in declared:
        x, y, statistics = contrast["numerator"], contrast["denominator"], contrast["statistics"]
        level = of_entry(contrast)
        measure = "published" if statistics == "on" else "headline"
        reasons = [
            f"{run.title(arm)}: {text}"
            for arm in (x, y)
            if (text := measures.reason(measure, arm, level))
        ]
        instruments = measures.instruments((x, y), statistics)
        if len(instruments) > 1:
            reasons.append(f"measured with two instruments ({', '.join(instruments)})")

        def comparison(name: str, x: str = x, y: str = y, level: int = level) -> Comparison:
            state = "on" if name == "published" else "off"
            tried = measures.blocks(x, level, state) & measures.blocks(y, level, state)
            a, b = measures.get(name, x, level), measures.get(name, y, level)
            return compare(a, b, tried, family)

        others = {name: comparison(name) for name in beside if name != measure}
        main = None if reasons else comparison(measure)
        found.append(
            {
                **{key: contrast[key] for key in ("id", "numerator", "denominator", "statistics")},
                "level": level,
                "measure": measure,
                "comparison": main if main is not None and main.blocks else None,
                "reason": "; ".join(reasons)
                or ("" if main and main.blocks else "no block has both arms"),
                "others": {name: c for name, c in others.items() if c.blocks},
            }
        )
    adjusted = holm([f["comparison"].p if f["comparison"] else None for f in found])
    for entry, p in zip(found, adjusted, strict=True):
        entry["p_adjusted"] = p
        if entry["comparison"] is None:
            entry["verdict"], entry["why"] = "unavailable", entry["reason"]
        else:
            entry["verdict"], entry["why"] = verdict(
                entry["comparison"], p, family, len(run.excluded)
            )
            false = [wrong[entry[s]] for s in ("numerator", "denominator") if entry[s] in wrong]
            if false:  # a collector that is cheap because it is wrong is a failed arm
                entry["verdict"], entry["why"] = "undetermined", "; ".join(false)
    return found
