"""The switch rate at which one in two finds the machine cold, as a run's own rows have it.

Two kinds of rows depend on it: what the same scrape takes at points of different rates, by the
reader's clock, and what a hook adds to a switch after pauses of different lengths.  It is one of
a few rates a quarter of a decade apart: the rows tell less (a factor of three changes a likelihood
by little), and a rate that is fitted freely follows noise.  The first of them stays unless another
is better at 95 %.
Points that are held out have no say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from analysis.crossover.conditions import CONDITIONS
from analysis.crossover.model import SWITCH, design
from analysis.crossover.warmth import share
from analysis.statistics.types import Array

#: 1/s; the first, which is what the shipped live runs say, unless another one is clearly better.
RATES = (1e3, 100.0, 180.0, 300.0, 560.0, 1.8e3, 3e3, 5.6e3, 1e4, 1.8e4, 3e4)
FINEST = 1e-3  # relative error below which no fit of a scrape is told from another
CLEARLY = 3.84  # twice the logarithm of a likelihood ratio: 95 % of chi squared, one parameter


def choose(readers: pd.DataFrame, added: pd.DataFrame) -> float:
    """The rate, 1/s.

    readers: arm, point, CONDITIONS and reader (ns a second) of the points that are fitted;
    added: arm, pause_us, block, rate, value (ns per switch) and events, the null agent's included.
    """
    scores = {half: _of_readers(readers, half) + _of_hooks(added, half) for half in RATES}
    best = min(RATES, key=lambda half: scores[half])
    return best if scores[RATES[0]] - scores[best] > CLEARLY else RATES[0]


def _of_readers(readers: pd.DataFrame, half: float) -> float:
    """Twice the negative logarithm of a normal likelihood, each arm's spread unknown."""
    score = 0.0
    groups: Any = readers.groupby("arm")
    for _, rows in groups:
        means = rows.groupby("point")[[*CONDITIONS, "reader"]].mean().dropna()
        means = means[means["reader"] > 0]
        if means.empty:
            continue
        y = means["reader"].to_numpy(dtype=np.float64)
        x = design(means, half)[:, :SWITCH] / y[:, None]
        size = np.linalg.norm(x, axis=0)
        rest = nnls(x / np.where(size > 0, size, 1.0), np.ones(len(y)))[1]
        score += len(y) * np.log(rest**2 / len(y) + FINEST**2)
    return float(score)


def _of_hooks(added: pd.DataFrame, half: float) -> float:
    """Chi squared of each hook's curve, by what one event scatters by over blocks."""
    mean = _weighted(added, ["arm", "pause_us"])
    both = added.join(mean["value"].rename("mean"), on=["arm", "pause_us"])
    degrees = len(added) - len(mean)
    apart = both["value"] - both["mean"]
    spread = float((both["events"] * apart**2).sum()) / degrees if degrees > 0 else 0.0
    if spread <= 0:
        return 0.0
    groups: Any = mean.groupby("arm")
    return sum(float(curve(rows, half)[1]) for _, rows in groups) / spread


def _weighted(added: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Means of rate and value, weighted by events, which are summed."""
    weights = added["events"]
    each = added.assign(value=added["value"] * weights, rate=added["rate"] * weights)
    total = each.groupby(keys)[["value", "rate", "events"]].sum()
    for name in ("value", "rate"):
        total[name] /= total["events"]
    return total


def curve(rows: pd.DataFrame, half: float) -> tuple[Array, float]:
    """Cost warm, and the more of it when cold (both from 0 on), of rows of different rates.

    Weighted by events: what one event scatters by is about the same after any pause (20 to 50 us
    in the shipped runs). Returns the two, and the weighted sum of squares that is left.
    """
    x, y = _scaled(rows, half)
    found, rest = nnls(x, y)
    return np.asarray(found, dtype=np.float64), float(rest) ** 2


def _scaled(rows: pd.DataFrame, half: float) -> tuple[Array, Array]:
    weights = np.sqrt(rows["events"].to_numpy(dtype=np.float64))
    cold = share(rows["rate"].to_numpy(dtype=np.float64), half)
    x = np.column_stack([np.ones_like(cold), cold]) * weights[:, None]
    return x, rows["value"].to_numpy(dtype=np.float64) * weights


def by_block(rows: pd.DataFrame, half: float) -> dict[int, tuple[float, float]]:
    """The two of `curve` in each block of a hook, whose mean is the non-negative fit of all.

    Each block is fitted without that bound, and all are moved by what takes their mean to it: a
    hook has both costs, and one that comes out below 0 is 0 with the blocks' whole spread around
    it. A block with one pause knows no cold; a hook with such blocks alone has none.
    """
    both = _weighted(rows, ["block", "pause_us"]).reset_index()
    pauses = int(both.groupby("block")["pause_us"].nunique().max())
    terms = 2 if pauses > 1 else 1
    found: dict[int, Array] = {}
    for block, each in both.groupby("block"):
        x, y = _scaled(each, half)
        solved, _, rank, _ = np.linalg.lstsq(x[:, :terms], y, rcond=None)
        if rank == terms:
            found[int(str(block))] = np.array([*solved, *[0.0] * (2 - terms)], dtype=np.float64)
    if not found:
        return {}
    used = both[both["block"].isin(list(found))]
    x, y = _scaled(_weighted(used, ["pause_us"]), half)
    bound = np.zeros(2)
    bound[:terms] = nnls(x[:, :terms], y)[0]
    moved = bound - np.mean(list(found.values()), axis=0)
    return {
        block: (float(warm), float(cold))
        for block, (warm, cold) in ((b, values + moved) for b, values in found.items())
    }
