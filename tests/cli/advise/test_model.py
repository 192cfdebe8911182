"""The evaluation against what each block says by itself, and against scipy."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some
from scipy import stats

from analysis import contrasts
from analysis.crossover.region import SLACK
from analysis.statistics.intervals import fieller, mean_interval
from cli.advise import coefficients, forms, model, text
from cli.advise.coefficients import Arm, Model
from cli.advise.point import COMBINATION, Point, outside, possible_active, together

WIDE = {"processes": (1.0, 1e5), "threads": (0.0, 1e5), "switches_per_s": (1.0, 1e6),
        "active_tasks": (0.0, 1e5), "interval_s": (0.01, 1e3)}  # fmt: skip
costs = some.floats(0, 1e6)
blocks = some.lists(some.tuples(*(costs,) * 7), min_size=2, max_size=6)
HALF = 1000.0
points = some.builds(
    Point,
    some.floats(1, 1e5),
    some.floats(0, 1e5),
    some.floats(1, 1e6),
    some.floats(0.01, 1e3),
    some.floats(0, 1e5).map(lambda a: (a, a)),
)


def arm(name: str, rows: list[tuple[float, ...]]) -> Arm:
    return Arm(name, f"the {name}", dict(enumerate(rows)))


def of(*arms: Arm, unit: str = "ns") -> Model:
    half = HALF if unit == "ns" else 0.0
    return Model("run", "here", unit, "a machine", 0.95, WIDE, arms, half)


def by_block(rows: list[tuple[float, ...]], at: Point, half: float = HALF) -> Any:
    return np.array(rows) @ np.array(at.features(at.active[0], half))


@pytest.fixture
def made(file: Path) -> Model:
    return coefficients.choose(coefficients.load(file))


@settings(max_examples=40)
@given(blocks, points)
def test_a_cost_and_its_interval_are_those_of_the_blocks_values(
    rows: list[tuple[float, ...]], at: Point
) -> None:
    found = model.answer(of(arm("one", rows)), at)
    values = by_block(rows, at)
    wanted = mean_interval(values)
    cost = found.collectors[0].cost
    assert wanted.estimate is not None and wanted.low is not None
    size = max(values.max(), 1e-300)
    assert cost.estimate == pytest.approx(wanted.estimate, rel=1e-9, abs=1e-9 * size)
    # a spread far below the costs is at the mercy of rounding
    assert cost.low == pytest.approx(wanted.low, rel=1e-6, abs=1e-6 * size)


@settings(max_examples=40)
@given(blocks, blocks, points)
def test_the_least_is_named_first_and_dearer_ones_only_where_their_pairs_say_so(
    one: list[tuple[float, ...]], other: list[tuple[float, ...]], at: Point
) -> None:
    n = min(len(one), len(other))
    found = model.answer(of(arm("one", one[:n]), arm("other", other[:n])), at)
    first, second = found.collectors
    assert first.cost.estimate <= second.cost.estimate
    rows = {"one": one[:n], "other": other[:n]}
    apart = by_block(rows[first.arm], at) - by_block(rows[second.arm], at)
    upper = mean_interval(apart).high
    assert upper is not None
    if second.verdict == model.CHEAPER:
        assert upper < 1e-6 * np.abs(apart).max()
    elif n < model.INTERVAL_BLOCKS and upper < -1e-6 * np.abs(apart).max():
        pytest.fail("every block says cheaper, and so does the interval")


@settings(max_examples=40)
@given(blocks, blocks, points)
def test_a_band_is_fiellers(
    one: list[tuple[float, ...]], other: list[tuple[float, ...]], at: Point
) -> None:
    """Where the difference along the switch rate is open: Fieller's set of -intercept / slope."""
    n = min(len(one), len(other))
    form = forms.less(arm("one", one[:n]), arm("other", other[:n]), 0.95)
    assert form is not None
    start = (*at.features(at.active[0], HALF)[:5], 0.0, 0.0)
    along = (0.0,) * 5 + (1.0, 0.0)
    apart = np.array(one[:n]) - np.array(other[:n])
    wanted = fieller(-(apart @ np.array(start)), apart[:, 5], skewed=False)
    if wanted.low is None or wanted.high is None or not wanted.low > 0:
        return
    ends = forms.undecided(form, start, along, 0.0, 2 * wanted.high + 1)
    if wanted.high - wanted.low < 1e-6 * wanted.high:
        return
    assert len(ends) == 2
    assert ends == pytest.approx([wanted.low, wanted.high], rel=1e-5)

    def way(rate: float) -> tuple[float, ...]:
        return tuple(a + rate * b for a, b in zip(start, along, strict=True))

    lowest, highest = 0.9 * wanted.low, 1.1 * wanted.high
    if wanted.high < 1e9 * wanted.low:
        found = forms.undecided_over(form, way, lowest, highest)
        assert found == pytest.approx([wanted.low, wanted.high], rel=1e-5), "looked for, not solved"


