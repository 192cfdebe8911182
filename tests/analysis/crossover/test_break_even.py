"""Two collectors meet where their costs are equal, and not where the rate does not matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis.crossover.break_even import crossing, outside
from analysis.crossover.model import Fit, Where
from analysis.crossover.outcome import Crossover

AT = Where(600, 80, 2, 1.0, 90)
POLLING = (150_000.0, 20_000.0, 0.0, 0.0, 0.0)
HOOK = (240_000.0, 0.0, 0.0, 300.0, 600.0)


def fit(arm: str, coefficients: tuple[float, ...], spread: float = 0.0, exact: bool = False) -> Fit:
    """Three blocks; spread: how far the outer two lie from the middle, as a share."""
    rows = [np.array(coefficients) * factor for factor in (1 - spread, 1, 1 + spread)]
    return Fit(arm, exact, (1, 2, 3), np.array(rows))


@settings(max_examples=60, deadline=None)
@given(
    st.floats(60, 5000), st.floats(0.1, 60), st.floats(1, 4e4), st.floats(1, 3000),
    st.floats(0, 3e5), st.floats(0, 3e5),
)  # fmt: skip
def test_lines_cross_where_costs_are_equal(
    processes: float, interval: float, process: float, switch: float, one: float, other: float
) -> None:
    polling, hook = fit("p", (one, process, 0, 0, 0)), fit("h", (other, 0, 0, 0, switch))
    where = replace(AT, processes=processes, interval_s=interval)
    found = crossing(polling, hook, where)
    assert (found.steeper, found.flatter) == ("h", "p")
    if found.rate.estimate is None:
        assert found.always == "p" and other >= one + process * processes * (1 - 1e-9)
        return
    assume(found.rate.estimate > 1e-3)
    there = replace(where, switches_per_s=found.rate.estimate)
    costs = [f.at(there).estimate for f in (polling, hook)]
    assert costs[0] == pytest.approx(costs[1], rel=1e-6)
    below = replace(where, switches_per_s=found.rate.estimate / 2)
    assert float(hook.at(below).estimate or 0) < float(polling.at(below).estimate or 0)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.1, 60), st.floats(1.01, 50))
def test_the_rate_falls_with_the_interval_as_its_inverse(interval: float, factor: float) -> None:
    polling, hook = fit("p", POLLING, 0.05), fit("h", HOOK, 0.02)
    near, far = (
        crossing(polling, hook, replace(AT, interval_s=seconds)).rate
        for seconds in (interval, interval * factor)
    )
    for end in ("estimate", "low", "high"):
        assert getattr(near, end) == pytest.approx(getattr(far, end) * factor)
        assert getattr(near, end) > getattr(far, end)


def test_the_order_of_the_two_does_not_matter_and_more_processes_shift_it_up() -> None:
    polling, hook = fit("p", POLLING, 0.05), fit("h", HOOK, 0.02)
    assert crossing(polling, hook, AT) == crossing(hook, polling, AT)
    rates = [crossing(polling, hook, replace(AT, processes=n)).rate.estimate for n in (60, 600)]
    assert rates[0] is not None and rates[1] is not None and rates[0] < rates[1]


def test_without_a_meeting_the_cheaper_one_is_named() -> None:
    dear = fit("h", (1e9, 0, 0, 0, 600))
    assert crossing(fit("p", POLLING), dear, AT).always == "p"
    flat = crossing(fit("p", POLLING), fit("q", (1e5, 1e4, 0, 0, 0)), AT)
    assert flat.always == "q" and flat.rate.estimate is None and "depends" in flat.rate.note
    with pytest.raises(ValueError, match="no block"):
        crossing(fit("p", POLLING), replace(fit("h", HOOK), blocks=(7, 8, 9)), AT)


def test_the_band_holds_the_estimate_and_is_a_range_where_nothing_is_sampled() -> None:
    found = crossing(fit("p", POLLING, 0.05), fit("h", HOOK), AT).rate
    assert found.low is not None and found.high is not None and found.estimate is not None
    assert found.low < found.estimate < found.high
    ranged = crossing(fit("p", POLLING, 0.05, True), fit("h", HOOK, 0, True), AT).rate
    truth = [(f * (150_000 + 12e6) - 240_600) / 600 for f in (0.95, 1.0, 1.05)]
    assert (ranged.low, ranged.estimate, ranged.high) == pytest.approx(truth)
    assert "perturbations" in ranged.note


def test_a_difference_per_switch_that_may_be_zero_leaves_the_band_open() -> None:
    hook = Fit("h", False, (1, 2, 3), np.array([(1e5, 0, 0, 0, s) for s in (1.0, 400.0, 900.0)]))
    found = crossing(fit("p", POLLING, 0.01), hook, AT).rate
    assert found.estimate is not None and found.high is None and found.note


def test_what_was_not_measured_is_said_by_name(live: Crossover) -> None:
    assert outside(live.region, live.usual) == []
    far = replace(live.usual, processes=9000, interval_s=60)
    assert outside(live.region, far) == ["processes", "interval_s"]
    found = live.meet("proc_stat", "sched_switch", replace(AT, interval_s=0.1, processes=5000))
    assert found.beyond == ("switches_per_s",)


def test_the_table_holds_every_pair_process_count_and_interval(live: Crossover) -> None:
    pairs = {(e.found.steeper, e.found.flatter) for e in live.break_even}
    assert len({frozenset(pair) for pair in pairs}) == 10
    assert len(live.break_even) == 10 * len(live.counts) * len(live.intervals)
    at = [e for e in live.break_even if {e.found.steeper, e.found.flatter} ==
          {"sched_switch_published", "proc_stat"} and e.where.processes == 600
          and e.where.interval_s == 1]  # fmt: skip
    truth = (150_000 + 20_000 * 600 + 300 * 80 - 240_000 - 600) / 600
    assert at[0].found.rate.estimate == pytest.approx(truth, rel=0.1)
    assert at[0].beyond == ()


def test_the_cheapest_is_named_with_the_next_ones_cost(live: Crossover) -> None:
    arm, ratio = live.cheapest(replace(live.usual, processes=5000, switches_per_s=100))
    assert arm == "sched_switch" and 2 < ratio < 4  # the published one is next
    assert live.cheapest(replace(live.usual, processes=60, switches_per_s=1e5))[0] == "task_iter"
