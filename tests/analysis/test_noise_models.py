"""The simulated noise is what its name says."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.statistics.noise_models import (
    HIT,
    NOISES,
    SHAPES,
    Shape,
    draw,
    ratio_with_bursts,
)

SHAPE = Shape(26, 0.04, 0.6)


@pytest.mark.parametrize("noise", [n for n in NOISES if n not in ("drift", "bursts", "hidden")])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_mean_ratio_and_spread(noise: str, shape: Shape) -> None:
    sample = draw(noise, shape, 10, 20_000, np.random.default_rng(1))
    assert sample.x.mean() / sample.y.mean() == pytest.approx(shape.ratio, rel=0.02)
    for values, cv in ((sample.x, shape.cv_x), (sample.y, shape.cv_y)):
        assert values.std() / values.mean() == pytest.approx(cv, rel=0.15)


def test_the_drift_is_a_line_that_both_arms_share_and_that_leaves_the_means() -> None:
    steady = Shape(3, 1e-9, 1e-9)
    sample = draw("drift", steady, 5, 4, np.random.default_rng(1))
    assert sample.y[0] == pytest.approx([0.8, 0.9, 1.0, 1.1, 1.2])
    assert sample.x == pytest.approx(3 * sample.y)


def test_bursts_are_recorded_in_one_noise_and_not_in_the_other() -> None:
    made = {n: draw(n, SHAPE, 10, 20_000, np.random.default_rng(1)) for n in ("bursts", "hidden")}
    assert made["hidden"].excluded.sum() == 0
    above = np.log(110 / 25) / np.log(110 / 5) * HIT  # share of runs beyond the limit
    assert made["bursts"].excluded.mean() == pytest.approx(1 - (1 - above) ** 2, rel=0.05)
    raised = made["hidden"].x.mean() / made["hidden"].y.mean()
    assert raised == pytest.approx(ratio_with_bursts(SHAPE), rel=0.02) and raised < 22
