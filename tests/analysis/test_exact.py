"""Instructions per scrape: the truth is recovered to the digit, and a range is no interval."""

from __future__ import annotations

import json
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
import synthetic_exact as made

from analysis import beside, exact
from analysis.claims import evidence
from analysis.exact import Digits
from analysis.load import load_run
from analysis.report import process, process_all
from analysis.results import compute
from analysis.tables.beside import newest_exact


def total(arm: str, level: int) -> int:
    fixed, slope = made.TRUTH[arm]
    return fixed + slope * level


def test_an_empty_window_of_another_length_is_taken_off_and_the_digits_remain(
    tmp_path: Path,
) -> None:
    found = exact.cells(load_run(made.write(tmp_path / "run")))
    assert {(e["arm"], e["level"]) for e in found} == set(product(made.ARMS, made.LEVELS))
    assert len(found) == len(made.ARMS) * len(made.LEVELS)
    for entry in found:
        truth = total(entry["arm"], entry["level"])
        assert entry["total"] == Digits(truth, truth, truth, 8)
        parts = [entry[part].median for part in exact.PARTS]
        assert sum(parts) == pytest.approx(truth)
        assert entry["bpf"].median == pytest.approx(0.2 * truth)


def test_the_slope_is_instructions_per_process(tmp_path: Path) -> None:
    found = {e["arm"]: e for e in exact.slopes(load_run(made.write(tmp_path / "run")))}
    for arm, (fixed, slope) in made.TRUTH.items():
        assert found[arm]["slope"].median == pytest.approx(slope, abs=1e-6)
        assert found[arm]["intercept"].median == pytest.approx(fixed)
    one = made.write(tmp_path / "one", made.plan(levels=[100]))
    assert exact.slopes(load_run(one)) == []


def test_the_range_is_that_of_the_perturbations(tmp_path: Path) -> None:
    found = exact.cells(load_run(made.write(tmp_path / "run", jitter=1000)))
    entry = next(e for e in found if (e["arm"], e["level"]) == ("proc_stat", 100))
    truth = total("proc_stat", 100)
    assert entry["total"] == Digits(truth + 4500, truth + 1000, truth + 8000, 8)
    assert entry["total"].range_percent == pytest.approx(100 * 7000 / (truth + 4500))