@settings(max_examples=40)
@example([(0.0,) * 7, (0.0,) * 5 + (2.2250738585e-313, 1.0)], Point(1.0, 0.0, 1.0, 1.0, (0.0, 0.0)))
@given(blocks, points)
def test_a_form_is_zero_at_its_rates(rows: list[tuple[float, ...]], at: Point) -> None:
    signed = [tuple(v * (-1) ** n for n, v in enumerate(row)) for row in rows]
    form = forms.cost(arm("one", signed), 0.95)
    start = replace(at, switches_per_s=0.0).features(at.active[0], HALF)
    for rate in forms.rates(form, start, HALF):
        there = replace(at, switches_per_s=rate).features(at.active[0], HALF)
        size = sum(abs(m * v) for m, v in zip(form.mean, there, strict=True))
        assert abs(form.estimate(there)) <= 1e-6 * size


def test_margins_are_those_of_the_studies() -> None:
    assert model.RATIO_MARGIN == contrasts.RATIO_MARGIN
    assert model.NS_MARGIN / 1e7 == contrasts.DIFFERENCE_MARGIN
    assert model.INTERVAL_BLOCKS == contrasts.INTERVAL_BLOCKS
    assert 1 + coefficients.NEAR == SLACK, "what is near enough to what was measured"


def test_the_break_even_is_where_both_cost_the_same(made: Model) -> None:
    at = Point(600, 300, 3000, 1.0, (30, 30))
    found = model.answer(made, at)
    for line, moved in (
        (found.switches, lambda v: Point(600, 300, v, 1.0, (30, 30))),
        (found.interval, lambda v: Point(600, 300, 3000, v, (30, 30))),
    ):
        assert line is not None and line.low is not None and line.high is not None
        assert line.low < line.value < line.high
        there = {c.arm: c for c in model.answer(made, moved(line.value)).collectors}
        least = found.collectors[0].arm
        assert there[line.arm].cost.estimate == pytest.approx(there[least].cost.estimate, rel=1e-9)
        beyond = line.value * (1.01 if line.factor > 1 else 0.99)
        assert model.answer(made, moved(beyond)).collectors[0].arm == line.arm
        inside = (line.low + line.value) / 2
        assert model.answer(made, moved(inside)).verdict != model.CHEAPER


def test_known_active_tasks_never_widen_an_answer(made: Model) -> None:
    unknown = possible_active(made, 600, 300, 3000, 1.0)
    assert unknown == (0, 900)
    assert possible_active(made, 600, 300, 100, 1.0) == (0, 100), "each takes a switch"
    assert possible_active(made, 6000, 0, 9000, 1.0) == (0, 1000), "as far as was measured"
    open_ = model.answer(made, Point(600, 300, 3000, 1.0, unknown))
    shut = model.answer(made, Point(600, 300, 3000, 1.0, (450, 450)))
    widths = [
        {c.arm: (c.cost.low or 0, c.cost.high or 0) for c in found.collectors}
        for found in (open_, shut)
    ]
    for name, (low, high) in widths[1].items():
        assert widths[0][name][0] <= low <= high <= widths[0][name][1]


@pytest.mark.parametrize(
    ("factor", "values"),
    [
        ("processes", {"processes": 58}),
        ("processes", {"processes": 5110}),
        ("threads", {"threads": 30000}),
        ("switches_per_s", {"switches_per_s": 78}),
        ("switches_per_s", {"switches_per_s": 2.05e5}),
        ("active_tasks", {"active": (1030, 1030)}),
        ("interval_s", {"interval_s": 62}),
        ("interval_s", {"interval_s": 0.09}),
    ],
)
def test_outside_of_what_was_measured_there_is_no_number(
    made: Model, factor: str, values: dict[str, Any]
) -> None:
    inside = {"processes": 600, "threads": 300, "switches_per_s": 3000, "interval_s": 1.0,
              "active": (30, 30)}  # fmt: skip
    assert not model.answer(made, Point(**inside)).outside
    found = model.answer(made, Point(**{**inside, **values}))
    assert [beyond.factor for beyond in found.outside] == [factor]
    assert not found.collectors and found.switches is None and found.interval is None


@pytest.mark.parametrize(
    "values", [{"processes": 5050}, {"processes": 59.5}, {"switches_per_s": 79.0}]
)
def test_as_near_as_a_load_comes_to_what_was_asked_is_measured(
    made: Model, values: dict[str, Any]
) -> None:
    """A run that asks for 5,000 processes measures 4,999.8 of them on average."""
    inside = {"processes": 600, "threads": 300, "switches_per_s": 3000, "interval_s": 1.0,
              "active": (30, 30)}  # fmt: skip
    found = model.answer(made, Point(**{**inside, **values}))
    assert not found.outside and found.collectors


