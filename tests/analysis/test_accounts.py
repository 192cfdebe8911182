"""Independent accounts of one cost: the truth is recovered, and what is missing is said."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import synthetic
import synthetic_accounts as made
from synthetic_accounts import Truth

from analysis.accounts import accounts
from analysis.external import calibration, ns_per_switch
from analysis.load import load_run
from analysis.measures import Measures
from analysis.statistics.intervals import Interval
from analysis.text import interval

Entries = dict[tuple[str, str, str], dict[str, Any]]
PUBLISHED = ("sched_switch_published", "switch", "paced")


def entries(folder: Path) -> Entries:
    found = accounts(Measures(load_run(folder)))
    return {(e["arm"], e["workload"], e["pace"]): e for e in found}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Entries:
    return entries(made.write(tmp_path_factory.mktemp("raw") / "run", made.plan(10, loads=())))


def holds(value: Interval, truth: float) -> bool:
    assert value.low is not None and value.high is not None
    return value.low <= truth <= value.high


def test_every_program_is_on_its_own_event_at_both_paces(whole: Entries) -> None:
    on_switch = {arm for arm, workload, _ in whole if workload == "switch"}
    assert on_switch == {*made.COSTS, "empty_switch", "empty_switch_perf"} - {"null_agent"}
    assert {key[1] for key in whole if key[0].startswith("empty_")} == set(made.BASE_NS)
    assert all((arm, workload, "hot") in whole for arm, workload, _ in whole)


def recovered(whole: Entries, arm: str, pace: str) -> list[bool]:
    """Whether the truth is inside each interval; each estimate has to be near it anyway."""
    truth, empty = made.TRUTH[arm], made.PERF_TRUTH if arm in made.PERF else made.EMPTY_TRUTH
    e = whole[arm, "switch", pace]
    gap, of_empty = truth.external - truth.statistics, empty.external - empty.statistics
    inside = []
    for name, value in (
        ("external_off", truth.external),
        ("external_on", truth.external + truth.statistics_cost),
        ("statistics_ns", truth.statistics),
        ("statistics_cost", truth.statistics_cost),
        ("residual", gap),
        ("residual_empty", of_empty),
        ("unexplained", gap - of_empty),
    ):
        assert e[name].estimate == pytest.approx(value, abs=4), name
        assert e[name].high - e[name].low < 8, name
        inside.append(holds(e[name], value))
    return inside


def test_the_truth_is_inside_the_intervals(whole: Entries) -> None:
    """Intervals of 95 %: of 42, some of which share rows, few leave it out."""
    arms = ("sched_switch_published", "sched_switch", "bcc_sched_switch")
    inside = [hit for arm in arms for pace in made.PACES for hit in recovered(whole, arm, pace)]
    assert len(inside) == 42 and sum(inside) >= 36


def test_statistics_cost_nothing_where_nothing_is_attached(whole: Entries) -> None:
    """The base work is the same in both states, so a drift of 40 ns a block must cancel."""
    assert all(e["statistics_cost_unattached"].estimate == 0 for e in whole.values())


def test_agreement_is_said_in_words_with_the_number(whole: Entries) -> None:
    said = {arm: whole[arm, "switch", "paced"] for arm in made.TRUTH if arm in made.COSTS}
    assert said["bcc_sched_switch"]["verdict"] == "agree"
    assert "agree within their joint interval" in said["bcc_sched_switch"]["text"]
    assert said["sched_switch_published"]["verdict"] == "explained"
    assert "which leaves" in said["sched_switch_published"]["text"]
    assert said["sched_switch"]["verdict"] == "gap"
    left = interval(said["sched_switch"]["unexplained"])
    assert said["sched_switch"]["text"].endswith(f"which leaves {left} ns unexplained")
    alone = whole["empty_exec", "exec", "hot"]
    assert alone["unexplained"] is None and alone["verdict"] == "reference"


def test_an_empty_program_that_is_attached_in_another_way_is_named(tmp_path: Path) -> None:
    planned = made.plan(3, loads=())
    planned["arms"]["empty_switch_perf"]["needs"] = ["bpf", "btf"]
    found = entries(made.write(tmp_path / "run", planned))
    assert found[PUBLISHED]["same_attachment"] is False
    assert "residual is 4" in found[PUBLISHED]["text"], "not the perf one's 55"
    assert "ns, attached in another way, which leaves 1" in found[PUBLISHED]["text"]
    assert found["sched_switch", "switch", "hot"]["same_attachment"] is True


def test_an_interval_that_holds_everything_is_no_agreement(tmp_path: Path) -> None:
    folder = made.write(tmp_path / "run", made.plan(loads=()), truth=made.noisy(80))
    found = entries(folder)["bcc_sched_switch", "switch", "hot"]
    assert found["verdict"] == "undetermined" and "too wide" in found["text"]


def test_the_published_method_in_place_comes_from_the_cost_trials(whole: Entries) -> None:
    e = whole[PUBLISHED]
    assert e["published_in_place"].estimate == pytest.approx(0.9 * 98, rel=1e-3)
    assert holds(e["residual_in_place"], 115 - 0.9 * 98)
    assert whole["empty_open", "open", "paced"]["published_in_place"] is None


def test_the_headline_keeps_to_switches_with_statistics_off(tmp_path: Path) -> None:
    run = load_run(made.write(tmp_path / "run", made.plan(2, loads=())))
    values = ns_per_switch(run).groupby(["arm", "pace"])["value"].mean()
    assert values["sched_switch", "paced"] == pytest.approx(130, abs=4)
    assert len(ns_per_switch(run)) == 5 * 2 * 2  # arms on the hook, paces, blocks
    rows = {(e["arm"], e["pace"]): e for e in calibration(run)}
    assert rows["sched_switch", "hot"]["interval"].estimate == pytest.approx(130, abs=4)


def finite(value: Any) -> bool:
    if isinstance(value, Interval):
        ends = (value.estimate, value.low, value.high)
        return all(v is None or math.isfinite(v) for v in ends)
    return not isinstance(value, float) or math.isfinite(value)


def refused(row: dict[str, Any], trial: dict[str, Any]) -> None:
    if trial["kind"] == "external" and trial["statistics"] == "on":
        kept = ("trial", "block", "position", "kind", "study", "arm", "replica", "instrument")
        for key in set(row) - {*kept, "statistics", "started_utc"}:
            del row[key]
        row |= {"status": "failed", "reason": "BPF_ENABLE_STATS: Operation not permitted"}


def no_runs(row: dict[str, Any], trial: dict[str, Any]) -> None:
    if "bpf_run_count" in row:
        row |= {"bpf_run_count": 0, "bpf_run_ns": 0}


def no_time(row: dict[str, Any], trial: dict[str, Any]) -> None:
    if trial["kind"] == "external":
        row |= {"work_ns": 0}


def missing(row: dict[str, Any], trial: dict[str, Any]) -> None:
    if trial["kind"] == "external":
        row.pop("bpf_run_ns", None)


@pytest.mark.parametrize(
    ("options", "verdict", "said"),
    [
        ({"unavailable": ["sched_switch_published"]}, "not comparable", "EPERM"),
        ({"unavailable": ["null_agent"], "schema": 2}, "not comparable", "EPERM"),
        ({"change": refused}, "not comparable", "statistics on: failed: BPF_ENABLE_STATS"),
        ({"change": no_runs}, "not comparable", "counted no run"),
        ({"change": missing}, "not comparable", "counted no run"),
        ({"change": no_time}, "undetermined", "is not told from nothing"),
        (
            {"truth": {PUBLISHED[0]: Truth(100, 60, runs_per_event=0.4)}},
            "not comparable",
            "only 0.40",
        ),
    ],
)
def test_what_cannot_be_compared_says_why(
    tmp_path: Path, options: dict[str, Any], verdict: str, said: str
) -> None:
    found = entries(made.write(tmp_path / "run", made.plan(3, loads=()), **options))
    assert (found[PUBLISHED]["verdict"], said in found[PUBLISHED]["text"]) == (verdict, True), (
        found[PUBLISHED]["text"]
    )
    assert all(finite(value) for e in found.values() for value in e.values())


def test_one_block_has_no_interval_and_no_agreement(tmp_path: Path) -> None:
    found = entries(made.write(tmp_path / "run", made.plan(1, loads=())))
    assert {e["verdict"] for e in found.values()} == {"undetermined"}
    assert found[PUBLISHED]["residual"].low is None
    assert "one block" in found[PUBLISHED]["text"]


def test_a_run_that_times_nothing_with_statistics_on_has_no_accounts(
    tmp_path: Path, quick_run: Path
) -> None:
    assert not entries(quick_run)
    assert not entries(made.write(tmp_path / "run", made.plan(2, states=("off",), loads=())))


def test_an_unfinished_run_says_what_is_not_there_yet(tmp_path: Path) -> None:
    planned = made.plan(2, loads=())
    first = next(t["trial"] for t in planned["trials"] if t["kind"] == "external")
    found = entries(made.write(tmp_path / "run", planned, upto=first))
    assert {e["verdict"] for e in found.values()} == {"not comparable"}
    assert all("no trial yet" in e["text"] for e in found.values())


def test_a_schema_1_plan_without_workloads_is_of_switches(tmp_path: Path) -> None:
    planned = synthetic.make_plan(synthetic.PROCESSES, [600], 3)
    folder = synthetic.write_run(
        tmp_path / "run", planned, change=lambda row, _: row.pop("workload", 0)
    )
    for trial in planned["trials"]:
        trial.pop("workload", None)
    assert set(ns_per_switch(load_run(folder))["arm"]) == {"sched_switch_published", "sched_switch"}
