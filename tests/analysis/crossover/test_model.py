"""The fit finds the coefficients that costs were made from, and says how far off it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
import synthetic_crossover as made
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.crossover import model
from analysis.crossover.conditions import CONDITIONS
from analysis.crossover.model import TERMS, Where
from analysis.crossover.outcome import Crossover
from analysis.statistics.types import Array


def row(per: Sequence[float], cold: Sequence[float] = (0.0, 0.0)) -> Array:
    """Coefficients in the order of TERMS of one of `synthetic_crossover.TRUTH` and COLD."""
    return np.array([*per[:4], cold[0], per[4], cold[1]])


def cells(
    coefficients: Sequence[float],
    blocks: int = 2,
    noise: float = 0.0,
    seed: int = 1,
    half: float = 0.0,
) -> pd.DataFrame:
    """Costs of one arm over the synthetic design; coefficients as TERMS."""
    random = np.random.default_rng(seed)
    rows = []
    for block in range(1, blocks + 1):
        for point in made.points():
            extra = 80 + point["processes"] * (point["threads_per_process"] - 1)
            values = (point["processes"], extra, point["switching_tasks"])
            row = dict(zip(CONDITIONS, values, strict=False))
            row |= {"interval_s": point["interval_ms"] / 1e3}
            row |= {"switches_per_s": 90.0 + point["switches_per_s"]}
            at = Where(**{name: float(row[name]) for name in CONDITIONS})
            cost = float(np.array(coefficients) @ at.terms(half)) * np.exp(random.normal(0, noise))
            rows.append({"point": point["point"], "block": block, **row, "cost": cost})
    return pd.DataFrame(rows)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=6, max_size=6), st.sampled_from([0.0, 1e3, 1e4]))
def test_the_fit_recovers_known_coefficients(shares: list[float], half: float) -> None:
    sizes = (2e5, 2e4, 1e3, 1e3, 1e5, 600)
    truth = [
        1000.0 + shares[0] * sizes[0],
        *(s * z for s, z in zip(shares[1:], sizes[1:], strict=True)),
        0.0,
    ]
    fitted = model.fit("x", cells(truth, half=half), exact=False, half=half)
    assert fitted is not None and fitted.blocks == (1, 2)
    at = [Where(p, 80, a, i, s) for p in (60, 5000) for a in (0, 64) for i in (0.1, 10)
          for s in (90, 1e5)]  # fmt: skip
    for where in at:
        assert fitted.at(where).estimate == pytest.approx(
            float(np.array(truth) @ where.terms(half)), rel=1e-6
        )


def test_absent_terms_do_not_push_the_others_off_their_value() -> None:
    held = 0
    for seed in range(40):
        found = cells([1e5, 2e4, 0, 0, 0, 0, 0], blocks=12, noise=0.05, seed=seed)
        fitted = model.fit("x", found, exact=False)
        assert fitted is not None and (fitted.centre() >= -1e-9).all()
        process = fitted.term("per_process")
        assert process.low is not None and process.high is not None
        held += process.low < 2e4 < process.high
        assert process.high - process.low < 2e3
    assert held >= 34  # of 40 at 95 %: fewer in one of two hundred such tests


def test_the_truth_of_every_arm_is_found(quiet: Crossover) -> None:
    for arm, fitted in quiet.fits.items():
        truth = made.TRUTH[arm][3]
        for name, value in zip(TERMS, row(truth), strict=True):
            found = fitted.term(name).estimate
            if name == "fixed":  # its 80 threads of the machine's own are told from it
                continue
            assert found == pytest.approx(value, rel=0.02, abs=0.02 * max(truth[4], 5.0)), (
                arm,
                name,
            )
        assert quiet.held_out_error(arm) == pytest.approx(0, abs=0.005)


def test_held_out_points_are_not_fitted_and_their_error_is_small(live: Crossover) -> None:
    assert live.held_out == [12, 13]
    for arm in live.arms:
        error = live.held_out_error(arm)
        assert error is not None and 0 < error < model.HELD_OUT_LIMIT
        assert set(live.errors[arm].index) == set(range(1, 15))


def test_a_range_over_perturbations_is_no_interval(counted: Crossover) -> None:
    assert counted.exact and counted.unit == "instructions"
    term = counted.fits["proc_stat"].term("per_process")
    values = counted.fits["proc_stat"].coefficients[:, 1]
    assert (term.low, term.high) == (values.min(), values.max())
    assert term.estimate == np.median(values) and "perturbations" in term.note


def test_a_term_that_the_plan_does_not_vary_is_left_out() -> None:
    same = [{**p, "threads_per_process": 1, "switching_tasks": 2} for p in made.points()]
    assert model.not_varied(same) == ("per_thread", "per_active")
    fitted = model.fit("x", cells([1e5, 2e4, 0, 0, 0, 5, 0]), False, ("per_thread", "per_active"))
    assert fitted is not None and (fitted.coefficients[:, 2:4] == 0).all()
    assert fitted.term("per_switch").estimate == pytest.approx(5)


def test_a_block_with_fewer_points_than_terms_is_not_fitted() -> None:
    found = cells([1e5, 2e4, 0, 0, 0, 5, 0])
    few = found[(found["block"] == 1) | (found["point"] < 4)]
    fitted = model.fit("x", few, exact=False)
    assert fitted is not None and fitted.blocks == (1,)
    assert model.fit("x", few[few["block"] == 2], exact=False) is None
    assert model.fit("x", found.assign(cost=0.0), exact=False) is None


def test_an_error_without_a_cost_is_none() -> None:
    assert model.median_error(pd.Series([float("nan")])) is None
    assert model.median_error(pd.Series([-0.2, 0.1, float("nan")])) == pytest.approx(0.15)