def test_a_combination_that_was_not_measured_has_no_number_though_each_value_was(
    made: Model,
) -> None:
    """A plane from few processes at many switches to many at few cuts the box."""
    few, many = (math.log(v) for v in (60.0, 5000.0))
    slow, fast = (math.log(v) for v in (80.0, 2e5))
    normal = (fast - slow, many - few, 0.0)
    cut = replace(made, planes=((*normal, -(normal[0] * few + normal[1] * fast)),), reach=2.0)
    inside = Point(500, 300, 3000, 1.0, (30, 30))
    assert model.answer(cut, inside).collectors and not outside(cut, inside)
    corner = Point(5000, 300, 2e5, 1.0, (30, 30))
    (beyond,) = model.answer(cut, corner).outside
    assert beyond.factor == COMBINATION and beyond.value == 2.0
    assert not model.answer(cut, corner).collectors and not outside(made, corner)
    assert "further than a factor of 2 from all" in text.outside([beyond])
    assert together(cut, (60, 2e5, 1.0)) and together(cut, (5000, 80, 1.0)), "on the plane"
    far = Point(6000, 300, 2e5, 1.0, (30, 30))
    assert [o.factor for o in outside(cut, far)] == ["processes"], "what is said first"


def test_the_ends_of_the_region_are_inside(made: Model) -> None:
    for end in (0, 1):
        ends = {name: limits[end] for name, limits in made.region.items()}
        active = ends.pop("active_tasks")
        assert model.answer(made, Point(**ends, active=(active, active))).collectors


def test_few_blocks_have_wide_intervals_or_none(content: Any, tmp_path: Path) -> None:
    at = Point(600, 300, 3000, 1.0, (30, 30))
    for number in (1, 2):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(content(blocks=number)))
        found = model.answer(coefficients.load(path)[0], at)
        assert (found.collectors[0].cost.low is None) == (number == 1)
        if number == 1:
            assert found.verdict == model.UNDETERMINED
        assert model.INDISTINGUISHABLE not in {c.verdict for c in found.collectors}


def test_equal_collectors_are_no_difference_that_matters() -> None:
    rows = [(*row, 0.0, 0.0, 0.0, 0.0, 0.0) for row in ((1e5, 1e4), (1.1e5, 1e4), (1e5, 1.1e4))] * 2
    near = [tuple(1.01 * v for v in row) for row in rows]
    at = Point(600, 0, 1000, 1.0, (0, 0))
    assert model.answer(of(arm("a", rows), arm("b", near)), at).verdict == model.INDISTINGUISHABLE
    # ten times as dear, but both cost less than what matters
    rare = Point(600, 0, 1000, 1000.0, (0, 0))
    dear = [tuple(3 * v for v in row) for row in rows]
    assert model.answer(of(arm("a", rows), arm("b", dear)), rare).verdict == model.INDISTINGUISHABLE


def test_instructions_have_the_range_of_their_perturbations_and_no_margin_in_time() -> None:
    rows = [(*row, 0.0, 0.0, 0.0, 0.0, 0.0) for row in ((1e5, 1e4), (1.2e5, 1e4), (0.9e5, 1e4))]
    dear = [tuple(3 * v for v in row) for row in rows]
    rare = Point(600, 0, 1000, 1000.0, (0, 0))
    found = model.answer(of(arm("a", rows), arm("b", dear), unit="instructions"), rare)
    assert found.verdict == model.CHEAPER, "each perturbation says so"
    values = sorted(by_block(rows, rare, 0.0))
    cost = found.collectors[0].cost
    assert (cost.low, cost.high) == pytest.approx((values[0], values[-1]))


def test_collectors_that_share_no_block_are_not_compared() -> None:
    rows = [(1e5, 1e4, 0.0, 0.0, 0.0, 0.0, 0.0)] * 2
    x, y = Arm("x", "x", {1: rows[0], 2: rows[1]}), Arm("y", "y", {3: (9e9,) * 7, 4: (9e9,) * 7})
    assert model.answer(of(x, y), Point(9, 0, 9, 1.0, (0, 0))).verdict == model.UNDETERMINED


def test_the_bound_is_no_less_than_half_the_interval(made: Model) -> None:
    form = forms.cost(made.arms[0], 0.95)
    x = Point(600, 300, 3000, 1.0, (30, 30)).features(30, made.half)
    half = form.half(x)
    assert half is not None and form.at_most(x) >= half > 0
    assert form.t == pytest.approx(stats.t.ppf(0.975, 7)) and math.isfinite(form.t)
