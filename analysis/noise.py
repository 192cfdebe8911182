"""How far the instrument itself can be trusted: A/A pair, spread, detectable effect, drift.

Literature: T. Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!",
ASPLOS (2009): why two identical arms have to be measured too; and the works in `intervals`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analysis.contrasts import Comparison, compare, verdict
from analysis.levels import of_entry
from analysis.measures import Measures
from analysis.statistics.intervals import Interval, is_constant, mean_interval, quantile
from analysis.statistics.power import detectable_factor
from analysis.statistics.types import Array
from analysis.text import interval

PROJECTED_BLOCKS = (2, 6, 8, 12, 24)
DRIFTING = ("agent", "published")


def a_a(measures: Measures) -> dict[str, Any] | None:
    """The plan's A/A pair: replica 1 against replica 2. None if the plan has none.

    Keys: arm, level, statistics, comparison (None with a reason if not measured), verdict, why.
    """
    pair = measures.run.plan.get("a_a")
    if not pair:
        return None
    arm, statistics = str(pair["arm"]), str(pair["statistics"])
    level = of_entry(pair)
    measure = "published" if statistics == "on" else "agent"
    x, y = (measures.get(measure, arm, level, replica) for replica in (1, 2))
    found: dict[str, Any] = {"arm": arm, "level": level, "statistics": statistics}
    found["comparison"] = None
    c: Comparison = compare(x, y, measures.blocks(arm, level, statistics))
    if not c.blocks:
        reason = measures.reason(measure, arm, level) or "the second replica has no valid row"
        return {**found, "verdict": "unavailable", "why": reason}
    word, why = verdict(c, c.p)
    return {**found, "comparison": c, "verdict": word, "why": why}


def coefficient_of_variation(values: pd.Series[float]) -> float | None:
    """Sample sd over blocks / mean; None for fewer than two blocks or a mean not above zero."""
    array = values.to_numpy(dtype=np.float64)
    if len(array) < 2 or float(np.mean(array)) <= 0:
        return None
    return 0.0 if is_constant(array) else float(np.std(array, ddof=1) / np.mean(array))


def projected_effect(sd_of_differences: float, n: int, family: int = 1) -> float | None:
    """Smallest effect that n blocks would detect with 80 % power at this spread; None: none at all.

    Same formula as `contrasts.detectable_effect`, with the sd taken from this run.
    """
    factor = detectable_factor(n, family)
    return None if factor is None else factor * sd_of_differences


def spread(measures: Measures) -> list[dict[str, Any]]:
    """Per arm, level and method: n, mean, cv, and the effect detectable with more or fewer blocks.

    The projection takes the cell's own sd for both arms of a contrast, uncorrelated: sqrt(2) sd.
    """
    made: list[dict[str, Any]] = []
    for arm in measures.arms:
        for level in measures.levels:
            for measure in ("agent", "headline", "published"):
                values = measures.get(measure, arm, level)
                if not len(values):
                    continue
                row: dict[str, Any] = {"arm": arm, "level": level, "measure": measure}
                row |= {"n": len(values), "mean": float(values.mean())}
                row["cv"] = coefficient_of_variation(values)
                sd = math.sqrt(2) * float(values.std(ddof=1)) if len(values) > 1 else None
                for n in PROJECTED_BLOCKS:
                    row[f"detectable_{n}_blocks"] = None if sd is None else projected_effect(sd, n)
                made.append(row)
    return made


def _slope(blocks: Array, values: Array) -> Interval:
    n = len(values)
    if n < 3:
        return Interval(None, None, None, n, "drift needs three blocks")
    fit = stats.linregress(blocks, values)
    slope = float(fit.slope)
    if is_constant(values):
        return Interval(0.0, 0.0, 0.0, n, "constant over the blocks")
    half = quantile(n - 1) * float(fit.stderr)  # n - 2 degrees of freedom
    return Interval(slope, slope - half, slope + half, n)


def drift(measures: Measures) -> dict[str, Any]:
    """Change over the run, in percent of the cell's mean per block.

    Each cell (arm, level; reader only) is divided by its own mean and the cells of a block are
    averaged, so that one line is fitted a run. A drift does not bias paired contrasts; it says that
    the absolute level depends on when it was measured. Cells that lack a block are left out.
    """
    names = [(m, arm, lv) for arm in measures.arms for lv in measures.levels for m in DRIFTING]
    return _drift([measures.get(*name) for name in names])


def _drift(series: list[pd.Series[float]]) -> dict[str, Any]:
    cells = [100 * s / float(s.mean()) for s in series if len(s) >= 3 and float(s.mean()) > 0]
    if not cells:
        return {"slope": Interval(None, None, None, 0, "drift needs three blocks"), "cells": 0}
    most = max(len(c) for c in cells)
    table = pd.concat([c for c in cells if len(c) == most], axis=1, join="inner")
    mean = table.mean(axis=1)
    slope = _slope(mean.index.to_numpy(dtype=np.float64), mean.to_numpy(dtype=np.float64))
    return {"slope": slope, "cells": int(table.shape[1])}


def warnings(measures: Measures) -> list[str]:
    """The drift of the A/A arm, both replicas together, where its interval leaves out 0."""
    pair = a_a(measures)
    if pair is None:
        return []
    measure = "published" if pair["statistics"] == "on" else "agent"
    cells = [measures.get(measure, pair["arm"], pair["level"], replica) for replica in (1, 2)]
    slope: Interval = _drift(cells)["slope"]
    if slope.low is None or slope.high is None or slope.low <= 0 <= slope.high:
        return []
    return [
        f"{measures.run.title(pair['arm'])} drifted by {interval(slope)} % of its mean per block: "
        "its level depends on when it was measured; contrasts, paired by block, do not"
    ]


def harness(measures: Measures) -> dict[str, Any]:
    """CPU (percent of a core) and wake-ups of the runner and what drives it inside the windows."""
    t = measures.run.trials
    rows = t[(t["kind"] == "cost") & (t["status"] == "ok")]
    cost = rows[["harness_ns", "window_ns", "block"]].dropna()
    percent = 100 * cost["harness_ns"].astype(float) / cost["window_ns"].astype(float)
    by_block = percent.groupby(cost["block"].astype(int)).mean().to_numpy(dtype=np.float64)
    wakeups = rows["harness_wakeups"].dropna()
    return {
        "percent_core": mean_interval(by_block),
        "max_percent_core": float(percent.max()) if len(percent) else None,
        "wakeups_max": int(wakeups.max()) if len(wakeups) else None,
        "windows": int(len(rows)),
    }
