"""Noise to validate the statistics with: what two arms of one plan would measure, block by block.

Literature
    J. W. Tukey, "A survey of sampling from contaminated distributions" (1960): a normal
    distribution
        of which one value in ten has a larger spread.
    D. E. Morris, T. P. White, M. J. Crowther, "Using simulation studies to evaluate statistical
        methods", Stat. Med. 38 (2019): aims, data-generating mechanisms, estimands, methods and
        performance are declared, and each result has its Monte Carlo error.

A block gives a pair x_b = ratio (1 + cv_x e_b), y_b = 1 + cv_y f_b, e and f independent with mean 0
and variance 1 whatever the noise, so that a cell's spread is what its name says.  Shapes are those
of the first shipped run of preset `paper` (processes): readers of /proc have a spread over blocks
of 4 to 8 %, eBPF collectors of 15 to 60 %, ratios lie from 2 to 43 and near 1, and the correlation
inside a block scatters around zero (-0.7 to 0.5 over its contrasts).

    normal      Gaussian
    lognormal   exp of a Gaussian with the same mean and spread: skewed, the more the wider
    t3          Student's t with 3 degrees of freedom: heavy tails on both sides
    drift       Gaussian, times a line over the blocks from -20 % to +20 %, the same for both arms
    outliers    Tukey's: one value in ten has five times the spread of the others
    bursts      Gaussian; one run in ten is hit by a burst of foreign load and costs more for it
    hidden      the same bursts, of which the accounts of steal and foreign load show nothing

Bursts are those of the same run: foreign load beyond the usual in the windows it hit was 5 to 110 %
of a core (drawn evenly on a log scale); it left /proc readers' cost almost alone (one part in a
thousand for each percent) and doubled an eBPF collector's at about 10 % (a tenth for each percent,
at most six times the cost), since its program runs at each switch that the burst brings.  Here all
arms of 20 % spread and more are taken to be as sensitive.  The truth to be covered is the ratio
without bursts: a burst is the host's doing, not the collector's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.exclusion import LIMITS
from analysis.statistics.types import Array

DRIFT = 0.2
HIT = 0.1  # share of runs
LOADS = (5.0, 110.0)  # percent of a core
DEGREES = 3
WIDE_OUTLIER = 5.0
EVENT_DRIVEN_FROM = 0.2  # spread


@dataclass(frozen=True)
class Shape:
    """Two arms: true ratio of their means, and the spread (sd / mean) of each over blocks."""

    ratio: float
    cv_x: float
    cv_y: float

    @property
    def name(self) -> str:
        return f"{self.ratio:g}×, {100 * self.cv_x:.0f} and {100 * self.cv_y:.0f} %"


@dataclass(frozen=True)
class Sample:
    """Samples in rows, blocks in columns; `excluded` is 1 for blocks above the declared limits."""

    x: Array
    y: Array
    excluded: npt.NDArray[np.bool_]


SHAPES = (
    Shape(1.1, 0.04, 0.04),
    Shape(3, 0.2, 0.2),
    Shape(1.1, 0.6, 0.6),
    Shape(26, 0.04, 0.2),
    Shape(26, 0.04, 0.6),
    Shape(3, 0.2, 0.6),
)
NOISES = ("normal", "lognormal", "t3", "drift", "outliers", "bursts", "hidden")


def _standard(noise: str, size: tuple[int, int], random: np.random.Generator) -> Array:
    """Mean 0, variance 1."""
    if noise == "t3":
        tailed: Array = random.standard_t(DEGREES, size) / np.sqrt(DEGREES / (DEGREES - 2))
        return tailed
    normal = random.standard_normal(size)
    if noise == "outliers":
        wide = random.random(size) < HIT
        normal *= np.where(wide, WIDE_OUTLIER, 1.0) / np.sqrt(1 + HIT * (WIDE_OUTLIER**2 - 1))
    return normal


def _scaled(noise: str, standard: Array, cv: float) -> Array:
    """Mean 1, spread cv."""
    if noise != "lognormal":
        return 1 + cv * standard
    sigma = np.sqrt(np.log1p(cv * cv))
    made: Array = np.exp(sigma * standard - sigma * sigma / 2)
    return made


def _loads(size: tuple[int, int], random: np.random.Generator) -> Array:
    """Foreign load of each run beyond the usual, in percent of a core; most have none."""
    hit = random.random(size) < HIT
    logs = random.uniform(float(np.log(LOADS[0])), float(np.log(LOADS[1])), size)
    made: Array = np.where(hit, np.exp(logs), 0.0)
    return made


def _factor(load: Array, cv: float) -> Array:
    sensitivity = 0.1 if cv >= EVENT_DRIVEN_FROM else 0.001
    made: Array = 1 + np.minimum(sensitivity * load, 5.0)
    return made


def ratio_with_bursts(shape: Shape) -> float:
    """Ratio of the means over all runs, those hit by a burst included."""
    logs = np.log(LOADS)
    loads = np.exp(np.linspace(logs[0], logs[1], 100_001))
    x, y = (1 + HIT * float(np.mean(_factor(loads, cv) - 1)) for cv in (shape.cv_x, shape.cv_y))
    return shape.ratio * x / y


def draw(
    noise: str, shape: Shape, blocks: int, samples: int, random: np.random.Generator
) -> Sample:
    """Samples of a noise in a shape, as measured."""
    size = (samples, blocks)
    x = _scaled(noise, _standard(noise, size, random), shape.cv_x)
    y = _scaled(noise, _standard(noise, size, random), shape.cv_y)
    excluded = np.zeros(size, dtype=bool)
    if noise == "drift":
        line = 1 + DRIFT * np.linspace(-1, 1, blocks)
        x, y = x * line, y * line
    if noise in ("bursts", "hidden"):
        loads = _loads(size, random), _loads(size, random)
        x, y = x * _factor(loads[0], shape.cv_x), y * _factor(loads[1], shape.cv_y)
        if noise == "bursts":
            excluded = np.maximum(*loads) > LIMITS["foreign_percent_core"]
    return Sample(shape.ratio * x, y, excluded)
