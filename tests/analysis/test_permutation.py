"""Sign-flip p against brute force, its reach, and Holm."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.statistics.permutation import (
    EXACT_UP_TO,
    blocks_needed,
    holm,
    sign_flip_p,
    smallest_p,
)

# Whole numbers have exact sums: the brute force then needs no tolerance of its own.
whole = st.integers(-50, 50)
p_value = st.one_of(st.none(), st.floats(0, 1))


def brute_force(d: list[int]) -> float:
    sums = [abs(sum(s * v for s, v in zip(signs, d, strict=True)))
            for signs in itertools.product((1, -1), repeat=len(d))]  # fmt: skip
    return sum(s >= abs(sum(d)) for s in sums) / len(sums)


@given(st.lists(whole, min_size=1, max_size=9))
def test_p_equals_brute_force_with_ties_and_zeros(d: list[int]) -> None:
    assert sign_flip_p(np.array(d, dtype=float)) == pytest.approx(brute_force(d), abs=0)


@given(st.lists(whole, min_size=1, max_size=9), st.floats(1e-9, 1e9))
def test_p_does_not_depend_on_unit_order_or_direction(d: list[int], unit: float) -> None:
    p = sign_flip_p(np.array(d, dtype=float))
    assert sign_flip_p(np.array(d) * unit) == p
    assert sign_flip_p(-np.array(d, dtype=float)) == p
    assert sign_flip_p(np.array(d[::-1], dtype=float)) == p


@pytest.mark.parametrize("n", [1, 2, 5, 6, 12, EXACT_UP_TO])
def test_the_smallest_p_is_reached_and_never_undercut(n: int) -> None:
    assert sign_flip_p(np.arange(1.0, n + 1)) == pytest.approx(smallest_p(n), abs=0)


def test_identical_pairs_give_one_and_not_nan() -> None:
    assert sign_flip_p(np.zeros(5)) == 1.0
    assert sign_flip_p(np.array([])) == 1.0


def test_more_than_twenty_blocks_are_sampled_with_a_seed() -> None:
    random = np.random.default_rng(1)
    d = random.normal(0.4, 1, 24)
    assert sign_flip_p(d) == sign_flip_p(d)
    assert 0 < sign_flip_p(np.ones(30)) < 1e-4
    assert sign_flip_p(d) == pytest.approx(sign_flip_p(d, seed=2), abs=0.01)


def test_sampled_and_exact_p_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    d = np.random.default_rng(5).normal(0.4, 1, 14)
    exact = sign_flip_p(d)
    monkeypatch.setattr("analysis.statistics.permutation.EXACT_UP_TO", 10)
    assert sign_flip_p(d) == pytest.approx(exact, abs=0.005)


def test_a_drift_hides_the_effect_from_an_unpaired_test_only() -> None:
    """A drift of 0..50 with an effect of +1 (Welch: p = .90)."""
    from scipy import stats

    drift = np.linspace(0, 50, 18)
    noise = np.random.default_rng(2).normal(0, 0.2, 18)
    x, y = drift + 1 + noise, drift
    assert stats.ttest_ind(x, y, equal_var=False).pvalue > 0.5
    assert sign_flip_p(x - y) < 1e-4


@pytest.mark.parametrize(("m", "n"), [(1, 6), (2, 7), (3, 7), (4, 8), (6, 8)])
def test_blocks_needed_is_the_first_number_that_reaches_the_level(m: int, n: int) -> None:
    assert blocks_needed(m) == n
    assert m * smallest_p(n) < 0.05 <= m * smallest_p(n - 1)


def test_holm_by_hand() -> None:
    """Holm (1979): sorted p .01 .02 .03 .04 times 4 3 2 1, made monotone."""
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])


@given(st.lists(p_value, max_size=7))
@settings(max_examples=200)
def test_holm_is_monotone_never_below_p_and_keeps_the_declared_size(ps: list[float | None]) -> None:
    adjusted = holm(ps)
    tested = sorted(
        (p, a) for p, a in zip(ps, adjusted, strict=True) if p is not None and a is not None
    )
    assert [a for _, a in tested] == sorted(a for _, a in tested)
    assert all(p <= a <= 1 for p, a in tested)
    if tested:
        assert tested[0][1] == pytest.approx(min(1.0, len(ps) * tested[0][0]))
    assert [p is None for p in ps] == [a is None for a in adjusted]
