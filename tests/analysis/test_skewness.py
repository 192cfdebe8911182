"""Quantiles of a studentised mean that follow the skew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.statistics.intervals import mean_interval, quantile, skewed_mean_interval
from analysis.statistics.skewness import pivot_quantiles

values = st.lists(st.floats(-50, 50, allow_nan=False).map(lambda v: round(v, 3)), min_size=3,
                  max_size=12).filter(lambda v: len(set(v)) > 1)  # fmt: skip


def hall(t: float, a: float) -> float:
    """Hall's cubic as in the module's text."""
    return ((1 + a * t / 3) ** 3 - 1) / a + a / 6


@given(values)
def test_an_end_is_students_or_solves_halls_cubic_or_is_where_the_cubic_is_flat(
    data: list[float],
) -> None:
    z = np.array(data)
    t = quantile(len(z))
    lower, upper = (float(q) for q in pivot_quantiles(z, t))
    assert lower <= -t and t <= upper
    centred = z - z.mean()
    a = float((centred**3).mean() / (centred**2).mean() ** 1.5) / np.sqrt(len(z))
    if abs(a) < 1e-3:
        return
    for end, plain in ((lower, -t), (upper, t)):
        flat = 3 / abs(a)  # where the cubic has no slope: no further
        if end != pytest.approx(plain, rel=1e-9) and abs(end) != pytest.approx(flat, rel=1e-6):
            assert abs(end) < flat
            assert hall(end, a) == pytest.approx(plain, rel=1e-6)


@given(values, st.floats(0.01, 100), st.floats(-10, 10))
def test_mirror_scale_and_shift(data: list[float], factor: float, shift: float) -> None:
    z = np.array(data)
    lower, upper = pivot_quantiles(z, 2.5)
    mirrored = pivot_quantiles(-z, 2.5)
    assert (-mirrored[1], -mirrored[0]) == pytest.approx((lower, upper), rel=1e-6)
    moved = pivot_quantiles(factor * z + shift, 2.5)
    assert moved == pytest.approx((lower, upper), rel=1e-4)


def test_symmetric_and_constant_values_give_students() -> None:
    for z in (np.array([-2.0, -1.0, 0.0, 1.0, 2.0]), np.full(5, 3.0)):
        assert pivot_quantiles(z, 2.5) == (-2.5, 2.5)


def test_the_interval_is_longer_where_the_large_values_are() -> None:
    """Right-skewed: the mean may be far above, so the upper end moves and the lower one stays."""
    z = np.array([1.0, 1.1, 1.2, 1.0, 1.3, 4.0])
    plain, wide = mean_interval(z), skewed_mean_interval(z)
    assert wide.low == plain.low and wide.high > plain.high  # type: ignore[operator]


def test_one_outlying_value_sets_no_end_anywhere() -> None:
    """Eleven steady blocks and a burst: skewness 3.0, so |T| is at most 3 sqrt(12) / 3.0 = 3.4."""
    z = np.array([1.0, 1.01] * 5 + [1.0, 4.0])
    lower, upper = pivot_quantiles(z, quantile(12))
    assert -3.5 < lower < -3.3 and upper == quantile(12)


def test_rows_are_done_one_by_one() -> None:
    rows = np.random.default_rng(4).lognormal(size=(7, 6))
    together = pivot_quantiles(rows, 2.5)
    for i, row in enumerate(rows):
        assert pivot_quantiles(row, 2.5) == pytest.approx((together[0][i], together[1][i]))
