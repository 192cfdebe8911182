"""Two collectors meet where their costs are equal, and not where the rate does not matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis.crossover.break_even import crossing, roots
from analysis.crossover.conditions import CONDITIONS
from analysis.crossover.model import Fit, Where
from analysis.crossover.outcome import Crossover
from analysis.crossover.region import COMBINATION, outside
from analysis.statistics.intervals import fieller, mean_interval

AT = Where(600, 80, 2, 1.0, 90)
POLLING = (150_000.0, 20_000.0, 0.0, 0.0, 0.0, 0.0, 0.0)
HOOK = (240_000.0, 0.0, 0.0, 300.0, 0.0, 600.0, 0.0)
COLD_POLLING = (150_000.0, 2_000.0, 0.0, 0.0, 200_000.0, 0.0, 0.0)
COLD_HOOK = (40_000.0, 0.0, 0.0, 300.0, 40_000.0, 400.0, 3_000.0)


def fit(
    arm: str,
    coefficients: tuple[float, ...],
    spread: float = 0.0,
    exact: bool = False,
    half: float = 0.0,
) -> Fit:
    """Three blocks; spread: how far the outer two lie from the middle, as a share."""
    rows = [np.array(coefficients) * factor for factor in (1 - spread, 1, 1 + spread)]
    return Fit(arm, exact, (1, 2, 3), np.array(rows), (), half)


@settings(max_examples=60, deadline=None)
@given(
    st.floats(60, 5000), st.floats(0.1, 60), st.floats(1, 4e4), st.floats(1, 3000),
    st.floats(0, 3e5), st.floats(0, 3e5),
)  # fmt: skip
def test_lines_cross_where_costs_are_equal(
    processes: float, interval: float, process: float, switch: float, one: float, other: float
) -> None:
    polling, hook = fit("p", (one, process, *[0.0] * 5)), fit("h", (other, *[0.0] * 4, switch, 0))
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
    dear = fit("h", (1e9, 0, 0, 0, 0, 600, 0))
    assert crossing(fit("p", POLLING), dear, AT).always == "p"
    flat = crossing(fit("p", POLLING), fit("q", (1e5, 1e4, 0, 0, 0, 0, 0)), AT)
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
    hook = Fit(
        "h", False, (1, 2, 3), np.array([(1e5, 0, 0, 0, 0, s, 0) for s in (1.0, 400.0, 900.0)])
    )
    found = crossing(fit("p", POLLING, 0.01), hook, AT).rate
    assert found.estimate is not None and found.high is None and found.note


@settings(max_examples=40, deadline=None)
@given(st.floats(100, 5000), st.floats(0.1, 60), st.floats(100, 3e4))
def test_curves_of_a_machine_that_goes_cold_cross_where_costs_are_equal(
    processes: float, interval: float, half: float
) -> None:
    polling = fit("p", COLD_POLLING, 0.04, half=half)
    hook = fit("h", COLD_HOOK, 0.02, half=half)
    where = replace(AT, processes=processes, interval_s=interval)
    found = crossing(polling, hook, where)
    assert found.rate.estimate is not None and found.steeper == "h"
    there = replace(where, switches_per_s=found.rate.estimate)
    assert hook.middle(there) == pytest.approx(polling.middle(there), rel=1e-6)
    above = replace(where, switches_per_s=found.rate.estimate * 1.01)
    assert hook.middle(above) > polling.middle(above)


def test_a_band_ends_where_the_t_interval_of_the_difference_reaches_0() -> None:
    polling, hook = fit("p", COLD_POLLING, 0.2, half=1e3), fit("h", COLD_HOOK, 0.02, half=1e3)
    rate = crossing(polling, hook, AT).rate
    assert rate.low is not None and rate.high is not None and rate.estimate is not None
    assert rate.low < rate.estimate < rate.high
    for end, side in ((rate.low, "high"), (rate.high, "low")):
        there = replace(AT, switches_per_s=end)
        apart = mean_interval(hook.each(there) - polling.each(there))
        assert abs(getattr(apart, side)) < 1e-6 * polling.middle(there)


def test_straight_lines_have_fiellers_interval() -> None:
    polling, hook = fit("p", POLLING, 0.05), fit("h", HOOK, 0.02)
    rate = crossing(polling, hook, AT).rate
    apart = hook.coefficients - polling.coefficients
    still = replace(AT, switches_per_s=0.0)
    wanted = fieller(-apart @ still.terms(0.0), apart[:, 5], skewed=False)
    assert (rate.low, rate.high) == pytest.approx((wanted.low, wanted.high), rel=1e-6)


def test_a_hook_that_is_dearer_on_a_cold_machine_again_is_said_to_be() -> None:
    dear_when_cold = (40_000.0, 0.0, 0.0, 0.0, 13e6, 400.0, 0.0)
    found = crossing(fit("p", POLLING, half=1e3), fit("h", dear_when_cold, half=1e3), AT)
    assert found.again is not None and found.rate.estimate is not None
    assert found.again < found.rate.estimate
    costs = []
    for rate in (found.again / 2, found.again * 1.1, found.rate.estimate * 2):
        there = replace(AT, switches_per_s=rate)
        costs.append(
            fit("h", dear_when_cold, half=1e3).middle(there) > fit("p", POLLING).middle(there)
        )
    assert costs == [True, False, True]


def test_roots_are_those_above_0() -> None:
    assert roots(np.array([2.0, -3.0, 1.0])) == pytest.approx([1.0, 2.0])
    assert roots(np.array([-1.0, 0.0, 0.0])) == [] and roots(np.zeros(3)) == []


def test_a_corner_that_nobody_measured_is_no_part_of_the_region(live: Crossover) -> None:
    assert outside(live.region, replace(live.usual, processes=5000, interval_s=10,
                                        switches_per_s=20_000)) == []  # fmt: skip
    corner = replace(live.usual, processes=60, switches_per_s=1e5, interval_s=10)
    assert outside(live.region, corner) == [COMBINATION]
    for point in live.points.index:
        at = live.place(point)
        where = Where(**{name: at[name] for name in CONDITIONS})
        assert outside(live.region, where) in ([], ["threads"], ["switches_per_s"]), point


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
