"""From summaries to verdicts. The summaries here are made up: nothing in them was measured."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from analysis.claims import VERDICTS, judge, ledger

Summary = dict[str, Any]


def interval(estimate: float | None, low: float | None, high: float | None) -> Summary:
    return {"estimate": estimate, "low": low, "high": high, "n": 12}


def contrast(level: int | None = 600, **changed: Any) -> Summary:
    return {
        "id": f"proc_vs_published_{level}",
        "numerator": "proc_stat",
        "denominator": "sched_switch_published",
        "statistics": "off",
        "processes": level,
        "measure": "headline",
        "ratio": interval(20.0, 18.0, 23.0),
        "difference": interval(1.15, 1.10, 1.20),
        "p_adjusted": 0.003,
        "detectable_percent_core": 0.08,
        "verdict": "dearer",
        "why": "adjusted p = 0.003",
        **changed,
    }


def cell(arm: str, level: int | None = 600, **changed: Any) -> Summary:
    base = {"arm": arm, "processes": level, "switches_per_s": interval(60.0, 50.0, 70.0)}
    return {**base, "headline": interval(0.05, 0.04, 0.06), "reason": "", **changed}


def summary(preset: str = "paper", name: str = "20260101T000000Z-x-00000000") -> Summary:
    return {
        **{"study": "processes", "run": name, "preset": preset, "finished": True},
        "started_utc": "2027-01-01T00:00:00Z",
        **{"interval_ms": 1000, "levels": [100, 600], "generalises": "over blocks", "files": []},
        "contrasts": [contrast(600), contrast(100, ratio=interval(4.0, 3.5, 4.6))],
        "cells": [
            cell("proc_stat"),
            cell(
                "sched_switch_published",
                agent=interval(0.025, 0.02, 0.03),
                others=interval(0.025, 0.015, 0.035),
            ),
        ],
        "scaling": [],
        "calibration": [],
        "fidelity": [],
    }


def line(arm: str, slope: Summary, misfit: float | None = 0.03) -> Summary:
    entry = {"arm": arm, "measure": "headline", "ns_per_process_and_scrape": slope}
    return {**entry, "largest_relative_misfit": misfit}


def scaling(flat: Summary, misfit: float | None = 0.03) -> Summary:
    made = summary("scaling")
    made["levels"] = [60, 5000]
    made["scaling"] = [
        line("proc_stat", interval(20_000.0, 19_000.0, 21_000.0), misfit),
        line("sched_switch_published", flat, 0.5),
    ]
    return made


def verdict(name: str, *runs: Summary, sessions: Any = ()) -> Summary:
    entries = judge({"runs": list(runs), "sessions": list(sessions)})
    return next(entry for entry in entries if entry["id"] == name)


def with_contrast(**changed: Any) -> Summary:
    made = summary()
    made["contrasts"][0] = contrast(600, **changed)
    return made


def test_without_any_run_every_claim_waits_for_its_study() -> None:
    entries = judge({"runs": [], "sessions": []})
    assert {entry["verdict"] for entry in entries} == {"not yet measured"}
    assert all(f"`{entry['study']}`" in entry["reason"] for entry in entries)
    assert all(entry["measured"] is None and entry["run"] is None for entry in entries)


def test_judging_changes_nothing_and_is_json() -> None:
    index = {"runs": [summary(), scaling(interval(0.0, -50.0, 50.0))], "sessions": []}
    before = copy.deepcopy(index)
    entries = judge(index)
    assert index == before
    assert json.loads(json.dumps(entries, allow_nan=False)) == entries
    assert {entry["verdict"] for entry in entries} <= set(VERDICTS)


@pytest.mark.parametrize(
    ("changed", "expected", "said"),
    [
        ({}, "holds", "20.0× [18.0, 23.0] against 16.6×, which lies a factor of 1.08 below"),
        ({"ratio": interval(16.0, 15.0, 18.0)}, "holds", "inside our interval"),
        ({"ratio": interval(40.0, 33.0, 44.0)}, "holds", "a factor of 1.99 below"),
        ({"ratio": interval(40.0, 34.0, 44.0)}, "contradicted", "another size"),
        ({"ratio": interval(8.0, 7.5, 8.2)}, "contradicted", "a factor of 2.02 above"),
        ({"ratio": interval(20.0, 9.0, 37.0)}, "undetermined", "factor of 4 apart"),
        ({"ratio": interval(20.0, 9.0, None)}, "undetermined", "of the size"),
        ({"verdict": "cheaper"}, "contradicted", "proc_stat is cheaper"),
        ({"verdict": "indistinguishable"}, "contradicted", "proc_stat is indistinguishable"),
        (
            {"verdict": "undetermined", "why": "adjusted p = 0.2"},
            "undetermined",
            "smallest detectable effect 0.080 % of a core",
        ),
        (
            {"verdict": "unavailable", "why": "EPERM", "ratio": None},
            "not testable here",
            "EPERM",
        ),
    ],
)
def test_a_ratio_needs_its_direction_and_its_size(
    changed: Summary, expected: str, said: str
) -> None:
    found = verdict("PROC-3", with_contrast(**changed))
    assert found["verdict"] == expected and said in found["reason"]
    assert found["run"] == "20260101T000000Z-x-00000000"


def test_density_switch_rate_and_the_articles_own_protocol_stand_beside() -> None:
    beside = summary("article", "20250101T000000Z-x-00000000")
    beside["contrasts"] = [contrast(600, statistics="on", ratio=interval(21.0, 19.0, 23.0))]
    found = verdict("PROC-3", summary(), beside)
    assert "600 processes, 60 context switches a second, a scrape every 1 s" in found["reason"]
    assert "(by the article's protocol 21.0× [19.0, 23.0])" in found["measured"]["text"]


def test_a_gain_within_noise_is_met_by_indistinguishable_too() -> None:
    gauges = {**summary("quick"), "study": "gauges", "levels": [None]}
    pair = {"numerator": "proc_files", "denominator": "bpf_timer", "processes": None}
    gauges["contrasts"] = [contrast(None, **pair, verdict="indistinguishable")]
    gauges["contrasts"][0]["ratio"] = interval(1.05, 0.95, 1.08)
    assert verdict("PROC-1", gauges)["verdict"] == "holds"
    gauges["contrasts"][0]["ratio"] = interval(4.0, 3.5, 4.5)
    assert verdict("PROC-1", gauges)["verdict"] == "contradicted"


def test_the_newest_finished_run_of_the_preferred_preset_answers() -> None:
    old, new = summary(name="20260101T000000Z-x-0"), summary(name="20260201T000000Z-x-0")
    unfinished = {**summary(name="20260301T000000Z-x-0"), "finished": False}
    quick = summary("quick", "20260401T000000Z-x-0")
    assert verdict("PROC-3", old, quick, unfinished, new)["run"] == new["run"]
    assert verdict("PROC-3", unfinished, quick)["run"] == quick["run"]
    assert verdict("PROC-3", summary("smoke"))["verdict"] == "not yet measured"


def test_a_run_older_than_the_criteria_is_told_apart() -> None:
    old = {**summary(), "started_utc": "2026-01-01T00:00:00Z"}
    assert verdict("PROC-3", old)["beforehand"] is False
    assert verdict("PROC-3", summary())["beforehand"] is True
    assert verdict("PROC-3")["beforehand"] is None
    runs = [summary(name=f"2026010{day}T000000Z-x-0") for day in (1, 2, 3)]
    runs[0]["started_utc"] = old["started_utc"]
    assert verdict("PROC-3", *runs, sessions=[pooled(runs)])["beforehand"] is False


def pooled(runs: list[Summary], **changed: Any) -> Summary:
    entry = {
        "id": "proc_vs_published_600",
        "per_session": [{"run": run["run"], "reason": ""} for run in runs],
        "generalises": "over 3 sessions",
        "pooled": {
            **{"ratio": interval(25.0, 20.0, 31.0), "difference": interval(1.1, 1.0, 1.2)},
            **{"n_sessions": len(runs), "verdict": "dearer", "why": "adjusted p = 0.01"},
            **{"p_adjusted": 0.01, "detectable": 0.1, "numerator": interval(1.2, 1.1, 1.3)},
            **changed,
        },
    }
    names = [run["run"] for run in runs]
    figures = {"files": ["figures/sessions-7in.svg"], "generalises": "over all of them"}
    return {"folder": "processes-paper-0", "runs": names, "contrasts": [entry], **figures}


def test_three_sessions_are_preferred_to_the_newest_of_them() -> None:
    runs = [summary(name=f"2026010{day}T000000Z-x-0") for day in (1, 2, 3)]
    found = verdict("PROC-3", *runs, sessions=[pooled(runs)])
    assert found["measured"]["estimate"] == 25.0 and len(found["runs"]) == 3
    assert found["table"] == "sessions/processes-paper-0/tables/sessions.md"
    assert found["figure"] == "sessions/processes-paper-0/figures/sessions-7in.svg"
    assert "60 context switches a second" in found["reason"]
    assert "over 3 sessions" in found["reason"] and found["generalises"] == "over all of them"
    assert verdict("PROC-3", *runs)["generalises"] == "over blocks"
    two = verdict("PROC-3", *runs[:2], sessions=[pooled(runs[:2])])
    assert two["measured"]["estimate"] == 20.0 and two["runs"] == [runs[1]["run"]]


def test_a_pooled_verdict_overrules_the_single_runs() -> None:
    runs = [summary(name=f"2026010{day}T000000Z-x-0") for day in (1, 2, 3)]
    found = verdict("PROC-3", *runs, sessions=[pooled(runs, verdict="cheaper")])
    assert found["verdict"] == "contradicted"


@pytest.mark.parametrize(
    ("flat", "misfit", "five", "seven"),
    [
        (interval(10.0, -90.0, 110.0), 0.03, "holds", "holds"),
        (interval(10.0, -90.0, 110.0), 0.20, "contradicted", "holds"),
        (interval(100.0, -100.0, 300.0), 0.03, "undetermined", "undetermined"),
        (interval(500.0, 400.0, 600.0), 0.03, "contradicted", "contradicted"),
        (interval(150.0, 120.0, 180.0), 0.03, "holds", "holds"),  # above 0, yet within 1 %
        (interval(10.0, -90.0, 110.0), None, "not yet measured", "holds"),
    ],
)
def test_flat_is_an_interval_within_a_margin(
    flat: Summary, misfit: float | None, five: str, seven: str
) -> None:
    run = scaling(flat, misfit)
    assert verdict("PROC-5", run)["verdict"] == five
    assert verdict("PROC-7", run)["verdict"] == seven


def test_an_undetermined_slope_says_what_could_have_been_seen() -> None:
    reason = verdict("PROC-7", scaling(interval(100.0, -100.0, 300.0)))["reason"]
    assert "smallest detectable slope 0.20 µs" in reason


def test_a_collector_that_is_wrong_is_not_cheap() -> None:
    run = scaling(interval(10.0, -90.0, 110.0))
    for word, expected in (
        ("wrong", "undetermined"),
        ("misses", "undetermined"),
        ("true", "holds"),
    ):
        run["fidelity"] = [{"arm": "sched_switch_published", "worst": -0.4, "verdict": word}]
        found = verdict("PROC-7", run)
        assert found["verdict"] == expected and "−40.0 %" in found["reason"]


def test_a_fleets_saving_holds_under_its_condition() -> None:
    found = verdict("PROC-8", summary())
    assert found["verdict"] == "holds when…"
    assert "600 processes, 60 context switches a second" in found["condition"]
    assert found["measured"]["estimate"] == pytest.approx(11.5)
    assert found["measured"]["unit"] == "cores per 1,000 nodes"
    little = with_contrast(difference=interval(0.3, 0.2, 0.4))
    assert verdict("PROC-8", little)["verdict"] == "contradicted"


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        (interval(0.025, 0.015, 0.035), "holds"),
        (interval(0.025, -0.01, 0.06), "undetermined"),
        (interval(0.0, -0.004, 0.004), "contradicted"),
    ],
)
def test_a_reader_alone_undercounts_if_something_is_left_out(
    others: Summary, expected: str
) -> None:
    run = summary()
    run["cells"][1]["others"] = others
    assert verdict("PROC-9", run)["verdict"] == expected


def test_an_arm_that_could_not_load_leaves_the_undercount_untested() -> None:
    run = summary()
    run["cells"][1] |= {"others": interval(None, None, None), "reason": "unavailable: EPERM"}
    found = verdict("PROC-9", run)
    assert found["verdict"] == "not testable here" and "EPERM" in found["reason"]


def test_one_counterexample_contradicts_a_bound() -> None:
    found = verdict("PROC-4", summary())
    assert found["verdict"] == "not yet measured" and "2 contrasts so far" in found["reason"]
    bad = with_contrast(verdict="cheaper", ratio=interval(0.4, 0.3, 0.5))
    found = verdict("PROC-4", bad)
    assert found["verdict"] == "contradicted" and found["measured"]["estimate"] == 0.4
    assert verdict("PROC-4", {**bad, "finished": False})["verdict"] == "not yet measured"
    weak = with_contrast(verdict="cheaper", p_adjusted=0.2)
    assert verdict("PROC-4", weak)["verdict"] == "not yet measured"
    searched = {**summary("full"), "study": "crossover"}
    assert verdict("PROC-4", searched)["verdict"] == "holds"


def test_a_calibrated_cost_is_evidence_but_no_verdict() -> None:
    run = summary()
    paced = {"arm": "sched_switch_published", "pace": "paced"}
    run["calibration"] = [{**paced, "interval": interval(3900.0, 3500.0, 4200.0)}]
    found = verdict("PROC-6", run)
    assert found["verdict"] == "not yet measured" and "3.9" in found["reason"]


def compared(workload: str, low: float, high: float) -> Summary:
    """One load, as a run compares the two ways of collecting: below 0 sched_switch is closer."""
    side = "sched_switch" if high < 0 else "polling" if low > 0 else "undetermined"
    difference = interval((low + high) / 2, low, high)
    return {"workload": workload, "difference": difference, "closer": side}


def accounts(*loads: Summary) -> Summary:
    errors = {"steady": -0.01, "busy": -0.30}
    base = {"arm": "sched_switch_published", "verdict": "true"}
    return {
        **summary(),
        "study": "accounts",
        "fidelity_answers": {"CORE-13": {"workloads": list(loads)}},
        "fidelity": [
            {**base, "workload": w, "worst": e, "error": interval(e, e - 0.01, e + 0.01)}
            for w, e in errors.items()
        ],
    }


BETTER, WORSE, OPEN = (-0.03, -0.01), (0.20, 0.40), (-0.01, 0.02)


@pytest.mark.parametrize(
    ("loads", "expected"),
    [
        ({"steady": BETTER, "busy": WORSE}, "holds when…"),
        ({"steady": BETTER, "busy": BETTER}, "holds when…"),  # of processes, not of cores
        ({"steady": OPEN, "busy": WORSE}, "contradicted"),
        ({"steady": OPEN, "busy": OPEN}, "undetermined"),
    ],
)
def test_accuracy_holds_for_the_loads_under_which_it_is_better(
    loads: dict[str, tuple[float, float]], expected: str
) -> None:
    run = accounts(*(compared(name, *ends) for name, ends in loads.items()))
    found = verdict("CORE-13", run)
    assert found["verdict"] == expected and "CPU time of processes" in found["reason"]
    assert found["measured"]["estimate"] == pytest.approx(-30.0)
    assert found["place"]["row"] == {"arm": "sched_switch_published", "workload": "busy"}
    if expected == "holds when…":
        assert "steady" in found["condition"]
        assert ("busy" in found["condition"]) == (loads["busy"] == BETTER)


def test_accuracy_of_cores_is_preferred_to_that_of_processes() -> None:
    loads = [compared("duty_50", *BETTER), compared("duty_90", *BETTER)]
    monitor = {"arm": "sched_switch_cores", "n": 3}
    errors = [
        {**monitor, "load": "duty_50", "error": interval(0.5, 0.1, 0.9)},
        {**monitor, "load": "duty_90", "error": interval(2.0, 1.0, 3.0)},
        {**monitor, "load": "duty_99", "error": interval(None, None, None), "n": 0},
        {"arm": "top", "n": 3, "load": "duty_50", "error": interval(9.0, 8.0, 10.0)},
        {**monitor, "arm": "sched_switch_cores_published", "load": "duty_99"}
        | {"error": interval(5.0, 4.0, 6.0)},
    ]
    run = {**of_cores(run="of-cores"), "fidelity_answers": {"CORE-13": {"workloads": loads}}}
    run["cores"]["accuracy"] = errors
    found = verdict("CORE-13", accounts(compared("busy", *WORSE)), run)
    assert found["verdict"] == "holds" and found["study"] == "cores"
    assert found["measured"]["estimate"] == 5.0, "where a monitor is furthest off, not where best"
    place = {"arm": "sched_switch_cores_published", "load": "duty_99"}
    assert found["place"]["row"] == place
    assert verdict("CORE-13", summary())["verdict"] == "not yet measured"


def test_levels_are_met_within_a_factor_of_two_and_zero_within_a_tick() -> None:
    run = of_cores(
        {
            **{"measure": "user_time", "stress_threads": 0, "id": "user_time_at_0"},
            "numerator_cost": interval(50.0, 40.0, 60.0),
            "denominator_cost": interval(2.0, 0.0, 4.0),
        }
    )
    (entry,) = run["cores"]["ratios"]
    assert verdict("CORE-6", run)["verdict"] == "holds"
    entry["numerator_cost"] = interval(20.0, 18.0, 22.0)
    assert verdict("CORE-6", run)["verdict"] == "contradicted"
    entry["denominator_cost"] = interval(40.0, 30.0, 50.0)
    entry["numerator_cost"] = interval(60.0, 55.0, 65.0)
    assert verdict("CORE-6", run)["verdict"] == "contradicted"


def of_cores(*ratios: dict[str, Any], architecture: str = "x86_64", **more: Any) -> Summary:
    """A run of study cores with these ratios of top to the monitor."""
    pair = {"numerator": "top", "denominator": "sched_switch_cores_published", "why": "made up"}
    run = {**summary(), "study": "cores", "preset": "article", **more}
    run["fingerprint"] = {**(run.get("fingerprint") or {}), "architecture": architecture}
    return {**run, "cores": {"ratios": [{**pair, **ratio} for ratio in ratios]}}


def of_time(measure: str, word: str, *ends: float, threads: int = 0) -> dict[str, Any]:
    at = {"measure": measure, "stress_threads": threads, "id": f"{measure}_at_{threads}"}
    return {**at, "ratio": interval(*ends), "verdict": word}


def test_a_ratio_that_needs_the_programs_time_left_out_holds_for_the_process_alone() -> None:
    alone = of_time("task_clock", "dearer", 20.0, 15.0, 25.0)
    found = verdict("CORE-1", of_cores(alone, of_time("with_program", "dearer", 19.0, 14.0, 24.0)))
    assert found["verdict"] == "holds" and "19.0× [14.0, 24.0]" in found["reason"]
    found = verdict("CORE-1", of_cores(alone, of_time("with_program", "dearer", 5.0, 4.0, 6.0)))
    assert found["verdict"] == "holds when…" and "process alone" in found["condition"]
    found = verdict("CORE-1", of_cores(of_time("task_clock", "cheaper", 0.4, 0.3, 0.5)))
    assert found["verdict"] == "contradicted"
    found = verdict("CORE-1", of_cores(of_time("task_clock", "dearer", 4.0, 3.0, 5.0)))
    assert found["verdict"] == "contradicted" and "another size" in found["reason"]
    found = verdict("CORE-1", of_cores(of_time("task_clock", "undetermined", 1.2, 0.8, 1.9)))
    assert found["verdict"] == "undetermined"


def test_instructions_are_those_of_the_sources_architecture_with_the_other_beside() -> None:
    ours = of_time("instructions", "dearer", 30.0, 29.0, 31.0)
    theirs = of_time("instructions", "dearer", 50.0, 49.0, 51.0)
    exact = {"backend": "exact", "preset": "exact"}
    runs = [
        of_cores(ours, run="2", **exact),
        of_cores(theirs, run="1", architecture="aarch64", **exact),
    ]
    found = next(e for e in judge({"runs": runs, "sessions": []}) if e["id"] == "CORE-3")
    assert found["verdict"] == "holds" and found["run"] == "1"
    assert "on aarch64, on x86_64 30.0× [29.0, 31.0]" in found["reason"]
    whole = of_time("instructions_whole", "dearer", 2.0, 1.9, 2.1)
    runs[1] = of_cores(theirs, whole, run="1", architecture="aarch64", **exact)
    found = next(e for e in judge({"runs": runs, "sessions": []}) if e["id"] == "CORE-3")
    assert found["verdict"] == "holds when…" and "process alone" in found["condition"]
    assert "of the whole machine, its program in other tasks included, 2.00×" in found["reason"]
    assert "on x86_64" in found["reason"]


def test_criteria_are_told_in_words_with_their_numbers() -> None:
    for entry in judge({"runs": [], "sessions": []}):
        assert "{" not in entry["criterion"] and len(entry["criterion"]) > 50
    found = verdict("PROC-3")
    assert "proc_stat against sched_switch_published" in found["criterion"]
    assert f"factor of {ledger().limits['within_factor']:g}" in found["criterion"]
    assert found["rule"]["rule"] == "ratio"


def test_a_published_change_in_percent_is_compared_as_a_ratio() -> None:
    pair = {"id": "filter_total", "numerator": "user", "denominator": "kernel", "load": "files"}
    pair |= {"ratio": interval(5.2, 4.8, 5.6), "rate": interval(9.0, 8.0, 10.0)}
    pair |= {"verdict": "dearer", "why": "made up"}
    run = {**summary(), "study": "sensor", "sensor": {"ratios": [pair], "accounting": []}}
    found = verdict("SENSOR-5", run)  # -80 % is 5 times
    assert found["verdict"] == "holds" and "against 5×" in found["reason"]


def crossing(low: float | None, high: float | None) -> Summary:
    """A crossover run in which the published pair meets between two rates; 80 to 200,000 seen."""
    pair = {"steeper": "sched_switch_published", "flatter": "proc_stat", "always_cheaper": None}
    rate = interval(1000.0, low, high)
    place = {"processes": 600, "interval_s": 1, "measured": True, "switches_per_s": rate}
    crossover = {
        **{"arms": {}, "exact": False, "fleet": []},
        **{"region": {"switches_per_s": [80.0, 2e5]}, "break_even": [{**pair, **place}]},
    }
    return {**summary("full"), "study": "crossover", "crossover": {**crossover, "verdicts": []}}


@pytest.mark.parametrize(
    ("low", "expected"), [(900.0, "holds when…"), (50.0, "undetermined"), (None, "undetermined")]
)
def test_a_break_even_is_a_condition_only_where_it_was_measured(
    low: float | None, expected: str
) -> None:
    found = verdict("PROC-10", crossing(low, 1100.0))
    assert found["verdict"] == expected
    assert ("fewer than 900" in found["condition"]) == (low == 900.0)


def test_a_counterexample_without_a_ratio_is_not_the_furthest() -> None:
    run = crossing(900.0, 1100.0)
    pair = {"numerator": "proc_stat", "denominator": "sched_switch_published"}
    at = {"processes": 100.0, "switches_per_s": 16e3, "interval_s": 1.0, "verdict": "cheaper"}
    ratios = [interval(0.4, 0.3, 0.5), interval(None, None, None)]
    run["crossover"]["verdicts"] = [
        {**pair, **at, "point": n, "why": "adjusted p = 0.01", "ratio": ratio}
        for n, ratio in enumerate(ratios, 1)
    ]
    found = verdict("PROC-4", run)
    assert found["verdict"] == "contradicted" and found["measured"]["estimate"] == 0.4


def test_points_with_too_few_blocks_for_a_p_are_doubts_too_the_least_likely() -> None:
    """As a run on a disturbed machine leaves them: most of its trials were invalid."""
    run = crossing(900.0, 1100.0)
    pair = {"numerator": "proc_stat", "denominator": "sched_switch_published"}
    at = {"processes": 100.0, "switches_per_s": 24e3, "interval_s": 1.0, "why": "made up"}
    run["crossover"]["verdicts"] = [
        {**pair, **at, "point": n, "p_adjusted": p, "verdict": "undetermined", "ratio": ratio}
        for n, (p, ratio) in enumerate(
            [
                (None, interval(None, None, None)),
                (None, interval(0.3, None, None)),
                (0.2, interval(0.5, 0.3, 0.9)),
                (0.1, interval(0.7, 0.5, 1.1)),
            ],
            1,
        )
    ]
    found = verdict("PROC-4", run)
    assert found["verdict"] == "undetermined" and found["place"]["row"]["point"] == 4


@pytest.mark.parametrize(
    ("estimate", "expected"), [(0.06, "undetermined"), (None, "undetermined"), (3.6, "holds")]
)
def test_a_point_that_may_be_a_counterexample_leaves_a_bound_open(
    estimate: float | None, expected: str
) -> None:
    run = crossing(900.0, 1100.0)
    pair = {"numerator": "proc_stat", "denominator": "sched_switch_published"}
    at = {"processes": 100.0, "switches_per_s": 24e3, "interval_s": 1.0, "point": 3}
    ratio = interval(estimate, None, None)
    decided: dict[str, Any] = {
        "verdict": "undetermined",
        "why": "adjusted p = 0.22",
        "ratio": ratio,
    }
    decided["p_adjusted"] = 0.22
    run["crossover"]["verdicts"] = [{**pair, **at, **decided}]
    found = verdict("PROC-4", run)
    assert found["verdict"] == expected
    assert ("24,000 switches a second" in found["reason"]) == (expected == "undetermined")
