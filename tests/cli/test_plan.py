"""./study plan: what a plan says beforehand, and how many blocks a precision needs."""

from __future__ import annotations

import re

import pytest

from cli import parameters
from cli import plan as plans
from cli.__main__ import dispatch, measuring
from cli.problem import Problem
from experiment import pilot


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert dispatch("plan", list(words)) == 0
    return capsys.readouterr().out


def test_a_plan_forecasts_the_precision_of_its_primary_ratio(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = said(capsys, "processes", "--preset", "paper")
    line = next(line for line in text.splitlines() if "forecast for" in line)
    assert "proc_vs_published_600: ratio to ±" in line and "pilot: 12 blocks of 2026" in line
    other = said(capsys, "processes", "--preset", "quick")
    assert "windows of 5 s, here 2" in other, "the pilot was measured otherwise"


def test_a_half_width_becomes_blocks_minutes_and_a_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = said(capsys, "processes", "--preset", "paper", "--half-width", "20%")
    found = re.search(r"±20 % of the ratio: (\d+) blocks, about (\d+) minutes \((.+)\)", text)
    assert found, text
    contrast = {"numerator": "proc_stat", "denominator": "sched_switch_published"}
    known = pilot.find("processes", {**contrast, "statistics": "off", "processes": 600}, 1000, 5.0)
    assert known is not None
    assert int(found[1]) == known.blocks_for(0.2)
    # the command is one that measures so many blocks of the same plan
    words = found[3].removeprefix("./study run ").split()
    values = parameters.resolve(measuring("run", words))
    made = plans.build("processes", values)
    assert made["blocks"] == int(found[1]) and made["preset"] == "paper"
    assert made["estimate"]["minutes"] == pytest.approx(int(found[2]), abs=1)


def test_a_budget_says_what_it_buys(capsys: pytest.CaptureFixture[str]) -> None:
    little = said(capsys, "processes", "--minutes", "5")
    much = said(capsys, "processes", "--minutes", "30", "--half-width", "20")
    widths = []
    for text in (little, much):
        assert re.search(r"minutes buy \d+ blocks", text)
        found = re.search(r"ratio to ±([\d.]+) %", text)
        assert found
        widths.append(float(found[1]))
    assert widths[1] < widths[0]
    assert "±20 % of the ratio: " in much


def test_without_a_pilot_it_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "gauges", "--half-width", "10%")
    assert "no forecast of precision: no pilot of proc_vs_timer has been measured" in text
    assert "±10 %: unknown, no pilot of proc_vs_timer" in text
    assert "more than 1,000 blocks" in said(capsys, "processes", "--half-width", "0.5%")


@pytest.mark.parametrize("value", ["", "x", "0", "-5%", "nan", "1e3", "10%%", "5000"])
def test_a_wrong_half_width_is_one_line(value: str) -> None:
    with pytest.raises(Problem, match="it must be a percentage of the ratio") as caught:
        plans.percent(value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["10", "10%", "10 %", " 10% ", "10.0"])
def test_a_percentage_is_read_as_people_write_it(text: str) -> None:
    assert plans.percent(text) == 10


def test_only_a_plan_takes_a_half_width() -> None:
    with pytest.raises(Problem, match="unknown option '--half-width'"):
        measuring("run", ["processes", "--half-width", "10%"])
