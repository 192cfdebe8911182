"""Variance components: unbiased, and zero where there is nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.statistics.variance import between, split


def test_known_numbers() -> None:
    found = split([np.array([1.0, 3.0]), np.array([5.0, 7.0])])
    assert found is not None
    # inside: 2 of 2 degrees of freedom; means 2 and 6, variance 8; block 8 - 2 / 2
    assert (found.mean, found.scrape, found.observed) == (4.0, 2.0, 8.0)
    assert found.block == 7.0 and found.scrape_share == pytest.approx(1 / 8)


@pytest.mark.parametrize(("block_sd", "scrape_sd"), [(1.0, 2.0), (0.0, 1.0), (2.0, 0.5)])
def test_components_are_unbiased_also_with_scrapes_missing(
    block_sd: float, scrape_sd: float
) -> None:
    """A thousand runs of eight blocks with two to five scrapes: within four standard errors."""
    random = np.random.default_rng(1)
    sizes = [5, 5, 4, 5, 2, 5, 3, 5]
    scrape, block = [], []
    for _ in range(1000):
        values = [random.normal(random.normal(10, block_sd), scrape_sd, size=k) for k in sizes]
        found = split(values)
        assert found is not None and found.scrape is not None and found.block is not None
        scrape.append(found.scrape)
        block.append(found.block)
    for estimates, true in ((scrape, scrape_sd**2), (block, block_sd**2)):
        error = float(np.std(estimates)) / len(estimates) ** 0.5
        assert abs(float(np.mean(estimates)) - true) < 4 * error


def test_longer_windows_pay_where_scrapes_scatter() -> None:
    random = np.random.default_rng(2)
    noisy = split([random.normal(10 + b % 2, 5, size=50) for b in range(10)])
    still = split([random.normal(10 + 5 * (b % 2), 0.5, size=50) for b in range(10)])
    assert noisy is not None and still is not None
    assert (still.best_scrapes(1.0, 1.0) or 0) == 1
    assert (noisy.best_scrapes(1.0, 1.0) or 99) > 1
    # a trial that takes a hundred times as long to set up wants more scrapes
    assert (still.best_scrapes(1.0, 100.0) or 0) >= (still.best_scrapes(1.0, 1.0) or 0)


@given(st.lists(st.lists(st.floats(-1e6, 1e6), max_size=5), max_size=6))
def test_whatever_comes_is_a_number_or_nothing(blocks: list[list[float]]) -> None:
    found = split([np.array(b) for b in blocks])
    if found is None:
        assert sum(1 for b in blocks if b) < 2
        return
    assert np.isfinite(found.observed)
    assert found.scrape is None or np.isfinite(found.scrape)
    assert found.scrape_share is None or 0 <= found.scrape_share <= 1


def test_constant_blocks_have_no_variance_and_no_share() -> None:
    found = split([np.array([2.0, 2.0])] * 3)
    assert found is not None
    assert (found.observed, found.scrape, found.block, found.scrape_share) == (0, 0, 0, None)
    assert found.best_scrapes(1, 1) is None
    alone = split([np.array([1.0]), np.array([2.0])])
    assert alone is not None and alone.scrape is None and alone.block is None


def test_sessions_that_differ_by_their_blocks_only_are_rarely_told_apart() -> None:
    random = np.random.default_rng(3)
    ps, parts = [], []
    for _ in range(1500):
        blocks = random.normal(5, 1, size=(3, 12))
        errors = blocks.var(axis=1, ddof=1) / 12
        found = between(list(blocks.mean(axis=1)), list(errors), 33)
        assert found is not None and found.p is not None
        ps.append(found.p)
        parts.append(found.variance)
    assert 0.03 < np.mean(np.array(ps) < 0.05) < 0.07
    assert abs(np.mean(parts)) < 4 * np.std(parts) / len(parts) ** 0.5


def test_sessions_far_apart_are_told_apart() -> None:
    found = between([1.0, 2.0, 3.0], [1e-4, 1e-4, 1e-4], 33)
    assert found is not None and found.p is not None and found.p < 1e-6
    assert found.variance == pytest.approx(1.0, rel=1e-3)
    assert between([1.0], [0.1], 3) is None
    still = between([1.0, 1.0], [0.0, 0.0], 4)
    assert still is not None and still.p is None and still.variance == 0
