"""What each tool says of CPUs whose activity is known."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
import synthetic_cores as made

from analysis.cores import accuracy
from analysis.load import RunError, load_run
from analysis.statistics.intervals import Interval


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.write(tmp_path_factory.mktemp("raw") / "run")


@pytest.mark.parametrize("arm", list(made.ERRORS))
def test_the_bias_is_the_one_it_was_made_with(folder: Path, arm: str) -> None:
    bias, spread = made.ERRORS[arm]
    cell = next(e for e in accuracy.cells(load_run(folder)) if (e["arm"], e["duty"]) == (arm, 20))
    assert cell["bias"].estimate == pytest.approx(bias, abs=spread / 2)
    assert cell["error"].estimate >= abs(cell["bias"].estimate)
    assert cell["worst"] >= cell["error"].estimate and cell["n"] == 7


def test_loads_stand_from_long_bursts_to_short_ones(folder: Path) -> None:
    loads = list(dict.fromkeys(e["load"] for e in accuracy.cells(load_run(folder))))
    assert loads == [
        "1 % in bursts of 1 ms", "20 % in bursts of 20 ms", "20 % in bursts of 0.2 ms",
    ]  # fmt: skip


def test_the_monitor_is_closer_where_its_errors_are_smaller(folder: Path) -> None:
    run = load_run(folder)
    found = accuracy.compared(run)
    assert {e["arm"] for e in found} == {"top", "mpstat"}
    assert {e["closer"] for e in found} == {"sched_switch"}
    answer = accuracy.answer(run)
    assert answer is not None and len(answer["workloads"]) == len(made.LOADS)
    for load in answer["workloads"]:
        assert -0.01 < load["difference"].estimate < 0, "a share of a CPU, not points"


def test_a_tool_that_reports_nothing_has_its_reason_and_no_error(tmp_path: Path) -> None:
    def fail(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if (trial["kind"], trial["arm"]) == ("cores", "mpstat"):
            row |= {"status": "unavailable", "reason": "no such program"}

    run = load_run(made.write(tmp_path / "run", change=fail))
    cells = [e for e in accuracy.cells(run) if e["arm"] == "mpstat"]
    assert cells and all(e["n"] == 0 and e["error"].estimate is None for e in cells)
    assert {e["reason"] for e in cells} == {"unavailable: no such program"}
    assert {e["arm"] for e in accuracy.compared(run)} == {"top"}


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (-2, -1, "sched_switch"),
        (1, 2, "polling"),
        (-1, 1, "undetermined"),
        (None, None, "undetermined"),
    ],
)
def test_an_interval_that_holds_nothing_decides_nothing(low: Any, high: Any, word: str) -> None:
    assert accuracy.closer(Interval(0.0, low, high, 7)) == word


def test_a_report_of_no_trial_is_refused_in_a_line(tmp_path: Path) -> None:
    planned = made.plan()
    folder = made.write(tmp_path / "run", planned)
    ghost = max(t["trial"] for t in planned["trials"]) + 1
    with gzip.open(folder / "cores.csv.gz", "at", encoding="utf-8") as file:
        file.write(f"{ghost},0,0,1.0,1.0\n")
    with pytest.raises(RunError, match=f"trial {ghost} has no row in trials.csv"):
        load_run(folder)


def test_a_number_that_is_none_is_refused_with_its_line(tmp_path: Path) -> None:
    folder = made.write(tmp_path / "run")
    with gzip.open(folder / "cores.csv.gz", "at", encoding="utf-8") as file:
        file.write("20,0,0,nan,1.0\n")
    with pytest.raises(RunError, match="known_percent is 'nan', not a finite number"):
        load_run(folder)
