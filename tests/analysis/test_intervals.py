"""Fieller and t intervals: coverage, symmetries, and every degenerate input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.statistics.intervals import Interval, fieller, mean_interval, quantile
from analysis.statistics.skewness import pivot_quantiles

positive = st.floats(0.01, 100.0, allow_nan=False)


def pairs(low: int = 3, high: int = 12) -> st.SearchStrategy[tuple[list[float], list[float]]]:
    return st.integers(low, high).flatmap(
        lambda n: st.tuples(
            st.lists(positive, min_size=n, max_size=n), st.lists(positive, min_size=n, max_size=n)
        )
    )


def test_mean_interval_is_students() -> None:
    values = np.array([1.0, 2.0, 4.0, 7.0])
    low, high = stats.t.interval(0.95, 3, loc=values.mean(), scale=stats.sem(values))
    found = mean_interval(values)
    assert (found.low, found.high) == pytest.approx((low, high))


@pytest.mark.parametrize("n", [6, 12])
def test_fieller_covers_the_true_ratio(n: int) -> None:
    """2000 normal samples, correlated in pairs: plain 95 % ± 1.5 points (three standard errors).

    Widening costs a point and a half at most.
    """
    random = np.random.default_rng(7)
    hits = {True: 0, False: 0}
    for _ in range(2000):
        common = random.normal(0, 0.05, n)
        x = 1.2 * (1 + common + random.normal(0, 0.1, n))
        y = 0.1 * (1 + common + random.normal(0, 0.2, n))
        for skewed in hits:
            found = fieller(x, y, skewed=skewed)
            assert found.low is not None
            hits[skewed] += found.low <= 12 <= (found.high or np.inf)
    assert 0.935 <= hits[False] / 2000 <= 0.965
    assert hits[False] <= hits[True] <= hits[False] + 0.025 * 2000


def test_fieller_covers_a_skewed_ratio_better_than_plain() -> None:
    """A steady arm against a log-normal one of 60 % spread, 8 blocks, 2000 samples."""
    random = np.random.default_rng(8)
    hits = {True: 0, False: 0}
    for _ in range(2000):
        x, y = random.normal(26, 1, 8), random.lognormal(-0.1537, 0.5545, 8)
        for skewed in hits:
            found = fieller(x, y, skewed=skewed)
            hits[skewed] += found.low is not None and found.low <= 26 <= (found.high or np.inf)
    assert hits[False] / 2000 < 0.93 and 0.93 <= hits[True] / 2000 <= 0.97


def test_fieller_agrees_with_a_bootstrap_for_many_blocks() -> None:
    random = np.random.default_rng(3)
    x, y = random.normal(3, 0.4, 200), random.normal(1, 0.2, 200)
    picks = random.integers(0, 200, size=(4000, 200))
    ratios = x[picks].mean(axis=1) / y[picks].mean(axis=1)
    found = fieller(x, y)
    assert (found.low, found.high) == pytest.approx(
        tuple(np.quantile(ratios, [0.025, 0.975])), rel=0.01
    )


@given(pairs())
def test_fieller_set_holds_exactly_the_ratios_that_its_pivot_accepts(
    data: tuple[list[float], list[float]],
) -> None:
    x, y = np.array(data[0]), np.array(data[1])
    t = quantile(len(x))
    for skewed in (True, False):
        found = fieller(x, y, skewed=skewed)
        if found.low is None or found.high is None or found.note:
            continue
        ends = (-t, t)
        if skewed:
            ends = pivot_quantiles(x - found.estimate * y, t)  # type: ignore[assignment, operator]
        for end, wanted in ((found.low, ends[1]), (found.high, ends[0])):
            d = x - end * y
            assert d.mean() / (d.std(ddof=1) / np.sqrt(len(d))) == pytest.approx(wanted, rel=1e-3)
        assert found.low <= found.estimate <= found.high  # type: ignore[operator]


@given(pairs(), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_fieller_scales_with_its_units(
    data: tuple[list[float], list[float]], a: float, b: float
) -> None:
    x, y = np.array(data[0]), np.array(data[1])
    plain, scaled = fieller(x, y), fieller(a * x, b * y)
    assert scaled.estimate == pytest.approx(plain.estimate * a / b, rel=1e-9)  # type: ignore[operator]
    for one, other in ((plain.low, scaled.low), (plain.high, scaled.high)):
        if one is not None and other is not None:
            assert other == pytest.approx(one * a / b, rel=1e-5, abs=1e-9 * a / b)


@given(pairs(4))
def test_swapping_the_arms_inverts_the_interval(data: tuple[list[float], list[float]]) -> None:
    x, y = np.array(data[0]), np.array(data[1])
    forth, back = fieller(x, y), fieller(y, x)
    ends = (forth.low, forth.high, back.low, back.high)
    if all(v is not None and v > 1e-6 for v in ends):
        assert forth.low == pytest.approx(1 / back.high, rel=1e-5)  # type: ignore[operator]
        assert forth.high == pytest.approx(1 / back.low, rel=1e-5)  # type: ignore[operator]


@given(st.lists(positive, min_size=2, max_size=12), st.floats(0.1, 10))
def test_a_constant_ratio_has_an_interval_of_no_width(values: list[float], factor: float) -> None:
    y = np.array(values)
    found = fieller(factor * y, y)
    assert found.low == found.high == found.estimate == pytest.approx(factor)


@pytest.mark.parametrize(("n", "limit"), [(2, 0.1113), (6, 0.9529), (12, 1.5739)])
def test_the_interval_is_bounded_up_to_the_stated_spread(n: int, limit: float) -> None:
    """The coefficients of variation in the module's text, checked on both sides."""
    assert n**0.5 / quantile(n) == pytest.approx(limit, abs=5e-4)
    shape = np.array([1.0, -1.0] * (n // 2))
    shape /= shape.std(ddof=1)
    x = 10 + np.linspace(0, 1, n)
    inside, outside = fieller(x, 1 + 0.99 * limit * shape), fieller(x, 1 + 1.01 * limit * shape)
    assert inside.high is not None
    assert outside.high is None and "no upper bound" in outside.note


def test_an_unbounded_ratio_still_says_its_lower_end() -> None:
    found = fieller(np.array([10.0, 11.0, 9.0, 10.0]), np.array([0.1, 1.9, -0.5, 1.0]))
    assert found.estimate is not None and found.high is None
    assert found.low is not None and 0 < found.low < found.estimate


@pytest.mark.parametrize(
    ("x", "y", "note"),
    [
        ([], [], "no valid block"),
        ([1.0], [2.0], "one block"),
        ([1.0, 2.0], [0.0, 0.0], "not above zero"),
        ([0.0, 0.0], [0.0, 0.0], "not above zero"),
        ([1.0, 2.0], [-1.0, -2.0], "not above zero"),
        ([0.0, 0.0, 0.0], [1.0, 2.0, 3.0], "same ratio"),
        ([0.04] * 10, [0.04] * 10, "same ratio"),
    ],
)
def test_degenerate_pairs_have_a_stated_outcome(x: list[float], y: list[float], note: str) -> None:
    found = fieller(np.array(x), np.array(y))
    assert note in found.note
    assert all(v is None or np.isfinite(v) for v in (found.estimate, found.low, found.high))


def test_a_constant_has_no_spread_whatever_its_rounding() -> None:
    """[.04] * 10 against [.04] * 30 must not differ (p = 4.6e-06 by a careless t test)."""
    for n in (2, 10, 30):
        found = mean_interval(np.array([0.04] * n) * 3 / 3)
        assert found.low == found.high == found.estimate
        assert "constant" in found.note


def test_inside_needs_both_ends() -> None:
    assert Interval(1, 0.95, 1.05, 6).inside(0.9, 1.1)
    assert not Interval(1, 0.95, None, 6).inside(0.9, 1.1)
    assert not Interval(1, 0.85, 1.05, 6).inside(0.9, 1.1)
