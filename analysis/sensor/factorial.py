"""The three optimisations one by one and together: a full 2 x 2 x 2 in each block.

A variant is <filter>_<buffer>_<bytes>; the first level of each factor is the naive one.  In each
block, with x = -1 for the naive level and +1 for the other, an effect is (Box, Hunter & Hunter,
"Statistics for Experimenters", 1978, chapter 10)

    effect(A) = sum of x_A c / 4,    interaction(A, B) = sum of x_A x_B c / 4, ...

so that a main effect is the mean change of the cost as the factor alone is changed: below 0 it
saves.  Paired by block, then averaged: mean and interval; also in percent of the naive variant's
cost.  Once with each buffer's own habit of waking its reader, once with the same one (`batch`) for
both: most of what is published as the difference of two buffers is that habit.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd

from analysis.sensor.costs import PARTS, Costs, Entry, combined, is_exact
from analysis.statistics.intervals import Interval, fieller

FACTORS = {
    "filter": ("user", "kernel"),
    "buffer": ("perf", "ring"),
    "bytes": ("event", "aggregate"),
}
WAKEUPS = {"own": "", "equal": "_batch"}  # by the end of a variant's name
SUBSETS = [s for n in (1, 2, 3) for s in combinations(FACTORS, n)]
#: The source's order: each step has those before it.
STEPS = ((), ("filter",), ("filter", "buffer"), ("filter", "buffer", "bytes"))


def variant(changed: tuple[str, ...], wakeup: str = "own") -> str:
    """Name of the variant in which these factors are optimised."""
    return "_".join(ls[f in changed] for f, ls in FACTORS.items()) + WAKEUPS[wakeup]


def all_variants(wakeup: str) -> list[str]:
    return ["_".join(levels) + WAKEUPS[wakeup] for levels in product(*FACTORS.values())]


def _percent(costs: Costs, change: pd.Series[float], naive: pd.Series[float]) -> Interval:
    blocks = change.index.intersection(naive.index)
    x, y = change.loc[blocks], naive.loc[blocks]
    if is_exact(costs.run):
        return costs.mean((100 * x / y.where(y > 0)).dropna())
    return fieller(x.to_numpy(dtype=np.float64), y.to_numpy(dtype=np.float64)).scaled(100)


def effects(costs: Costs) -> list[Entry]:
    """Main effects and interactions.

    Keys load, wakeup (own, equal), factors (tuple), order (1: main effect), effect (Interval, per
    event), percent (Interval, of the naive variant's cost).
    """
    made: list[Entry] = []
    for wakeup in WAKEUPS:
        for load in costs.loads(*all_variants(wakeup)):
            cells = {
                changed: costs.get("total", variant(changed, wakeup), load)
                for changed in [(), *SUBSETS]
            }
            for factors in SUBSETS:
                signed = [
                    (float(np.prod([1 if f in changed else -1 for f in factors])) / 4, series)
                    for changed, series in cells.items()
                ]
                change = combined(signed)
                entry: Entry = {"load": load, "wakeup": wakeup, "factors": factors}
                entry |= {"order": len(factors), "effect": costs.mean(change)}
                made.append({**entry, "percent": _percent(costs, change, cells[()])})
    return made


def one_by_one(costs: Costs) -> list[Entry]:
    """Each optimisation alone, and each step of the source's order, against the naive variant.

    Keys load, wakeup, changed (tuple; empty: naive), PARTS (Interval), difference and percent
    (against the naive variant; None of itself), is_step.
    """
    made: list[Entry] = []
    wanted = list(dict.fromkeys([*STEPS, *((f,) for f in FACTORS)]))
    for wakeup in WAKEUPS:
        for load in costs.loads(variant((), wakeup)):
            naive = costs.get("total", variant((), wakeup), load)
            for changed in wanted:
                name = variant(changed, wakeup)
                here = costs.get("total", name, load)
                if here.empty:
                    continue
                entry: Entry = {"load": load, "wakeup": wakeup, "changed": changed, "variant": name}
                entry |= {part: costs.mean(costs.get(part, name, load)) for part in PARTS}
                change = (here - naive).dropna()
                entry["difference"] = costs.mean(change) if changed else None
                entry["percent"] = _percent(costs, change, naive) if changed else None
                made.append({**entry, "is_step": changed in STEPS})
    return made
