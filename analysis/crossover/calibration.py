"""What a program adds to a context switch at any rate, from calibrations at several pauses.

A switch after a pause finds the machine cold: on one machine it was charged seven times what one of
many back to back was.  Each external trial has a rate, its events over the time that the arm was
attached.  Per block the added cost is

    warm + cold S0 / (S0 + S)

(see `warmth`), the two fitted to the pauses of the block, each weighted by its events: a pause of
10 ms leaves time for few, and read by itself its noise is many times what a switch costs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.crossover import half_cold
from analysis.crossover.conditions import conditions, planned
from analysis.crossover.warmth import share
from analysis.external import added, events, in_other_tasks
from analysis.load import Run
from analysis.statistics.intervals import Interval, mean_interval
from analysis.workloads import DEFAULT


def by_pause(run: Run) -> pd.DataFrame:
    """Columns arm, pause_us, block, rate (events a second while attached), events, value (ns each).

    Statistics off; the null agent's rows are the instrument's own error.
    """
    each = events(run)
    switch = (each["workload"] == DEFAULT["external"]) & (each["statistics"] == "off")
    each = each[switch]
    keys = ["arm", "pause_us", "block"]
    rates = each.groupby(keys).agg(rate=("rate", "mean"), events=("events", "sum")).reset_index()
    values = added(each, ("pause_us",))[[*keys, "value"]]
    return rates.merge(values, on=keys)


class Curves:
    """Added ns per switch against the rate, per arm and block. half: S0, 1/s."""

    def __init__(self, run: Run) -> None:
        each = by_pause(run).dropna(subset=["rate", "value"])
        each = each[each["rate"] > 0]
        found, points = conditions(run), planned(run)
        kept = [n for n, about in points.items() if not about.get("held_out")]
        self.half = half_cold.choose(found[found["point"].isin(kept)], each)
        groups: Any = each.groupby("arm")
        self._found = {
            str(arm): half_cold.by_block(rows, self.half)
            for arm, rows in groups
            if in_other_tasks(run, str(arm))
        }

    def of(self, arm: str) -> dict[int, tuple[float, float]]:
        """Per block what a switch costs warm, and the more of it when cold; ns."""
        return self._found.get(arm, {})

    def at(self, arm: str, rates: pd.Series[float]) -> pd.Series[float]:
        """ns per switch at each block's own rate (1/s, indexed by block); without other blocks."""
        mine = self.of(arm)
        kept = rates[(rates > 0) & rates.index.isin(list(mine))]
        cold = share(kept.to_numpy(dtype=np.float64), self.half)
        both = np.array([mine[int(block)] for block in kept.index]).reshape(-1, 2)
        return pd.Series(both[:, 0] + both[:, 1] * cold, index=kept.index, dtype=float)


def table(run: Run, curves: Curves) -> list[dict[str, Any]]:
    """Per arm and pause: keys arm, pause_us, rate (mean, 1/s), events (of all blocks), interval (ns
    per switch) and curve (the same by the curve; empty for the null agent)."""
    made: list[dict[str, Any]] = []
    groups: Any = by_pause(run).groupby(["arm", "pause_us"])
    found = dict(list(groups))
    for arm in run.arms:
        for pause in sorted({pause for name, pause in found if name == arm}):
            rows = found[arm, pause]
            value: Interval = mean_interval(rows["value"].to_numpy(dtype=np.float64))
            rate = float(rows["rate"].mean())
            row = {"arm": arm, "pause_us": int(pause), "rate": rate, "interval": value}
            at = curves.at(arm, rows.set_index("block")["rate"])
            fitted: Interval = mean_interval(at.to_numpy(dtype=np.float64))
            made.append({**row, "events": int(rows["events"].sum()), "curve": fitted})
    return made
