"""Rows become costs per point: calibrated at the cell's own rate, points never mixed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import synthetic_crossover as made

from analysis.crossover import calibration, outcome, verdicts
from analysis.crossover.outcome import Crossover, compute
from analysis.levels import at, of_point, point_of, text
from analysis.load import load_run
from analysis.measures import Measures


def small(**changed: Any) -> dict[str, Any]:
    """Two points of one process count that differ in the load."""
    plan = made.plan(blocks=2, design=[p for p in made.points() if p["point"] in (2, 6)])
    plan["contrasts"][0]["point"] = 2
    return {**plan, **changed}


def test_two_points_of_one_process_count_are_two_levels(tmp_path: Path) -> None:
    run = load_run(made.write(tmp_path / "run", small()))
    measures = Measures(run)
    assert measures.levels == [of_point(2), of_point(6)]
    costs = [float(measures.get("headline", "sched_switch", lv).mean()) for lv in measures.levels]
    assert costs[1] > 20 * costs[0]
    assert [point_of(level) for level in (-1, 0, 600, of_point(3))] == [None, None, None, 3]
    assert text(of_point(3)) == "point 3" and at(of_point(3)) == {"processes": None, "point": 3}


def test_a_switch_costs_what_it_does_at_the_cells_rate(tmp_path: Path) -> None:
    def warm(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "external" and trial["arm"] == "sched_switch":
            rate = trial["events"] / row["window_ns"] * 1e9
            added = trial["events"] * (100 + 1_000 * made.cold(rate, 1_000.0))
            row["work_ns"] = round(row["unattached_ns"] + added)

    run = load_run(made.write(tmp_path / "run", small(), change=warm))
    curves = calibration.Curves(run)
    found = calibration.table(run, curves)
    mine = {e["pause_us"]: e for e in found if e["arm"] == "sched_switch"}
    for e in mine.values():
        assert e["curve"].estimate == pytest.approx(e["interval"].estimate, rel=0.01)
    at = curves.at("sched_switch", pd.Series({1: 1e-6, 2: 1e12, 7: 1e3}))
    assert at.tolist() == pytest.approx([1_100, 100], rel=0.01), "from cold to warm; no block 7"
    assert {e["pause_us"] for e in found if e["arm"] == "null_agent"} == set(made.PAUSES)
    assert curves.of("null_agent") == curves.of("proc_stat") == {}, "they have no hook"
    idle, loaded = (
        Measures(run).get("others", "sched_switch", of_point(point))
        / Measures(run).get("switches_per_s", "sched_switch", of_point(point)) * 1e7
        for point in (2, 6)
    )  # fmt: skip
    assert idle.mean() == pytest.approx(100 + 1_000 * made.cold(90, 1_000.0), rel=0.01)
    assert loaded.mean() == pytest.approx(100 + 1_000 * made.cold(1e5, 1_000.0), rel=0.01)


def test_the_load_is_a_second_account_of_a_switch(quiet: Crossover) -> None:
    rows = quiet.cells[(quiet.cells["arm"] == "sched_switch_published")]
    loaded = rows[rows["load_per_s"] > 0]
    assert loaded["added_by_load"].tolist() == pytest.approx([600] * len(loaded), rel=1e-3)
    assert rows[rows["load_per_s"] == 0]["added_by_load"].isna().all()


def test_the_region_is_what_the_fitted_points_reached(live: Crossover) -> None:
    assert live.region["processes"] == (60, 5000) and live.region["interval_s"] == (0.1, 10)
    low, high = live.region["switches_per_s"]
    assert low == pytest.approx(90, rel=0.02) and high == pytest.approx(1e5, rel=0.02)
    assert (live.usual.threads, live.usual.active) == (80, 2)
    assert live.usual.switches_per_s == pytest.approx(90, rel=0.02)


def test_a_load_that_misses_its_rate_is_warned_of(tmp_path: Path) -> None:
    def slow(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "cost" and row["load_switches"]:
            row["load_switches"] //= 2

    found = compute(Measures(load_run(made.write(tmp_path / "run", small(), change=slow))))
    assert found is not None and not found.break_even  # two points fit no model
    assert outcome.warnings(found) == ["point 6: the load reached 50 % of 100,000 switches/s"]


def test_verdicts_at_points_take_every_point_as_one_family(live: Crossover) -> None:
    of = {(e["point"], e["numerator"], e["denominator"]): e for e in live.verdicts}
    assert len(of) == 14 * len(verdicts.PAIRS)
    assert of[3, "proc_stat", "sched_switch_published"]["verdict"] == "dearer"
    assert of[6, "proc_stat", "sched_switch_published"]["verdict"] == "cheaper"
    assert all(e["p_adjusted"] is not None for e in live.verdicts)


def test_instructions_are_judged_by_all_perturbations(counted: Crossover) -> None:
    of = {(e["point"], e["numerator"]): e for e in counted.verdicts if e["denominator"][-1] == "d"}
    assert of[6, "proc_stat"]["verdict"] == "cheaper" and of[6, "proc_stat"]["p_adjusted"] is None
    assert "3 perturbations" in of[6, "proc_stat"]["why"] and counted.fleet == []


def test_a_fleet_saves_at_one_end_and_pays_at_the_other(live: Crossover) -> None:
    pair = ("proc_stat", "sched_switch_published")
    saved = {
        (e["processes"], e["interval_s"], e["idle"], round(e["switches_per_s"], -3)): e
        for e in live.fleet
        if (e["numerator"], e["denominator"]) == pair
    }
    at_600 = saved[600, 1.0, True, 0]["cores_per_1000_nodes"].estimate
    truth = (150_000 + 12e6 + 24_000 - 240_600) / 1e6 - 600 * 90 / 1e6
    assert at_600 == pytest.approx(truth, rel=0.1)
    assert saved[60, 0.1, False, 100_000]["cores_per_1000_nodes"].high < 0


def test_cells_that_cost_nothing_by_what_was_measured_are_named(tmp_path: Path) -> None:
    """A hook whose calibrations came out below what its reader costs, in one block far more so."""

    def below(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "cost" and trial["arm"] == "proc_stat":
            row["agent_ns"] = 0
        if trial["kind"] == "external" and trial["arm"] == "sched_switch":
            added = 600 if trial["block"] == 2 else -400
            row["work_ns"] = row["unattached_ns"] + added * trial["events"]

    plan = made.plan(blocks=3, design=[p for p in made.points() if p["point"] in (2, 6)])
    plan["contrasts"][0]["point"] = 2
    found = compute(Measures(load_run(made.write(tmp_path / "run", plan, change=below))))
    assert found is not None
    said = outcome.warnings(found)
    nothing = "/proc polling: the measured cost is not above 0: 0.00 [0.00, 0.00] % of a core"
    assert f"point 2, {nothing}" in said and f"point 6, {nothing}" in said
    hook = [warning for warning in said if "eBPF, corrected" in warning]
    assert hook[-1] == "eBPF, corrected: the interval of the measured cost reaches 0 at point 2"
    assert hook[0].startswith("point 6, eBPF, corrected: the measured cost is not above 0: ")
    assert hook[0].endswith(" % of a core") and "[−" in hook[0]
