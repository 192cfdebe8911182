"""A machine that goes cold: its rate is found, both costs of a switch, and what follows holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import synthetic_crossover as made

from analysis.crossover import half_cold, model
from analysis.crossover.conditions import CONDITIONS
from analysis.crossover.model import Where
from analysis.crossover.outcome import Crossover, compute
from analysis.crossover.warmth import share
from analysis.load import load_run
from analysis.measures import Measures
from analysis.statistics.intervals import mean_interval

HOOK = (430.0, 3_200.0)  # ns a switch when warm, and more when cold
SCATTER = 40_000.0  # ns, of one calibrated event


def added(
    half: float,
    blocks: int = 6,
    scatter: float = SCATTER,
    seed: int = 1,
    hook: tuple[float, float] = HOOK,
) -> pd.DataFrame:
    """Calibrations of one hook and of nothing, as `calibration.by_pause` has them."""
    random, rows = np.random.default_rng(seed), []
    for arm, (warm, more) in (("hook", hook), ("null_agent", (0.0, 0.0))):
        for block in range(1, blocks + 1):
            for pause, events in made.EVENTS.items():
                rate = 2e6 / (pause + 9)
                value = warm + more * made.cold(rate, half)
                value += random.normal(0, scatter / np.sqrt(events))
                rows.append((arm, pause, block, rate, value, events))
    columns = ["arm", "pause_us", "block", "rate", "value", "events"]
    return pd.DataFrame(rows, columns=columns)


def readers(half: float, noise: float = 0.03, seed: int = 1, blocks: int = 6) -> pd.DataFrame:
    """Reader's time of three arms over the synthetic design."""
    random, rows = np.random.default_rng(seed), []
    for arm in ("null_agent", "proc_stat_tuned", "sched_switch"):
        for block in range(1, blocks + 1):
            for point in made.points(held_out=()):
                rate = (made.IDLE_RATE + point["switches_per_s"]) * np.exp(random.normal(0, 0.01))
                cost = made.cost_per_s(arm, point, rate, half)[0]
                extra = made.OWN_THREADS + point["processes"] * (point["threads_per_process"] - 1)
                values = (point["processes"], extra, point["switching_tasks"])
                where = dict(
                    zip(CONDITIONS, (*values, point["interval_ms"] / 1e3, rate), strict=True)
                )
                each = {"arm": arm, "point": point["point"], "block": block, **where}
                rows.append({**each, "reader": cost * np.exp(random.normal(0, noise))})
    return pd.DataFrame(rows)


def test_half_are_cold_at_half_and_none_on_a_machine_that_never_is() -> None:
    rates = np.array([1e-6, 1_000.0, 1e12])
    assert share(rates, 1_000.0).tolist() == pytest.approx([1, 0.5, 0], abs=1e-8)
    assert share(rates, 0.0).tolist() == [0, 0, 0]


@pytest.mark.parametrize("half", [100.0, 1_000.0, 10_000.0])
def test_the_rate_that_the_rows_were_made_with_is_chosen(half: float) -> None:
    assert half_cold.choose(readers(half), added(half)) == half


def test_where_nothing_tells_it_the_rate_stays_what_it_is() -> None:
    assert half_cold.choose(readers(0.0), added(0.0)) == half_cold.RATES[0]
    nothing = readers(1e4).iloc[:0]
    assert half_cold.choose(nothing, added(1e4, blocks=1)) == half_cold.RATES[0]


def test_both_costs_of_a_switch_are_found_and_their_mean_is_never_below_0() -> None:
    exact = half_cold.by_block(added(3e3, scatter=0.0).query("arm == 'hook'"), 3e3)
    for both in exact.values():
        assert both == pytest.approx(HOOK)
    below = added(3e3, seed=3, hook=(300.0, -3_000.0)).query("arm == 'hook'")
    each = np.array(list(half_cold.by_block(below, 3e3).values()))
    assert each.mean(axis=0)[1] == pytest.approx(0, abs=1e-6) and each.mean(axis=0)[0] > 0
    assert each[:, 1].std() > 100, "what the blocks disagree by is not lost with the sign"


