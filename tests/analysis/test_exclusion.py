"""Blocks are left out by declared limits, whatever the arm; nothing else is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import synthetic
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import exclusion
from analysis.contrasts import evaluate
from analysis.load import Run, load_run
from analysis.measures import Measures
from analysis.report import process
from analysis.results import compute
from analysis.summary import summarise
from analysis.tables import costs
from experiment import presets

LIMITS = dict(exclusion.LIMITS)
SECOND = 1_000_000_000


def busy(*blocks: int, arm: str = "proc_stat", column: str = "busy_ns") -> synthetic.Change:
    """A second of something else in one window of each of the blocks."""

    def change(row: dict[str, Any], trial: dict[str, Any]) -> None:
        here = (trial["kind"], trial["arm"], trial["statistics"], trial["processes"])
        if trial["block"] in blocks and here == ("cost", arm, "off", 600):
            row[column] += SECOND

    return change


def planned(folder: Path, limits: Any = LIMITS, blocks: int = 8, **options: Any) -> Run:
    plan = synthetic.make_plan(
        synthetic.PROCESSES,
        [100, 600],
        blocks,
        a_a=("proc_stat", "off", 600),
        contrasts=[synthetic.contrast("proc_stat", "sched_switch_published", 600)],
    )
    return load_run(synthetic.write_run(folder, {**plan, "exclusion": limits}, **options))


@pytest.mark.parametrize("column", ["busy_ns", "steal_ns"])
@pytest.mark.parametrize("arm", synthetic.PROCESSES)
def test_a_disturbed_window_of_any_arm_costs_its_block(
    tmp_path: Path, arm: str, column: str
) -> None:
    run = planned(tmp_path / "run", change=busy(3, 5, arm=arm, column=column))
    assert [e.block for e in run.excluded] == [3, 5]
    assert set(run.trials["block"]) == {0, 1, 2, 4, 6, 7, 8, 9}
    assert "50 % of a core" in run.excluded[0].reason
    entry = evaluate(Measures(run))[0]
    assert entry["comparison"].blocks == (1, 2, 4, 6, 7, 8) and entry["comparison"].dropped == 0
    assert entry["verdict"] == "dearer"


def test_the_warm_up_is_not_judged(tmp_path: Path) -> None:
    assert planned(tmp_path / "run", change=busy(0)).excluded == ()


def test_load_that_the_plan_itself_sets_up_is_no_disturbance(tmp_path: Path) -> None:
    def every(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "cost" and trial["processes"] == 600:
            row["busy_ns"] += SECOND

    assert planned(tmp_path / "run", change=every).excluded == ()


def test_what_the_trial_accounts_for_is_not_foreign(tmp_path: Path) -> None:
    def dear(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "cost" and trial["block"] == 2:
            for column in ("agent_ns", "harness_ns"):
                row[column] += SECOND
                row["busy_ns"] += SECOND

    assert planned(tmp_path / "run", change=dear).excluded == ()


@settings(max_examples=10, deadline=None)
@given(order=st.permutations(synthetic.PROCESSES))
def test_the_rule_is_blind_to_the_arm(quick_run: Path, order: list[str]) -> None:
    """Other names on the same rows, and costs multiplied, leave out the same blocks."""
    trials = load_run(quick_run).trials
    busiest = trials["trial"] == trials[trials["kind"] == "cost"]["trial"].iloc[-1]
    trials = trials.assign(busy_ns=trials["busy_ns"].where(~busiest, trials["busy_ns"] + SECOND))
    found = exclusion.disturbed(trials, LIMITS)
    assert len(found) == 1
    names = dict(zip(synthetic.PROCESSES, order, strict=True))
    assert exclusion.disturbed(trials.assign(arm=trials["arm"].map(names)), LIMITS) == found


def test_a_limit_of_null_holds_nothing_back(tmp_path: Path) -> None:
    none = dict.fromkeys(LIMITS)
    assert planned(tmp_path / "run", none, change=busy(1, 2, 3)).excluded == ()


def test_a_run_planned_without_limits_keeps_its_blocks_and_says_what_they_would_have_hit(
    tmp_path: Path,
) -> None:
    path = synthetic.quick(tmp_path / "run", 6, change=busy(2, 4))
    run = load_run(path)
    assert run.excluded == () and {2, 4} <= set(run.trials["block"])
    assert len(run.disturbances) == 1 and "would have left out 2 of 6 blocks" in run.disturbances[0]


def test_too_few_blocks_left_are_undetermined_and_the_reason_says_why(tmp_path: Path) -> None:
    entry = evaluate(Measures(planned(tmp_path / "run", change=busy(1, 2, 3, 4))))[0]
    assert entry["verdict"] == "undetermined"
    assert "4 blocks (4 more left out as disturbed)" in entry["why"]


def test_a_run_of_disturbed_blocks_only_ends_in_words(tmp_path: Path) -> None:
    run = planned(tmp_path / "run", blocks=3, change=busy(1, 2, 3))
    entry = evaluate(Measures(run))[0]
    assert entry["verdict"] == "unavailable"
    assert "every block was left out as disturbed" in entry["why"]
    process(run.path, tmp_path / "out")


def test_the_verdict_table_and_the_summary_count_them(tmp_path: Path) -> None:
    results = compute(planned(tmp_path / "run", change=busy(3)))
    summary = summarise(results)
    assert [e["block"] for e in summary["excluded_blocks"]] == [3]
    assert summary["exclusion"] == LIMITS
    assert any("blind to the arm: block 3" in warning for warning in summary["warnings"])
    note = costs.verdicts(results).markdown()
    assert "1 of 8 blocks left out as disturbed" in note and "25 % of a core of foreign" in note


def test_no_rows_no_blocks() -> None:
    assert exclusion.disturbed(pd.DataFrame(), LIMITS) == ()


def test_the_limits_of_the_warning_are_those_of_the_presets() -> None:
    studies = presets.load()[1]
    declared = {p.exclusion for named in studies.values() for p in named.values()} - {None}
    assert declared == {presets.Exclusion(**LIMITS)}
