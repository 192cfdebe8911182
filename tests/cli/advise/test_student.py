"""Student's quantiles against scipy's, which `advise` itself cannot have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import stats

from cli.advise.student import quantile, within


@given(some.integers(1, 400), some.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999]))
def test_quantiles_are_scipys(df: int, level: float) -> None:
    assert quantile(df, level) == pytest.approx(stats.t.ppf(0.5 + level / 2, df), rel=1e-9)


@given(some.integers(1, 400), some.floats(0, 1e3))
def test_probabilities_are_scipys(df: int, t: float) -> None:
    assert within(t, df) == pytest.approx(1 - 2 * stats.t.sf(t, df), abs=1e-9)


@pytest.mark.parametrize(("df", "level"), [(0, 0.95), (3, 0.0), (3, 1.0)])
def test_what_has_no_quantile_is_refused(df: int, level: float) -> None:
    with pytest.raises(ValueError):
        quantile(df, level)