def test_a_hook_that_was_calibrated_at_one_pause_has_no_cold_cost() -> None:
    rows = added(3e3, scatter=0.0).query("arm == 'hook' and pause_us == 100")
    for warm, cold in half_cold.by_block(rows, 3e3).values():
        assert cold == 0 and warm == pytest.approx(rows["value"].mean())


def test_intervals_of_a_hooks_switch_hold_the_truth_as_often_as_they_say() -> None:
    """At three rates in 60 made-up runs of six blocks, with one of the rates beside the truth."""
    half, held = 2_000.0, []
    for seed in range(60):
        found, chosen = added(half, seed=seed), (1_000.0, 3_000.0)[seed % 2]
        each = np.array(list(half_cold.by_block(found.query("arm == 'hook'"), chosen).values()))
        for rate in (500.0, 5_000.0, 50_000.0):
            cold = share(np.array([rate]), chosen)[0]
            value = mean_interval(each[:, 0] + each[:, 1] * cold)
            truth = HOOK[0] + HOOK[1] * made.cold(rate, half)
            assert value.low is not None and value.high is not None
            held.append(value.low <= truth <= value.high)
    assert 0.88 <= np.mean(held) <= 0.99


@pytest.fixture(scope="module")
def cooled(tmp_path_factory: pytest.TempPathFactory) -> Crossover:
    """Six blocks of a machine that goes cold, readers and calibrations with noise."""
    folder = tmp_path_factory.mktemp("cooled") / "run"
    run = made.write(folder, made.plan(blocks=6), noise=0.05, half=3_000.0, scatter=10_000.0)
    found = compute(Measures(load_run(run)))
    assert found is not None
    return found


def test_what_is_foretold_of_held_out_points_holds_on_a_machine_that_goes_cold(
    cooled: Crossover,
) -> None:
    assert 1_800.0 <= cooled.half <= 5_600.0
    held = []
    for arm in cooled.arms:
        error = cooled.held_out_error(arm)
        assert error is not None and error < model.HELD_OUT_LIMIT
        for point in cooled.planned:
            place = cooled.place(point)
            where = Where(**{name: place[name] for name in CONDITIONS})
            parts = made.cost_per_s(arm, cooled.planned[point], where.switches_per_s, 3_000.0)
            at = cooled.fits[arm].at(where)
            assert at.low is not None and at.high is not None
            held.append(at.low <= sum(parts) <= at.high)
    # one run: its points share their arm's coefficients, and hold or do not together
    assert np.mean(held) > 0.7


def test_one_cost_per_switch_would_miss_what_two_foretell(cooled: Crossover) -> None:
    """The model as it was: no cold, everything fitted as one."""
    arm = "sched_switch_published"
    mine = cooled.cells[cooled.cells["arm"] == arm]
    kept = mine[~mine["point"].isin(cooled.held_out)]
    plain = model.fit(arm, kept, exact=False)
    assert plain is not None
    errors = model.foretold(plain, mine)["error"].abs()
    ours = cooled.errors[arm]["error"].abs()
    assert errors.median() > 2 * ours.median()
    assert errors[errors.index.isin(cooled.held_out)].median() > model.HELD_OUT_LIMIT


def test_a_reader_is_fitted_without_the_noise_of_its_calibration(tmp_path: Path) -> None:
    """A calibration far off moves the cost of a switch, and no other coefficient."""
    terms = []
    for scatter in (0.0, 8_000.0):
        run = made.write(
            tmp_path / f"run{scatter:.0f}", made.plan(), noise=0.02, seed=4, scatter=scatter
        )
        found = compute(Measures(load_run(run)))
        assert found is not None
        terms.append(found.fits["sched_switch"])
    quiet, loud = terms
    assert loud.term("per_switch").estimate != pytest.approx(quiet.term("per_switch").estimate)
    for name in ("fixed", "per_process", "per_active"):
        assert loud.term(name).estimate == pytest.approx(
            quiet.term(name).estimate, rel=0.25, abs=60
        )
