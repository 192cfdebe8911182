"""Do the intervals and the test keep their word? Every cell simulated, with its Monte Carlo error.

Literature
    D. E. Morris, T. P. White, M. J. Crowther, "Using simulation studies to evaluate statistical
        methods", Stat. Med. 38 (2019): coverage and its error, sqrt(p (1 - p) / simulations).
    R. A. Fisher, "The design of experiments" (1935): the level of the exact test, which with few
        blocks is the largest p it can give below 5 %.

A cell is a noise, a shape (ratio and two spreads; see `noise_models`) and a number of planned
blocks. The procedure is simulated as a whole: blocks above the declared limits are left out, the
ratio's interval is stated or withheld as `contrasts` does, and coverage is that of the stated
intervals.  Each cell has a generator of its own, seeded by its place, so that any of them can be
made again alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.contrasts import INTERVAL_BLOCKS, RATIO_MARGIN
from analysis.statistics.batch import indistinguishable, means, ratios, stated_ratios
from analysis.statistics.noise_models import (
    NOISES,
    SHAPES,
    Sample,
    Shape,
    draw,
    ratio_with_bursts,
)
from analysis.statistics.permutation import ALPHA, sign_flip_p
from analysis.statistics.power import attainable_level, detectable_factor
from analysis.statistics.types import Array

Row = dict[str, Any]

SEED = 20261130
SIMULATIONS = 10_000
TESTS = 4_000  # simulations of a test, which cannot be done for all samples at once
BLOCKS = (4, 6, 8, 12, 20)
TESTED_BLOCKS = (6, 8, 12, 20)
FAMILIES = (1, 6)
COVERAGE_TARGET = (93.0, 97.0)
RATE_TARGET = (3.0, 7.0)
# Beyond the shipped runs' spreads: how far the intervals carry, and where the code withholds them.
WIDE = Shape(26, 0.04, 1.0)
TWINS = tuple(Shape(1, cv, cv) for cv in (0.04, 0.2, 0.6))
UNLIKE = (Shape(1, 0.04, 0.6), Shape(1, 0.2, 0.6))  # equal means only


def error_of(percent: float, n: float) -> float:
    """Monte Carlo standard error of a simulated percentage."""
    share = percent / 100
    return 100 * math.sqrt(share * (1 - share) / n) if n else math.nan


def _random(table: int, noise: str, shape: int, blocks: int) -> np.random.Generator:
    return np.random.default_rng([SEED, table, NOISES.index(noise), shape, blocks])


def _kept(sample: Sample) -> Iterator[tuple[Array, Array]]:
    """The samples without their excluded blocks, those with as many left together."""
    left = (~sample.excluded).sum(axis=1)
    order = np.argsort(sample.excluded, axis=1, kind="stable")
    for n in range(INTERVAL_BLOCKS, sample.x.shape[1] + 1):
        rows = np.flatnonzero(left == n)
        if len(rows):
            at = order[rows, :n]
            yield (np.take_along_axis(v[rows], at, axis=1) for v in (sample.x, sample.y))  # type: ignore[misc]


def coverage(noise: str, shape: Shape, blocks: int) -> Row:
    """One cell: how often the stated intervals hold the truth, in percent, and what was stated."""
    number = (*SHAPES, WIDE).index(shape)
    sample = draw(noise, shape, blocks, SIMULATIONS, _random(1, noise, number, blocks))
    sums = dict.fromkeys(("kept", "stated", "ratio", "plain", "difference", "same", "all"), 0.0)
    everything = ratio_with_bursts(shape)
    for x, y in _kept(sample):
        found = stated_ratios(x, y)
        sums["kept"] += len(x)
        sums["stated"] += float(found.stated.sum())
        sums["ratio"] += float(found.cover(shape.ratio).sum())
        sums["all"] += float(found.cover(everything).sum())
        sums["difference"] += float(means(x - y).cover(shape.ratio - 1).sum())
        sums["same"] += float(indistinguishable(found, RATIO_MARGIN, x.shape[1]).sum())
    plain = ratios(sample.x, sample.y, skewed=False)
    covered = 100 * sums["ratio"] / sums["stated"]
    hit = noise in ("bursts", "hidden")
    return {
        "noise": noise,
        "ratio": shape.ratio,
        "cv_numerator": shape.cv_x,
        "cv_denominator": shape.cv_y,
        "blocks": blocks,
        "simulations": SIMULATIONS,
        "stated": 100 * sums["stated"] / SIMULATIONS,
        "coverage": covered,
        "monte_carlo_error": error_of(covered, sums["stated"]),
        "plain_fieller": 100
        * float(plain.cover(shape.ratio).sum())
        / max(float(plain.stated.sum()), 1.0),
        "difference": 100 * sums["difference"] / sums["kept"],
        "with_bursts": 100 * sums["all"] / sums["stated"] if hit else None,
        "indistinguishable_at_margin": 100 * sums["same"] / SIMULATIONS
        if shape.ratio == RATIO_MARGIN[1]
        else None,
        "outcome": outcome(covered),
    }


def outcome(percent: float) -> str:
    """Of a coverage: fails, meets, or conservative, an interval longer than it need be."""
    low, high = COVERAGE_TARGET
    return "fails" if percent < low else "meets" if percent <= high else "conservative"


def outcome_of_test(rate: float, attainable: float, error: float) -> str:
    """Of a level: meets if the exact one is in the target and the simulation agrees with it."""
    low, high = RATE_TARGET
    if abs(rate - attainable) <= 3 * error:
        return "meets" if low <= attainable <= high else "conservative"
    return "fails" if rate > high else "meets" if rate >= low else "conservative"


def false_positives(noise: str, shape: Shape, blocks: int) -> Row:
    """One cell: how often the test tells two arms of equal mean apart, in percent."""
    number = (*TWINS, *UNLIKE).index(shape)
    sample = draw(noise, shape, blocks, TESTS, _random(2, noise, number, blocks))
    tested = told = 0
    for x, y in _kept(sample):
        if attainable_level(x.shape[1]) is not None:
            tested += len(x)
            told += sum(sign_flip_p(row) < ALPHA for row in x - y)
    rate = 100 * told / tested
    level = 100 * (attainable_level(blocks) or 0.0)
    return {
        "noise": noise,
        "cv_numerator": shape.cv_x,
        "cv_denominator": shape.cv_y,
        "identical": "yes" if shape in TWINS else "means only",
        "blocks": blocks,
        "simulations": TESTS,
        "tested": 100 * tested / TESTS,
        "attainable": level,
        "rate": rate,
        "monte_carlo_error": error_of(rate, tested),
        "outcome": outcome_of_test(rate, level, error_of(rate, tested)),
    }


def power(blocks: int, family: int) -> Row | None:
    """How often the effect that a plan calls detectable is found; None where none is."""
    factor = detectable_factor(blocks, family)
    if factor is None:
        return None
    random = np.random.default_rng([SEED, 3, blocks, family])
    differences = random.normal(factor, 1, (TESTS, blocks))
    found = 100 * sum(family * sign_flip_p(row) < ALPHA for row in differences) / TESTS
    row = {"blocks": blocks, "contrasts": family, "simulations": TESTS, "effect_in_sd": factor}
    return {**row, "power": found, "monte_carlo_error": error_of(found, TESTS)}


def cells() -> list[tuple[str, tuple[Any, ...]]]:
    """Every cell in order: the function of this module that makes it, and its arguments."""
    shapes = (*SHAPES, WIDE)
    made: list[tuple[str, tuple[Any, ...]]] = [
        ("coverage", (noise, shape, n)) for noise in NOISES for shape in shapes for n in BLOCKS
    ]
    made += [
        ("false_positives", (noise, shape, n))
        for noise in NOISES
        for shape in (*TWINS, *UNLIKE)
        for n in TESTED_BLOCKS
    ]
    return made + [("power", (n, m)) for m in FAMILIES for n in TESTED_BLOCKS]


def make(cell: tuple[str, tuple[Any, ...]]) -> tuple[str, Row | None]:
    """One cell: the name of its table and its row."""
    name, arguments = cell
    if name == "coverage":
        return name, coverage(*arguments)
    if name == "false_positives":
        return name, false_positives(*arguments)
    return name, power(*arguments)
