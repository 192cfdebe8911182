"""Detectable effects: the level that can be attained, and the power that results."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.permutation import sign_flip_p
from analysis.statistics.power import attainable_level, detectable_factor
from experiment import power as planned


@pytest.mark.parametrize(
    ("n", "m", "level"),
    [(5, 1, None), (6, 1, 1 / 32), (7, 1, 3 / 64), (8, 6, 1 / 128), (7, 6, None), (30, 2, 0.025)],
)
def test_the_attainable_level_is_the_largest_p_below(n: int, m: int, level: float | None) -> None:
    assert attainable_level(n, m) == level


@pytest.mark.parametrize(("n", "m"), [(6, 1), (8, 6)])
def test_with_the_fewest_blocks_all_differences_must_have_one_sign(n: int, m: int) -> None:
    factor = detectable_factor(n, m)
    assert factor is not None and stats.norm.cdf(factor) ** n == pytest.approx(0.8)


@pytest.mark.parametrize(("n", "m"), [(6, 1), (8, 1), (9, 6), (12, 6)])
def test_the_detectable_effect_is_found_four_times_in_five(n: int, m: int) -> None:
    """1500 simulated runs: 80 % ± 4 points, four Monte Carlo errors."""
    factor = detectable_factor(n, m)
    assert factor is not None
    runs = np.random.default_rng(n).normal(factor, 1, (1500, n))
    assert 0.76 <= np.mean([m * sign_flip_p(d) < 0.05 for d in runs]) <= 0.84


@pytest.mark.parametrize("m", [1, 3, 6])
def test_more_blocks_detect_less_and_more_contrasts_more(m: int) -> None:
    factors = [f for n in range(6, 40) if (f := detectable_factor(n, m)) is not None]
    assert factors == sorted(factors, reverse=True)
    assert detectable_factor(12, m) <= detectable_factor(12, m + 1)  # type: ignore[operator]


@pytest.mark.parametrize(("n", "m"), [(6, 1), (8, 6), (12, 1), (12, 6), (20, 3)])
def test_a_plan_promises_what_the_analysis_states(n: int, m: int) -> None:
    """The planning side has the central t instead of the noncentral: within 3 %."""
    assert planned.smallest_effect(1.0, n, m) == pytest.approx(detectable_factor(n, m), rel=0.03)
    assert planned.smallest_effect(1.0, 5, 1) is None
