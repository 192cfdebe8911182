"""A review's plan, and what it remembers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.problem import Problem
from cli.review import steps
from cli.review.steps import State, Step


def test_the_plan_fits_the_time_and_says_what_is_left_out() -> None:
    for minutes in (100, 45, 10):
        plan = steps.planned(minutes, None)
        doing = [step for step in plan if not step.left_out]
        assert sum(step.minutes for step in doing) <= minutes
        for step in plan:
            assert not step.left_out or step.minutes > 0
        assert len(steps.lines(plan)) == len(plan) + 1
    assert [s.name for s in steps.planned(100, None)][:4] == ["doctor", "quick", "figures", "paper"]
    assert not [s for s in steps.planned(100, None) if s.left_out], "two hours hold all of it"
    assert "paper" in {s.name for s in steps.planned(10, None) if s.left_out}


def test_a_preset_of_its_own_replaces_the_measuring_steps() -> None:
    plan = steps.planned(100, "smoke")
    assert [step.preset for step in plan if step.studies] == ["smoke"]


def test_what_is_done_is_remembered_and_another_review_is_refused(tmp_path: Path) -> None:
    state = State(tmp_path, None)
    state.note("doctor", done=True, seconds=1)
    state.note("quick", done=False, reason="no root")
    again = State(tmp_path, None)
    assert again.done("doctor") and not again.done("quick") and not again.done("paper")
    assert again.told("quick")["reason"] == "no root"
    with pytest.raises(Problem, match="begun with the usual presets, not --preset smoke"):
        State(tmp_path, "smoke")


def test_a_damaged_state_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(Problem, match="cannot be read"):
        State(tmp_path, None)


def test_only_a_session_of_the_same_step_is_gone_on_with(tmp_path: Path) -> None:
    step = Step("paper", "", 1, ("processes",), "paper")
    assert not steps.begun(tmp_path, step)
    session = {
        "parameters": {"preset": "paper", "study": ["processes"]},
        "runs": {"processes": "x"},
    }
    (tmp_path / "session.json").write_text(json.dumps(session))
    assert steps.begun(tmp_path, step)
    assert not steps.begun(tmp_path, Step("quick", "", 1, ("processes", "gauges"), "quick"))
