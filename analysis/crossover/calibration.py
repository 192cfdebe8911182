"""What a program adds to a context switch at any rate, from calibrations at several pauses.

A switch after a pause finds the caches cold: on one machine it was charged seven times what one of
many back to back was.  Each external trial has a rate, its events over the time that the arm was
attached; between the rates of a block the added cost is linear in the logarithm of the rate, and
beyond them it is that of the nearest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.external import added, events
from analysis.load import Run
from analysis.statistics.intervals import Interval, mean_interval
from analysis.statistics.types import Array
from analysis.workloads import DEFAULT


def by_pause(run: Run) -> pd.DataFrame:
    """Columns arm, pause_us, block, rate (events a second while attached), value (ns per switch).

    Statistics off; the null agent's rows are the instrument's own error.
    """
    each = events(run)
    switch = (each["workload"] == DEFAULT["external"]) & (each["statistics"] == "off")
    each = each[switch]
    keys = ["arm", "pause_us", "block"]
    rates = each.groupby(keys)["rate"].mean().reset_index()
    values = added(each, ("pause_us",))[[*keys, "value"]]
    return rates.merge(values, on=keys)


class Curves:
    """Added ns per switch against the rate, per arm and block."""

    def __init__(self, run: Run) -> None:
        self._found: dict[tuple[str, int], tuple[Array, Array]] = {}
        each = by_pause(run).dropna(subset=["rate", "value"])
        groups: Any = each[each["rate"] > 0].groupby(["arm", "block"])
        for (arm, block), rows in groups:
            ordered = rows.sort_values("rate")
            x = np.log(ordered["rate"].to_numpy(dtype=np.float64))
            self._found[str(arm), int(block)] = x, ordered["value"].to_numpy(dtype=np.float64)

    def at(self, arm: str, rates: pd.Series[float]) -> pd.Series[float]:
        """ns per switch at each block's own rate (1/s, indexed by block); without other blocks."""
        made: dict[int, float] = {}
        for block, rate in zip(rates.index.tolist(), rates.tolist(), strict=True):
            curve = self._found.get((arm, int(block)))
            if curve is not None and rate > 0:
                made[int(block)] = float(np.interp(np.log(rate), *curve))
        return pd.Series(list(made.values()), index=np.array(list(made), dtype=int), dtype=float)


def table(run: Run) -> list[dict[str, Any]]:
    """Per arm and pause: keys arm, pause_us, rate (mean, 1/s), interval (ns per switch)."""
    made: list[dict[str, Any]] = []
    groups: Any = by_pause(run).groupby(["arm", "pause_us"])
    found = dict(list(groups))
    for arm in run.arms:
        for pause in sorted({pause for name, pause in found if name == arm}):
            rows = found[arm, pause]
            value: Interval = mean_interval(rows["value"].to_numpy(dtype=np.float64))
            rate = float(rows["rate"].mean())
            made.append({"arm": arm, "pause_us": int(pause), "rate": rate, "interval": value})
    return made