def shifted(by: int) -> Any:
    """The second contrast's arms are equal but for what one perturbation does to them."""

    def change(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "cost" and trial["arm"] == "sched_switch":
            gap = total("sched_switch", trial["processes"]) - total("null_agent", 0)
            push = by if trial["block"] % 2 else -by
            row["kernel_instructions"] += row["scrapes"] * (push - gap)

    return change


def test_arms_are_told_apart_only_where_every_perturbation_agrees(tmp_path: Path) -> None:
    first, second = exact.comparisons(load_run(made.write(tmp_path / "a")))
    assert (first["verdict"], second["verdict"]) == ("dearer", "dearer")
    ratio = total("proc_stat", 600) / total("sched_switch_published", 600)
    assert first["ratio"].median == pytest.approx(ratio)
    _, second = exact.comparisons(load_run(made.write(tmp_path / "b", change=shifted(50))))
    assert second["verdict"] == "indistinguishable"
    one = exact.comparisons(load_run(made.write(tmp_path / "c", made.plan(1))))
    assert {e["verdict"] for e in one} == {"undetermined"}


@pytest.mark.parametrize(
    ("over", "under", "verdict", "ends"),
    [
        ([4.0, 6.0, 8.0], [2.0, 2.0, 2.0], "dearer", (2.0, 4.0)),
        ([4.0, 6.0, 8.0], [2.0, -1.0, 2.0], "dearer", (2.0, None)),
        ([4.0, 6.0, 8.0], [-2.0, -1.0, 0.0], "dearer", (None, None)),
        ([1.0, -3.0, 1.0], [2.0, 2.0, 2.0], "cheaper", (-1.5, 0.5)),
        ([1.0, -3.0, 1.0], [2.0, -4.0, 2.0], "indistinguishable", (0.5, None)),
        ([1.0, 3.0, np.nan], [2.0, 2.0, 9.0], "indistinguishable", (0.5, 1.5)),
        ([4.0], [2.0], "undetermined", (2.0, 2.0)),
        ([np.nan], [2.0], "not comparable", (None, None)),
    ],
)
def test_a_net_cost_not_above_zero_is_no_ratio_and_no_perturbation_is_dropped(
    over: list[float], under: list[float], verdict: str, ends: tuple[float | None, float | None]
) -> None:
    found = exact.against(over, under)
    assert (found.verdict, (found.ratio.low, found.ratio.high)) == (verdict, ends)
    both = np.isnan(over) | np.isnan(under)
    assert found.ratio.n == len(over) - both.sum()
    missing = sum(value <= 0 for value in under)
    if missing and verdict == "dearer":
        assert f"in {missing} of them" in found.text


def gone(row: dict[str, Any], trial: dict[str, Any]) -> None:
    if trial["kind"] == "empty" and trial["processes"] == 600:
        row |= {"status": "invalid", "reason": "the count is not whole"}


def test_a_window_without_an_empty_one_beside_it_has_no_value(tmp_path: Path) -> None:
    run = load_run(made.write(tmp_path / "run", change=gone))
    assert {e["level"] for e in exact.cells(run)} == {100}
    assert exact.comparisons(run)[0]["verdict"] == "not comparable"


def test_no_zero_variance_stops_the_rest_of_the_analysis(tmp_path: Path) -> None:
    summary = process(made.write(tmp_path / "run"), tmp_path / "out", draw=False)
    assert "NaN" not in json.dumps(summary) and summary["backend"] == "exact"
    first = summary["exact"]["cells"][0]
    truth = float(total(first["arm"], 100))
    assert first["total"] == {**dict.fromkeys(("median", "low", "high"), truth), "n": 8}
    text = (tmp_path / "out" / "tables" / "instructions_per_scrape.md").read_text()
    assert summary["sentence"].startswith(
        "A scrape of the CPU time of 600 processes executes 19.82 million instructions through "
        "/proc polling and 0.2460 million through eBPF"
    )
    assert "3,320,000" in text and "Not seen: caches" in text


def test_a_live_run_has_no_exact_part(quick_run: Path) -> None:
    results = compute(load_run(quick_run))
    assert results.exact == results.exact_slopes == results.exact_contrasts == []


def test_exact_runs_are_no_session_and_answer_no_live_claim(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        made.write(tmp_path / "raw" / "processes" / name)
    index = process_all(tmp_path / "raw", tmp_path / "out", draw=False)
    assert len(index["runs"]) == 3 and index["sessions"] == [] and index["a_a"]["pairs"] == 0
    preset = index["runs"][0]["preset"]
    assert evidence.runs_of(index, "processes", [preset]) == []
    assert len(evidence.runs_of(index, "processes", ["exact"])) == 3


def test_exact_instructions_stand_beside_live_time(tmp_path: Path) -> None:
    """The live run takes what it takes; each instruction's share is their quotient."""
    exact = made.write(tmp_path / "raw" / "processes" / "exact") / "manifest.json"
    exact.write_text(exact.read_text().replace('"preset": "synthetic"', '"preset": "exact"'))
    live = synthetic.make_plan(made.ARMS, made.LEVELS, 4)
    synthetic.write_run(tmp_path / "raw" / "processes" / "live", live | {"preset": "paper"})
    manifest = tmp_path / "raw" / "processes" / "live" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"preset": "synthetic"', '"preset": "paper"'))
    index = process_all(tmp_path / "raw", tmp_path / "out")
    rows = beside.beside(index["runs"])
    assert {(row["arm"], row["at"]) for row in rows} == set(product(made.ARMS, made.LEVELS))
    cells = {run["run"]: run for run in index["runs"]}
    for row in rows:
        ours = next(
            c
            for c in cells["live"]["cells"]
            if (c["arm"], c["processes"]) == (row["arm"], row["at"])
        )
        assert row["live_ns"] == pytest.approx(ours["agent"]["estimate"] * 1e7)
        assert row["low"] < row["ns_per_instruction"] < row["high"]
        assert row["ns_per_instruction"] * row["instructions"] == pytest.approx(row["live_ns"])
    folder = tmp_path / "out" / "beside"
    text = (folder / "tables" / "exact_beside_live.md").read_text()
    assert "a scrape of 600 processes" in text
    assert (folder / "figures" / "exact_beside_live-7in.svg").exists()
    drawn = {path.stem for path in (tmp_path / "out/processes/exact/figures").glob("*-7in.svg")}
    assert drawn == {"instructions-7in"}, "a virtual clock's time is drawn nowhere"
    other = made.write(tmp_path / "raw" / "processes" / "other")
    manifest = other / "manifest.json"
    text = manifest.read_text().replace('"preset": "synthetic"', '"preset": "exact"')
    manifest.write_text(text.replace('"x86_64"', '"aarch64"'))
    index = process_all(tmp_path / "raw", tmp_path / "out", draw=False)
    assert {row["exact_run"] for row in beside.beside(index["runs"])} == {"exact"}
    shutil.rmtree(tmp_path / "raw" / "processes" / "exact")
    shutil.rmtree(other)
    process_all(tmp_path / "raw", tmp_path / "out", draw=False)
    assert not (folder / "tables" / "exact_beside_live.md").exists()


def test_the_readmes_table_is_of_the_newest_exact_run_of_each_study(tmp_path: Path) -> None:
    planned = made.plan() | {"preset": "exact"}
    for name in ("1", "2"):
        made.write(tmp_path / "raw" / "processes" / name, planned)
    found = process_all(tmp_path / "raw", tmp_path / "out", draw=False)["runs"]
    table = newest_exact(found)
    assert len(table.rows) == len(made.ARMS) * len(made.LEVELS)
    line = next(row for row in table.shown if row[:2] == ["/proc polling", "600"])
    assert line[2] == "19,820,000" and line[4:] == ["—", "—"], "no live run stands beside it"
    assert newest_exact([]).shown == []
