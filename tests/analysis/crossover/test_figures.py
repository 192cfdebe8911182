"""What the figures of a crossover run hold and say; nothing beyond what was measured is drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from analysis.crossover.outcome import Crossover
from analysis.crossover.region import outside
from analysis.figures import fit, frontier, slices
from analysis.figures.style import in_style
from analysis.results import Results


class OfRun:
    """The parts of Results that these figures look at."""

    def __init__(self, crossover: Crossover) -> None:
        self.crossover = crossover
        self.run = crossover.run


def results(crossover: Crossover) -> Results:
    return cast(Results, OfRun(crossover))


@pytest.fixture(scope="module")
def mapped(live: Crossover) -> list[dict[str, Any]]:
    return frontier.plotted(results(live))


def test_a_map_has_a_panel_an_interval_and_stays_inside_what_was_measured(
    live: Crossover, mapped: list[dict[str, Any]]
) -> None:
    cells = [row for row in mapped if row["kind"] == "cheapest"]
    assert len(cells) == frontier.GRID**2 * 3
    for row in cells:
        for name in ("processes", "switches_per_s"):
            low, high = live.region[name]
            assert low <= row[name] <= high
        assert row["value"] >= 1 and row["arm"] in live.arms
    lines = [row for row in mapped if row["kind"] == "line"]
    assert {row["pair"] for row in lines} == {"published", "floor"}
    for row in (*lines, *cells):
        at = {"processes": row["processes"], "interval_s": row["interval_s"]}
        rate = row["value"] if row["kind"] == "line" else row["switches_per_s"]
        place = replace(live.usual, switches_per_s=rate, **at)
        assert row["measured"] is (outside(live.region, place) == [])
    assert {row["measured"] for row in cells} == {True, False}, "corners are hatched"


def test_measured_points_and_the_articles_two_are_marked(
    live: Crossover, mapped: list[dict[str, Any]]
) -> None:
    points = {row["point"]: row for row in mapped if row["kind"] == "point"}
    assert set(points) == set(range(1, 15)) - {11}  # it has four threads a process
    assert points[3]["arm"] == "sched_switch" and points[6]["arm"] == "task_iter"
    article = [row for row in mapped if row["kind"] == "article"]
    assert [(row["processes"], row["interval_s"]) for row in article] == [(100, 1), (600, 1)]
    assert article[0]["value"] == live.usual.switches_per_s
    text = frontier.caption(results(live), mapped)
    assert "2 CPUs, synthetic CPU, Linux 6.1.0-synthetic" in text and "is not known" in text
    assert "a scrape every 10 s: share of the map" in frontier.alt(results(live), mapped).lower()


def test_slices_hold_two_conditions_and_show_the_points_beside_them(live: Crossover) -> None:
    rows = slices.plotted(results(live))
    held = {"processes": 600, "switches_per_s": 20_000, "interval_ms": 1000}
    assert slices.held(live) == held
    over_rate = [r for r in rows if (r["axis"], r["kind"]) == ("switches_per_s", "point")]
    assert {r["point"] for r in over_rate} == {2, 4, 5, 6, 12}
    lines = [r for r in rows if r["kind"] == "line"]
    assert all(r["low"] <= r["value"] <= r["high"] for r in lines)
    assert "600 processes" in slices.caption(results(live), rows)


def test_an_error_is_drawn_for_every_point_and_the_held_out_ones_apart(live: Crossover) -> None:
    rows = fit.plotted(results(live))
    assert len(rows) == 14 * 6 and sum(row["held_out"] for row in rows) == 12
    assert "median error at held-out points" in fit.alt(results(live), rows)


@pytest.mark.parametrize("width", [3.33, 7.0])
def test_every_figure_can_be_drawn(
    live: Crossover, mapped: list[dict[str, Any]], width: float
) -> None:
    r = results(live)
    with in_style():
        for kind, rows in ((frontier, mapped), (slices, slices.plotted(r)), (fit, fit.plotted(r))):
            assert kind.draw(r, rows, width).get_figwidth() == width  # type: ignore[attr-defined]


def test_a_run_without_a_model_has_no_map(live: Crossover) -> None:
    assert not frontier.applies(results(replace(live, fits={})))
    assert not slices.applies(results(replace(live, fits={})))
