"""Exact paired test and the correction for several of them.

Literature
    R. A. Fisher, "The design of experiments" (1935), ch. 3: the paired sign-flip test.
    B. Phipson, G. K. Smyth, "Permutation p-values should never be zero", SAGMB 9 (2010): why
        an estimated p is (1 + hits) / (1 + samples).
    S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Stat. 6 (1979).

    E. Horowitz, S. Sahni, "Computing partitions with applications to the knapsack problem", J. ACM
        21 (1974): sums of all patterns from the sorted sums of two halves.

Test: alternative two-sided, statistic |mean of the paired differences|, null hypothesis "the
differences are symmetric about zero", which holds by construction when the order inside each block
is drawn at random and the arms are the same.  All 2^n sign patterns are counted up to 20 blocks.

What is out of reach.  The observed pattern and its mirror image always count, so p >= 2 / 2^n: 0.5
for 2 blocks, 0.031 for 6, 0.00049 for 12.  Holm multiplies the smallest p of m contrasts by m, so
that a family of m needs n >= 1 + log2(m / 0.05) blocks: 6 for one contrast, 7 for two or three, 8
for four to six.  Below that no effect, however large, is called cheaper or dearer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from analysis.statistics.intervals import ROUNDING
from analysis.statistics.types import Array

ALPHA = 0.05
EXACT_UP_TO = 20  # 2^19 patterns by symmetry
SAMPLES = 100_000  # standard error of an estimated p of .05: 0.0007
SEED = 1935


def smallest_p(n: int) -> float:
    """The smallest two-sided p that n blocks can give: 2 / 2^n (1 for no or one block)."""
    if n > EXACT_UP_TO:
        return 1 / (1 + SAMPLES)
    return min(1.0, 2.0 ** (1 - n)) if n else 1.0


def blocks_needed(contrasts: int, alpha: float = ALPHA) -> int:
    """Blocks from which on a family of so many contrasts can reach alpha after Holm."""
    n = max(1, math.ceil(1 + math.log2(contrasts / alpha)))
    return n + 1 if contrasts * smallest_p(n) >= alpha else n


def _flip_sums(differences: Array) -> Array:
    """Sums under all 2^n sign patterns of the differences."""
    sums = np.zeros(1)
    for d in differences:
        sums = np.concatenate([sums + d, sums - d])
    return sums


def _share_beyond(d: Array, bound: float) -> float:
    """Share of all sign patterns whose |sum| is at least the bound, from two halves: exact."""
    half = (len(d) + 1) // 2
    first = _flip_sums(d[1:half]) + d[0]  # the first sign is fixed: mirror images count alike
    rest = np.sort(_flip_sums(d[half:]))
    above = len(rest) - np.searchsorted(rest, bound - first, side="left")
    below = np.searchsorted(rest, -bound - first, side="right")
    # a bound below zero (no difference but rounding) would count a pattern twice
    return float(np.minimum(above + below, len(rest)).sum()) / (len(first) * len(rest))


def sign_flip_p(differences: Array, seed: int = SEED) -> float:
    """Two-sided paired permutation p of one difference a block.

    Ties count as "at least as extreme", within rounding. No difference at all gives 1, never NaN.
    """
    d = np.asarray(differences, dtype=np.float64)
    scale = float(np.sum(np.abs(d)))
    if len(d) == 0 or scale == 0.0:
        return 1.0
    observed = abs(float(np.sum(d))) - 1e3 * ROUNDING * scale
    if len(d) <= EXACT_UP_TO:
        return _share_beyond(d, observed)
    generator = np.random.default_rng(seed)
    hits = 0
    for _ in range(10):
        signs = generator.integers(0, 2, size=(SAMPLES // 10, len(d))) * 2 - 1
        hits += int(np.count_nonzero(np.abs(signs @ d) >= observed))
    return (1 + hits) / (1 + SAMPLES)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p of a declared family, in the given order.

    A contrast that could not be tested (None) stays in the family: its size was declared before.
    """
    m = len(p_values)
    order = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * m
    running = 0.0
    for rank, (p, i) in enumerate(order):
        running = max(running, min(1.0, (m - rank) * p))
        adjusted[i] = running
    return adjusted
