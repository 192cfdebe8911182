"""Cost against the threads that press the scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic_cores as made

from analysis import levels
from analysis.cores import threads
from analysis.figures import kinds
from analysis.load import load_run
from analysis.measures import Measures
from analysis.results import compute
from analysis.summary import summarise
from analysis.tables import cores as tables
from analysis.tables import instrument


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.write(tmp_path_factory.mktemp("raw") / "run")


def test_the_line_is_the_one_that_costs_were_made_from(folder: Path) -> None:
    lines = {e["arm"]: e for e in threads.lines(Measures(load_run(folder)))}
    fixed, slope = made.COST["top"]
    assert lines["top"]["slope"].estimate == pytest.approx(slope, rel=0.02)
    assert lines["top"]["intercept"].estimate == pytest.approx(fixed, rel=0.02)
    assert lines["top"]["per_thread"].estimate == pytest.approx(slope / 100 * 1e9, rel=0.02)
    assert lines["top"]["misfit"] < 0.05 and lines["top"]["levels"] == made.THREADS
    assert abs(lines["mpstat"]["slope"].estimate) < 1e-6


def test_what_a_switch_is_counted_with_is_told_by_the_calibration_that_is_used(
    folder: Path, quick_run: Path
) -> None:
    """Beside threads a switch costs what it does at their rate, not what a paced one does."""
    pressed, plain = (
        instrument.calibration(compute(load_run(run))).markdown() for run in (folder, quick_run)
    )
    assert "Paced is used for the headline" in plain
    assert "Paced is used" not in pressed and "is the curve" in pressed


def test_a_run_of_process_counts_has_no_lines_of_threads(quick_run: Path) -> None:
    found = compute(load_run(quick_run))
    assert not found.thread_lines and tables.threads(found) is None and found.lines


def test_levels_of_threads_are_kept_apart_everywhere(folder: Path, tmp_path: Path) -> None:
    results = compute(load_run(folder))
    assert [levels.stress_of(level) for level in results.levels] == made.THREADS
    summary = summarise(results)
    assert [c["stress_threads"] for c in summary["contrasts"]] == [0, 500]
    assert {c["stress_threads"] for c in summary["cells"]} == set(made.THREADS)
    assert "free system" in summary["sentence"] and "500 threads" in summary["sentence"]
    names = {path.stem for path in kinds.make(results, tmp_path)[0] if path.suffix == ".csv"}
    assert {"source_table", "cost_vs_threads", "core_accuracy"} <= names
    assert "cost_vs_processes" not in names


@pytest.mark.parametrize("count", [0, 1, 50, 10**6])
def test_a_number_of_threads_is_no_point_and_no_number_of_processes(count: int) -> None:
    level = levels.of_stress(count)
    assert levels.stress_of(level) == count
    assert levels.point_of(level) is None and levels.processes_of(level) is None
    assert levels.of_entry(levels.at(level)) == level
    for other in (levels.LEFT_ALONE, levels.of_point(1), levels.of_point(60), 600):
        assert levels.stress_of(other) is None and other != level
