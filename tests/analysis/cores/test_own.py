"""The source's table: what perf stat counts of a tool, and what that leaves out."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import synthetic_cores as made

from analysis.cores import own
from analysis.levels import of_stress
from analysis.load import load_run
from analysis.results import compute
from analysis.statistics.intervals import Interval
from analysis.tables import cores as tables

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.write(tmp_path_factory.mktemp("raw") / "run")


def ratio(folder: Path, measure: str, threads: int, arm: str = own.PUBLISHED) -> dict[str, Any]:
    found = own.ratios(load_run(folder))
    return next(e for e in found if e["id"] == f"{measure}_over_{arm}_at_{threads}")


@pytest.mark.parametrize("threads", made.THREADS)
def test_a_ratio_is_that_of_the_processes_alone(folder: Path, threads: int) -> None:
    (x, more, *_), (y, *_) = made.OWN["top"], made.OWN[own.PUBLISHED]
    found = ratio(folder, "task_clock", threads)
    truth = (x + more * threads) / y
    assert found["comparison"].ratio.estimate == pytest.approx(truth, rel=0.02)
    assert found["verdict"] == "dearer"
    usage = ratio(folder, "cpu_usage", threads)["comparison"]
    assert usage.numerator.estimate == pytest.approx((x + more * threads) / 100, rel=0.02)


def test_with_the_programs_time_the_ratio_is_another_one(folder: Path) -> None:
    whole = ratio(folder, "with_program", 500)["comparison"]
    (x, more, *_), (y, *_) = made.OWN["top"], made.OWN[own.PUBLISHED]
    truth = (x + more * 500) / (y + made.BPF_NS_PER_THREAD * 500 / 1e6)
    assert whole.ratio.estimate == pytest.approx(truth, rel=0.02)
    free = [ratio(folder, m, 0)["comparison"].ratio for m in ("task_clock", "with_program")]
    assert free[0] == free[1], "without a switch the program takes nothing"


def test_both_monitors_are_set_against_top(folder: Path) -> None:
    found = ratio(folder, "task_clock", 0, own.CORRECTED)["comparison"]
    assert found.ratio.estimate == pytest.approx(264 / 40, rel=0.02)


def test_a_missing_counter_is_no_zero(folder: Path) -> None:
    found = own.ratios(load_run(folder))
    assert "instructions" not in {e["measure"] for e in found}
    (cell, *_) = own.cells(load_run(folder))
    assert cell["instructions"].estimate is None


def test_the_warm_up_and_failed_trials_are_left_out(tmp_path: Path) -> None:
    def spoil(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "from_start" and trial["block"] in (0, 1):
            row["own_task_clock_ns"] = 10**12
            if trial["block"] == 1:
                row |= {"status": "failed", "reason": "made up"}

    folder = made.write(tmp_path / "run", change=spoil)
    cells = {(e["arm"], e["level"]): e for e in own.cells(load_run(folder))}
    top = cells["top", of_stress(0)]
    assert top["blocks"] == 6 and top["task_clock"].estimate == pytest.approx(264, rel=0.02)


@pytest.mark.parametrize(
    ("ends", "word"),
    [
        ((1.2, 1.1, 1.4), "dearer"),
        ((0.7, 0.6, 0.95), "cheaper"),
        ((1.0, 0.95, 1.05), "indistinguishable"),
        ((1.05, 1.01, 1.09), "indistinguishable"),
        ((1.3, 0.9, 1.8), "undetermined"),
        ((3.0, 1.5, None), "dearer"),
        ((3.0, None, None), "undetermined"),
    ],
)
def test_the_interval_alone_decides(ends: tuple[float, Any, Any], word: str) -> None:
    assert own.verdict(Interval(*ends, 7, "made up"))[0] == word


def test_the_table_shows_what_was_published_beside_ours(folder: Path) -> None:
    table = tables.source(compute(load_run(folder)))
    assert table is not None
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert rows["task_clock_over_sched_switch_cores_published_at_0"]["published_ratio"] == 22
    assert rows["system_time_over_sched_switch_cores_published_at_200"]["published_top"] == 461
    assert rows["task_clock_over_sched_switch_cores_published_at_50"].get("published_ratio") is None
    assert "left out" in table.markdown()


def test_a_ratio_without_an_interval_says_once_that_it_is_undetermined() -> None:
    wide = Interval(13.6, None, None, 6, "undetermined: a spread of 155 % of the mean")
    assert own.verdict(wide) == ("undetermined", "a spread of 155 % of the mean")


def test_in_the_exact_machine_the_process_and_the_whole_machine_are_told_apart() -> None:
    """A shipped run: real rows, summed up here once more by hand."""
    (path,) = [
        path
        for path in (ROOT / "data" / "raw" / "cores").iterdir()
        if json.loads((path / "manifest.json").read_text()).get("exact", {}).get("guest")
        == "6.1-aarch64"
    ]
    found = own.by_block(load_run(path)).set_index(["level", "arm", "block"])
    with open(path / "trials.csv", newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["status"] == "ok"]
    counted = ("user_instructions", "kernel_instructions", "bpf_instructions")
    empty = {
        (row["block"], row["stress_threads"]): sum(int(row[name]) for name in counted)
        / int(row["window_ns"])
        for row in rows
        if row["kind"] == "empty"
    }
    lives = [row for row in rows if row["kind"] == "from_start"]
    assert len(lives) == len(found) == 48
    for row in lives:
        at = of_stress(int(row["stress_threads"])), row["arm"], int(row["block"])
        clock, window = int(row["own_task_clock_ns"]), int(row["window_ns"])
        assert found.loc[at, "instructions"] == pytest.approx(clock / 2 / 1e6)
        whole = sum(int(row[name]) for name in counted)
        beside = window * empty[row["block"], row["stress_threads"]]
        assert found.loc[at, "instructions_whole"] == pytest.approx((whole - beside) / 1e6)
    ratios = {(e["measure"], e["denominator"], e["level"]): e for e in own.ratios(load_run(path))}
    alone, whole_ratio = (
        ratios[measure, own.PUBLISHED, of_stress(200)]["comparison"].ratio.estimate
        for measure in own.COUNTED
    )
    assert alone > 10 * whole_ratio > 10, "what the source's way of counting leaves out"
