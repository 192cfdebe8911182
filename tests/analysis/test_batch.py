"""The twin that is simulated says what the analysis says, on random and on difficult input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import contrasts
from analysis.statistics import batch
from analysis.statistics.intervals import Interval, fieller, mean_interval, skewed_mean_interval
from analysis.statistics.types import Array

# Costs of all kinds: clearly positive, near zero, net costs below zero, ties, wide spreads.
cost = st.one_of(
    st.floats(0.01, 5), st.floats(-0.5, 0.5), st.sampled_from([0.0, 0.1, 1.0]), st.floats(1, 1e4)
).map(lambda v: round(v, 4))


def pairs() -> st.SearchStrategy[tuple[list[float], list[float]]]:
    return st.integers(2, 12).flatmap(
        lambda n: st.tuples(
            st.lists(cost, min_size=n, max_size=n), st.lists(cost, min_size=n, max_size=n)
        )
    )


def agree(ends: batch.Ends, one: Interval) -> None:
    low, high = float(ends.low[0]), float(ends.high[0])
    if one.low is None:
        assert np.isnan(low)
    elif one.high is None:
        assert low == pytest.approx(one.low, rel=1e-6, abs=1e-9) and np.isinf(high)
    else:
        assert (low, high) == pytest.approx((one.low, one.high), rel=1e-6, abs=1e-9)


def well_conditioned(x: Array, y: Array) -> bool:
    """Not within rounding of a branch: the two compute the same numbers in another order."""
    if np.ptp(x) == 0 or np.ptp(y) == 0 or y.mean() <= 0.001:
        return False
    z = x - x.mean() / y.mean() * y
    return float(np.ptp(z)) > 1e-6 * float(np.max(np.abs(x)) + 1)


@given(pairs())
@settings(max_examples=150)
def test_ratio_of_each_row(data: tuple[list[float], list[float]]) -> None:
    x, y = np.array(data[0]), np.array(data[1])
    if not well_conditioned(x, y):
        return
    for skewed in (True, False):
        agree(batch.ratios(x[None], y[None], skewed), fieller(x, y, skewed=skewed))
    agree(batch.stated_ratios(x[None], y[None]), contrasts.stated_ratio(x, y))


@given(pairs())
def test_mean_of_each_row(data: tuple[list[float], list[float]]) -> None:
    x = np.array(data[0])
    if np.ptp(x) > 1e-6:
        agree(batch.means(x[None]), skewed_mean_interval(x))
        agree(batch.means(x[None], skewed=False), mean_interval(x))


def test_many_rows_at_once_are_the_rows_one_by_one() -> None:
    random = np.random.default_rng(2)
    x, y = random.lognormal(1, 0.3, (50, 8)), random.lognormal(0, 0.9, (50, 8))
    together = batch.stated_ratios(x, y)
    for i in range(50):
        agree(batch.Ends(together.low[[i]], together.high[[i]]), contrasts.stated_ratio(x[i], y[i]))


def test_equivalence_is_asked_as_the_verdict_does() -> None:
    x = np.full((1, 3), 1.0) + [[0.0, 0.001, 0.0]]
    y = np.full((1, 3), 1.0) + [[0.001, 0.0, 0.0]]
    assert batch.indistinguishable(batch.ratios(x, y), (0.9, 1.1), 3) == 0
    assert batch.indistinguishable(batch.ratios(x, y), (0.9, 1.1), 4) == 1
