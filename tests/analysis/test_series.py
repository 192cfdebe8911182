"""Order over blocks, and rates with their exact intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.series import autocorrelation, rate, widening


def related(random: np.random.Generator, n: int, rho: float) -> np.ndarray:
    made = [random.normal() / (1 - rho**2) ** 0.5]
    for _ in range(n - 1):
        made.append(rho * made[-1] + random.normal())
    return np.array(made)


def test_known_series() -> None:
    found, p = autocorrelation(np.array([1.0, -1.0] * 6))
    assert found.estimate is not None and found.high is not None
    assert found.estimate == pytest.approx(-11 / 12 + 1 / 12) and found.high < 0
    assert p is not None and p < 0.01


@pytest.mark.parametrize("rho", [0.0, 0.3])
def test_the_interval_covers_and_p_holds_its_level(rho: float) -> None:
    random = np.random.default_rng(7)
    covered, small, runs = 0, 0, 150
    for _ in range(runs):
        found, p = autocorrelation(related(random, 12, rho))
        assert found.low is not None and found.high is not None and p is not None
        covered += found.low <= rho <= found.high
        small += p < 0.05
    assert covered >= 0.93 * runs
    if rho == 0:
        assert small <= 0.11 * runs  # binomial, p < .002


def test_few_or_constant_blocks_say_why_there_is_no_answer() -> None:
    for values, word in (([1.0, 2.0, 1.0], "6 blocks"), ([3.0] * 8, "constant")):
        found, p = autocorrelation(np.array(values))
        assert found.estimate is None and p is None and word in found.note


def test_a_correlation_widens_what_blocks_alone_would_say() -> None:
    assert widening(0.0) == widening(-0.5) == 1.0
    assert widening(0.6) == pytest.approx(2.0)
    assert widening(None) is None and widening(1.0) is not None


def test_the_rate_is_clopper_and_pearsons() -> None:
    found = rate(1, 20)
    low, high = stats.beta.ppf(0.025, 1, 20), stats.beta.ppf(0.975, 2, 19)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert (rate(0, 4).low, rate(4, 4).high) == (0.0, 1.0)
    assert rate(0, 0).estimate is None
