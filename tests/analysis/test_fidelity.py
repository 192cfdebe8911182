"""Fidelity: what is allowed is derived, a declared blind spot is no error, wrong has no verdict."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import synthetic
import synthetic_accounts as made

from analysis import checks
from analysis.answers import accuracy, answers
from analysis.contrasts import evaluate
from analysis.fidelity import failed, fidelity
from analysis.load import Run, load_run
from analysis.measures import Measures
from analysis.results import compute
from analysis.statistics.intervals import Interval
from analysis.summary import summarise
from analysis.workloads import CHILDREN, USES, processes
from experiment import loads

POLLING = ("proc_stat", "psutil_processes")
PUBLISHED = "sched_switch_published"


def with_loads(folder: Path, blocks: int = 4, **options: Any) -> Run:
    """Only the fidelity trials."""
    planned = made.plan(blocks, states=())
    planned["trials"] = [t for t in planned["trials"] if t["kind"] == "fidelity"]
    return load_run(made.write(folder, planned, **options))


def off_by(arm: str, load: str, share: float, blocks: tuple[int, ...] = ()) -> synthetic.Change:
    """An arm that reports another share of the known time under a load, in some or all blocks."""

    def change(row: dict[str, Any], trial: dict[str, Any]) -> None:
        mine = trial["kind"] == "fidelity" and (trial["arm"], trial["workload"]) == (arm, load)
        if mine and (not blocks or trial["block"] in blocks):
            row["reported_ns"] = round(row["known_ns"] * (1 + share))

    return change


def cells(run: Run) -> dict[tuple[str, str], dict[str, Any]]:
    return {(e["arm"], e["workload"]): e for e in fidelity(run)}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return with_loads(tmp_path_factory.mktemp("raw") / "run")


def test_every_collector_is_judged_on_every_load(run: Run) -> None:
    found = cells(run)
    assert set(found) == {(arm, load) for arm in made.DUMPING for load in made.USES}
    assert {e["n"] for e in found.values()} == {4}
    steady = found["sched_switch", "steady"]
    assert steady["error"].estimate == pytest.approx(0.002, abs=0.002)
    assert (steady["verdict"], steady["reason"]) == ("true", "")


def test_a_blind_spot_that_is_declared_is_named_and_one_that_is_not_is_wrong(run: Run) -> None:
    found = cells(run)
    for arm in POLLING:
        cell = found[arm, "children"]
        assert cell["verdict"] == "misses" and cell["worst"] < -0.9
        assert cell["reason"] == made.BLIND[arm]["children"]
    assert found[PUBLISHED, "threads"]["verdict"] == "misses"
    assert {e["verdict"] for key, e in found.items() if key[1] not in ("children", "threads")} == {
        "true"
    }


def test_what_is_reported_too_much_is_wrong_whatever_is_declared(tmp_path: Path) -> None:
    change = off_by("proc_stat", "children", 0.6)
    assert cells(with_loads(tmp_path / "r", 2, change=change))["proc_stat", "children"][
        "verdict"
    ] == ("wrong")


@pytest.mark.parametrize(
    ("arm", "load", "share", "verdict"),
    [
        ("proc_stat", "children", -0.39, "true"),  # 200 x 20 ms of 10 s
        ("proc_stat", "children", -0.41, "misses"),
        ("sched_switch", "children", -0.019, "true"),
        ("sched_switch", "children", -0.021, "wrong"),  # counts in ns, declares nothing
        ("proc_stat", "exits", -0.039, "true"),  # two processes in three intervals: 40 ms of 1 s
        ("proc_stat", "threads", -0.0201, "wrong"),  # one process: two ticks of 1 s are 2 %
    ],
)
def test_each_of_many_processes_may_be_short_by_its_own_ticks(
    tmp_path: Path, arm: str, load: str, share: float, verdict: str
) -> None:
    change = off_by(arm, load, share)
    assert cells(with_loads(tmp_path / "r", 1, change=change))[arm, load]["verdict"] == verdict


@pytest.mark.parametrize("load", USES)
@pytest.mark.parametrize(("window_s", "interval_ms"), [(3, 1000), (0.8, 200), (0.4, 200)])
def test_the_analysis_knows_how_many_processes_a_load_has(
    load: str, window_s: float, interval_ms: int
) -> None:
    trial = {"kind": "fidelity", "workload": load, "window_s": window_s, "interval_ms": interval_ms}
    words = loads.known_use(trial).arguments
    children = int(words[words.index("--count") + 1]) if "--count" in words else 1
    assert processes(trial) == children
    assert processes({**trial, "workload": "children", "children": 7}) == 7
    assert (CHILDREN, tuple(USES)) == (loads.CHILDREN, loads.KNOWN_USE)


def test_one_bad_trial_in_four_is_named_and_two_are_wrong(tmp_path: Path) -> None:
    one = cells(with_loads(tmp_path / "a", change=off_by("sched_switch", "busy", 0.05, (2,))))
    two = cells(with_loads(tmp_path / "b", change=off_by("sched_switch", "busy", 0.05, (2, 3))))
    assert one["sched_switch", "busy"]["verdict"] == "true"
    assert one["sched_switch", "busy"]["reason"] == "1 of 4 trials beyond, most +5.0 %"
    assert two["sched_switch", "busy"]["verdict"] == "wrong"


def test_what_fails_an_arm(tmp_path: Path) -> None:
    """Undeclared errors on any load, and any miss of the steady one; other declared misses not."""
    planned = made.plan(2, states=())
    planned["arms"]["bcc_sched_switch"]["blind_to"] = {"steady": "everything"}
    wrong, blind = off_by("sched_switch", "exits", -0.3), off_by("bcc_sched_switch", "steady", -0.1)

    def change(row: dict[str, Any], trial: dict[str, Any]) -> None:
        wrong(row, trial)
        blind(row, trial)

    run = load_run(made.write(tmp_path / "r", planned, change=change))
    assert failed(fidelity(run)) == {
        "sched_switch": "eBPF, corrected fails its fidelity trial (gone between scrapes): "
        "reported/known − 1 = −30.0 %",
        "bcc_sched_switch": "BCC (Python) fails its fidelity trial: reported/known − 1 = −10.0 %",
    }
    assert cells(run)["bcc_sched_switch", "steady"]["verdict"] == "misses"


@pytest.mark.parametrize(("load", "share"), [("steady", -0.05), ("exits", 0.05)])
def test_a_wrong_arm_gets_no_verdict_on_its_cost(tmp_path: Path, load: str, share: float) -> None:
    declared = [synthetic.contrast("sched_switch", PUBLISHED, None)]
    planned = made.plan(2, states=("off",), loads=("steady", "exits"), contrasts=declared)
    change = off_by("sched_switch", load, share)
    run = load_run(made.write(tmp_path / "r", planned, change=change))
    entry = evaluate(Measures(run))[0]
    assert entry["verdict"] == "undetermined" and "fails its fidelity trial" in entry["why"]
    assert sum("failed arm" in line for line in checks.warnings(run)) == 1


def test_the_sentence_has_no_ratio_of_an_arm_that_is_wrong(tmp_path: Path) -> None:
    def wrong(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "fidelity" and trial["arm"] == PUBLISHED:
            row["reported_ns"] //= 2

    summary = summarise(compute(load_run(synthetic.quick(tmp_path / "r", 2, change=wrong))))
    assert summary["main"]["ratio"] is None
    assert " times" not in summary["sentence"] and "article" not in summary["sentence"]
    reason = "eBPF, published fails its fidelity trial: reported/known − 1 = −50"
    assert summary["main"]["failed"].startswith(reason)
    assert summary["sentence"].endswith(
        f"kernel work included: no ratio, {summary['main']['failed']}."
    )


def test_which_kind_of_collector_is_closer_is_said_by_load(run: Run) -> None:
    found = accuracy(run)
    assert found is not None
    rows = {row["workload"]: row for row in found["workloads"]}
    assert list(rows) == list(made.USES)
    assert rows["children"]["closer"] == "sched_switch"
    assert rows["children"]["polling"]["median_absolute"] == pytest.approx(0.93, abs=0.01)
    assert rows["threads"]["closer"] == "polling", "one of three counts one thread only"
    assert rows["threads"]["sched_switch"]["arms"]["sched_switch"] < 0.01
    difference: Interval = rows["steady"]["difference"]
    assert difference.estimate == pytest.approx(-0.004, abs=0.002)
    arms = {e["arm"]: e for e in found["arms"]}
    assert (arms["sched_switch"]["closer_on"], arms["sched_switch"]["loads"]) == (7, 7)
    assert arms["sched_switch"]["p"] == pytest.approx(2 / 2**7)
    assert arms[PUBLISHED]["closer_on"] == 6
    assert "eBPF, corrected on 7 of 7 loads (sign test, p = .016)" in found["text"]
    assert "median absolute error" in found["text"] and "per-core time is not" in found["text"]


def test_one_kind_of_collector_answers_nothing(tmp_path: Path) -> None:
    plan = synthetic.make_plan(["null_agent", "proc_stat"], [100], 2)
    run = load_run(synthetic.write_run(tmp_path / "r", plan))
    assert accuracy(run) is None and answers(run, [], fidelity(run)) == {}


def test_one_block_decides_nothing(tmp_path: Path) -> None:
    found = accuracy(with_loads(tmp_path / "r", 1))
    assert found is not None and {row["closer"] for row in found["workloads"]} == {"undetermined"}


def test_what_a_sleeping_process_costs_is_the_slope(quick_run: Path) -> None:
    results = compute(load_run(quick_run))
    found = results.answers["PROC-7"]
    slopes = {s["arm"]: s for s in found["slopes"]}
    assert set(slopes) == {PUBLISHED, "sched_switch"}
    line = next(x for x in results.lines if (x.arm, x.measure) == (PUBLISHED, "headline"))
    assert slopes[PUBLISHED]["ns_per_process_and_scrape"] == line.ns_per_process
    assert found["text"].startswith("One more sleeping process costs a scrape: ")


def test_a_run_at_one_process_count_does_not_speak_of_sleeping_processes(run: Run) -> None:
    found = answers(run, [], fidelity(run))["PROC-7"]
    assert found["slopes"] == [] and "no headline at two process counts" in found["text"]


def no_known(row: dict[str, Any], trial: dict[str, Any]) -> None:
    if trial["kind"] == "fidelity":
        row["known_ns"] = 0


def not_read(row: dict[str, Any], trial: dict[str, Any]) -> None:
    if trial["kind"] == "fidelity":
        row["reported_ns"] = 0


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        ({"unavailable": made.DUMPING}, "unavailable"),
        ({"change": no_known}, "unavailable"),
        ({"change": not_read}, "wrong"),
    ],
)
def test_degenerate_trials_have_a_verdict(
    tmp_path: Path, options: dict[str, Any], verdict: str
) -> None:
    run = with_loads(tmp_path / "r", 2, **options)
    found = cells(run)
    assert found["sched_switch", "steady"]["verdict"] == verdict
    numbers = [v for e in found.values() for v in (e["error"].estimate, e["worst"], e["allowed"])]
    assert all(v is None or math.isfinite(v) for v in numbers)
