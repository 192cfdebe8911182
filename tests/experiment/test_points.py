"""Design points: what a preset may say, what a plan makes of it, and that a model can be fitted."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiment import backends, plan, points
from experiment.plan import PlanError
from experiment.reader import PresetError, Reader

ROOT = Path(__file__).resolve().parents[2]
PRESETS = plan.preset_names("crossover")
#: ns per scrape, process, further thread, active task and switch: about what was measured.
POLLER, PROGRAM = (60e3, 5e3, 50.0, 300.0, 20.0), (30e3, 150.0, 20.0, 400.0, 250.0)


def make(preset: str, **keys: Any) -> dict[str, Any]:
    return plan.build("crossover", preset, root=ROOT, **keys)


@pytest.fixture(scope="module")
def full() -> dict[str, Any]:
    return make("full")


@pytest.mark.parametrize("preset", PRESETS)
def test_every_point_is_visited_once_a_block_with_all_its_arms(preset: str) -> None:
    made = make(preset)
    assert 1 <= len(made["points"]) <= 60
    assert [p["point"] for p in made["points"]] == list(range(1, len(made["points"]) + 1))
    by_number = {p["point"]: p for p in made["points"]}
    keys = set(made["points"][0]) - {"held_out", "arms"}
    for block in range(1, made["blocks"] + 1):
        trials = [t for t in made["trials"] if t["block"] == block and t["kind"] == "cost"]
        visits = [n for n, _ in itertools.groupby(t["point"] for t in trials)]
        assert sorted(visits) == sorted(by_number), "the load changes once for each point"
        for number, point in by_number.items():
            here = [t for t in trials if t["point"] == number]
            assert sorted(t["arm"] for t in here if t["replica"] == 1) == sorted(point["arms"])
            assert all(t[key] == point[key] for t in here for key in keys)


def test_blocks_visit_the_points_in_orders_of_their_own(full: dict[str, Any]) -> None:
    orders = {
        tuple(t["point"] for t in full["trials"] if t["block"] == block and t["kind"] == "cost")
        for block in (1, 2, 3)
    }
    assert len(orders) == 3


def test_switches_are_calibrated_at_several_pauses_in_every_block_without_a_load(
    full: dict[str, Any],
) -> None:
    for block in range(1, full["blocks"] + 1):
        inside = [t for t in full["trials"] if t["block"] == block]
        outside = [t for t in inside if t["kind"] == "external"]
        assert {t["pause_us"] for t in outside} == {0, 100, 1000, 10_000}
        assert {t["pace"] for t in outside if t["pause_us"]} == {"paced"}
        arms = {"null_agent", "sched_switch", "sched_switch_published"}
        for pause in (0, 100, 1000, 10_000):
            assert arms <= {t["arm"] for t in outside if t["pause_us"] == pause}
        assert not any("switches_per_s" in t or "point" in t for t in outside)
        places = [t["position"] for t in outside]
        assert places == list(range(places[0], places[0] + len(places))), "one after the other"


def test_an_exact_block_has_an_empty_window_at_each_point_under_its_load() -> None:
    made = make("exact", backend=backends.EXACT)
    assert made["blocks"] == 8
    for block in range(1, 9):
        empty = [t for t in made["trials"] if t["block"] == block and t["kind"] == "empty"]
        assert sorted(t["point"] for t in empty) == [p["point"] for p in made["points"]]
        for trial in empty:
            point = made["points"][trial["point"] - 1]
            assert trial["arm"] == "none"
            assert trial["switches_per_s"] == point["switches_per_s"]
            assert trial["switching_tasks"] == point["switching_tasks"]


def test_few_blocks_leave_the_verdicts_to_the_model_and_the_points(full: dict[str, Any]) -> None:
    (note,) = [note for note in full["notes"] if "cannot reach p" in note]
    assert note.endswith("by a contrast, only by the model and point by point")


def test_minutes_keep_to_what_the_presets_promise(full: dict[str, Any]) -> None:
    assert make("quick")["estimate"]["minutes"] < 10
    assert full["estimate"]["minutes"] < 90
    assert make("exact", backend=backends.EXACT)["estimate"]["minutes"] < 30
    assert make("smoke")["estimate"]["minutes"] < 1


def test_the_longest_intervals_have_five_scrapes_in_a_window(full: dict[str, Any]) -> None:
    slow = [p for p in full["points"] if p["interval_ms"] >= 15_000]
    assert {p["interval_ms"] for p in slow} == {15_000, 60_000}
    assert all(1000 * p["window_s"] >= 5 * p["interval_ms"] for p in slow)


def test_factors_reach_as_far_as_the_study_asks(full: dict[str, Any]) -> None:
    def reach(key: str) -> tuple[int, int]:
        values = [point[key] for point in full["points"]]
        return min(values), max(values)

    assert reach("processes")[1] == 5000
    assert reach("threads_per_process") == (1, 8)
    assert reach("switches_per_s") == (0, 200_000)
    assert reach("switching_tasks") == (0, 1000)
    assert reach("interval_ms") == (100, 60_000)
    assert 5 <= sum(point["held_out"] for point in full["points"]) <= 12


def terms(chosen: list[dict[str, Any]]) -> np.ndarray[Any, Any]:
    """Of the model: fixed, per process, per thread, per active task, per switch; a row a point."""
    rows = []
    for p in chosen:
        seconds = p["interval_ms"] / 1000
        threads = p["processes"] * (p["threads_per_process"] - 1)
        scraped = [1, p["processes"], threads, p["switching_tasks"]]
        rows.append([term / seconds for term in scraped] + [p["switches_per_s"] + 300])
    return np.array(rows, dtype=float)


@pytest.mark.parametrize("preset", ["quick", "full", "exact"])
@pytest.mark.parametrize("cost", [POLLER, PROGRAM], ids=["poller", "program"])
def test_the_models_coefficients_can_be_told_apart(preset: str, cost: tuple[float, ...]) -> None:
    """Condition number and inflation of variances of the design, weighted as the fit is (1/y)."""
    fitted = [p for p in make(preset)["points"] if not p["held_out"]]
    matrix = terms(fitted)
    weighted = matrix / (matrix @ np.array(cost))[:, None]
    scaled = weighted / np.linalg.norm(weighted, axis=0)
    inflation = np.diag(np.linalg.inv(scaled.T @ scaled))
    print(f"{preset}: condition {np.linalg.cond(scaled):.1f}, inflation {inflation.round(1)}")
    assert np.linalg.cond(scaled) < 15
    assert inflation.max() < 10


def test_held_out_points_lie_inside_the_fitted_ones(full: dict[str, Any]) -> None:
    keys = ("processes", "threads_per_process", "switches_per_s", "switching_tasks", "interval_ms")
    fitted = [p for p in full["points"] if not p["held_out"]]
    for point in (p for p in full["points"] if p["held_out"]):
        for key in keys:
            values = [p[key] for p in fitted]
            assert min(values) <= point[key] <= max(values)
        assert all(any(point[key] != p[key] for key in keys) for p in fitted)


# Overrides


def test_arms_are_chosen_at_every_point(full: dict[str, Any]) -> None:
    made = make("full", arms=["proc_stat", "sched_switch"])
    for before, point in zip(full["points"], made["points"], strict=True):
        chosen = {"null_agent", "proc_stat", "sched_switch"}
        assert set(point["arms"]) == set(before["arms"]) & chosen
    sides = {c[side] for c in made["contrasts"] for side in ("numerator", "denominator")}
    assert sides == {"proc_stat", "sched_switch"}
    assert all(isinstance(c["point"], int) for c in made["contrasts"])


def test_another_pair_of_arms_is_contrasted_at_the_point_of_the_twins() -> None:
    made = make("quick", arms=["sched_switch_published", "sched_switch"])
    assert [c["id"] for c in made["contrasts"]] == ["sched_switch_published_vs_sched_switch_at_1"]
    assert made["a_a"]["arm"] in ("sched_switch", "sched_switch_published")
    assert made["a_a"]["point"] == 1


@pytest.mark.parametrize(
    "keys", [{"process_counts": [100]}, {"interval_ms": 1000}, {"window_s": 2.0}]
)
def test_what_each_point_has_of_its_own_cannot_be_overridden(keys: dict[str, Any]) -> None:
    with pytest.raises(PlanError) as caught:
        make("quick", **keys)
    (name,) = keys
    assert f"{name} = " in str(caught.value) and f"leave {name} out" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_minutes_buy_blocks() -> None:
    assert make("quick", minutes=25)["blocks"] > make("quick")["blocks"]


def test_counts_that_this_machine_exceeds_are_raised_where_they_are_named() -> None:
    made = make("quick", present=700)
    assert min(p["processes"] for p in made["points"]) == 710
    for trial in made["trials"]:
        if "point" in trial:
            point = made["points"][trial["point"] - 1]
            assert trial["processes"] == point["processes"]
            assert trial["processes"] >= 700 + trial["switching_tasks"] + 10
    assert {c["processes"] for c in made["contrasts"]} <= {p["processes"] for p in made["points"]}
    assert any(
        note.startswith("point 1: 600 processes cannot be reached") for note in made["notes"]
    )


# Presets


GOOD = {"processes": 600, "switches_per_s": 1000, "tasks": 2, "interval_ms": 1000}


def read(*listed: dict[str, Any]) -> tuple[points.Point, ...]:
    values = {"arms": ["a"], "windows": {100: 1, 1000: 2.5, 2000: 4}, "points": list(listed)}
    return points.read(Reader(values, "here"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tasks": 3}, "even"),
        ({"tasks": 0}, "even, and 0 exactly where switches_per_s is"),
        ({"switches_per_s": 0}, "even, and 0 exactly where switches_per_s is"),
        ({"switches_per_s": 100, "tasks": 400}, "each task to run in each interval"),
        ({"processes": 60}, "at least 90 more than tasks"),
        ({"interval_ms": 500}, "one of windows"),
        ({"interval_ms": 1000}, "a whole part of its window"),
        ({"thread": 2}, "unknown key 'thread'"),
        ({"held_out": 1}, "held_out"),
        ({"threads": 0}, "threads: 0"),
    ],
)
def test_a_point_that_cannot_be_is_one_clear_line(change: dict[str, Any], words: str) -> None:
    with pytest.raises(PresetError) as caught:
        read({**GOOD, "interval_ms": 2000} | change)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_a_point_without_a_load_and_with_arms_of_its_own() -> None:
    (point,) = read({"processes": 100, "interval_ms": 100, "arms": ["b"]})
    assert (point.switches_per_s, point.switching_tasks, point.arms) == (0, 0, ("b",))
    assert points.needed(point) == 0


def test_a_contrast_names_a_point_where_both_arms_are_measured() -> None:
    listed = read({**GOOD, "interval_ms": 2000}, {**GOOD, "interval_ms": 2000, "arms": ["b"]})
    assert points.check_references(listed, "b", 2, "a_a").number == 2
    with pytest.raises(PresetError, match="a_a: a is not measured at point 2"):
        points.check_references(listed, "a", 2, "a_a")
    with pytest.raises(PresetError, match="a_a: point 3 is not one of 1 to 2"):
        points.check_references(listed, "a", 3, "a_a")
