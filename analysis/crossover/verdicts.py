"""Which of two collectors is the dearer one at each measured point.

Live: equivalence first, then Student's paired test over blocks, Holm-adjusted over every point and
pair of the run (see `pooled`). Three blocks cannot bring a permutation test below .25, which is why
it is not that one; the declared contrasts of a plan keep theirs. Exact: by all perturbations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis import exact
from analysis.crossover.cells import NS_OF_PERCENT
from analysis.pooled import decide, over_means
from analysis.statistics.intervals import Interval

#: /proc against eBPF: as the article has them, and both at their floor.
PAIRS = (
    ("proc_stat", "sched_switch_published"),
    ("proc_stat_tuned", "sched_switch"),
    ("proc_stat_tuned", "task_iter"),
)


def by_point(cells: pd.DataFrame, counted: bool) -> list[dict[str, Any]]:
    """Every pair at every point that has both in a block.

    Keys point, numerator, denominator, ratio (Interval), p_adjusted (None: exact), verdict on the
    numerator, why, blocks.
    """
    made: list[dict[str, Any]] = []
    decided: list[dict[str, Any] | None] = []
    wide = {arm: rows.pivot(index="point", columns="block", values="cost")
            for arm, rows in cells.groupby("arm")}  # fmt: skip
    for numerator, denominator in PAIRS:
        if numerator not in wide or denominator not in wide:
            continue
        over, under = wide[numerator].align(wide[denominator], join="inner")
        for point in over.index:
            both = pd.concat([over.loc[point], under.loc[point]], axis=1).dropna()
            if both.empty:
                continue
            x, y = both.to_numpy(dtype=np.float64).T
            entry: dict[str, Any] = {"point": int(point), "numerator": numerator}
            entry |= {"denominator": denominator, "blocks": len(x)}
            if counted:
                found, verdict, why = exact.against(x, y)
                ratio = Interval(found.median, found.low, found.high, found.n)
                entry |= {"ratio": ratio, "p_adjusted": None, "verdict": verdict, "why": why}
            else:
                decided.append(over_means(x / NS_OF_PERCENT, y / NS_OF_PERCENT, 1))
                entry["ratio"] = decided[-1]["ratio"] if decided[-1] else None
            made.append(entry)
    if not counted:
        _decide(made, decided)
    return made


def _decide(made: list[dict[str, Any]], decided: list[dict[str, Any] | None]) -> None:
    decide(decided, "blocks")
    for entry, found in zip(made, decided, strict=True):
        assert found is not None
        entry |= {key: found[key] for key in ("p_adjusted", "verdict", "why")}
