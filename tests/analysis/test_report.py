"""The whole: tables, summary, sentence, and what happens to what was there before."""

from __future__ import annotations

import ast
import csv
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import synthetic

from analysis import report
from analysis.load import RunError, load_run
from analysis.report import process, process_all, sentence
from analysis.write import put, put_json

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def done(processed: tuple[dict[str, Any], Path]) -> tuple[dict[str, Any], Path]:
    return processed


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [n for v in value.values() for n in numbers(v)]
    if isinstance(value, list):
        return [n for v in value for n in numbers(v)]
    return [value] if isinstance(value, float) else []


def test_the_summary_is_on_disk_and_has_no_nan(done: tuple[dict[str, Any], Path]) -> None:
    summary, out = done
    assert json.loads((out / "summary.json").read_text()) == summary
    assert all(math.isfinite(n) for n in numbers(summary))
    assert all((out / name).is_file() for name in summary["files"])
    assert summary["contrasts"][0]["verdict"] == "dearer"
    assert summary["reach"] == {"smallest_adjusted_p": 2**-5, "alpha": 0.05, "blocks_needed": 6}
    assert not [p for p in out.rglob(".*") if p.is_file()], "nothing half-written is left"


def test_the_sentence(done: tuple[dict[str, Any], Path]) -> None:
    text = sentence(done[0])
    assert text.startswith("Reading 600 processes' CPU each second cost 0.4")
    assert "% of a core through /proc and 0.04" in text and "kernel work included: " in text
    assert text.endswith("; the article says 16.6.") and " times [" in text


@pytest.mark.usefixtures("no_ink")
@pytest.mark.parametrize("unavailable", [["sched_switch_published"], synthetic.PROCESSES])
def test_the_sentence_says_what_is_unavailable(tmp_path: Path, unavailable: list[str]) -> None:
    text = process(synthetic.quick(tmp_path / "r", 2, unavailable=unavailable), tmp_path / "o")[
        "sentence"
    ]
    assert "through eBPF: unavailable" in text and synthetic.REFUSED in text
    assert "nan" not in text and " 0 %" not in text


def test_the_articles_table_stands_beside_ours(done: tuple[dict[str, Any], Path]) -> None:
    text = (done[1] / "tables" / "article.md").read_text()
    row = next(line for line in text.splitlines() if line.startswith("| 600 processes"))
    assert "1.18 ± 0.13" in row and "0.071 ± 0.004" in row and "16.6×" in row
    assert "eBPF Is Cheaper, and the Gap Grows with Scale" in text
    arms = (done[1] / "tables" / "arms.md").read_text()
    assert "| /proc polling | 600 processes |" in arms


def table(out: Path, name: str) -> list[dict[str, str]]:
    with open(out / "tables" / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_articles_table_has_p_and_the_costs_net_as_well_as_gross(
    done: tuple[dict[str, Any], Path],
) -> None:
    low, high = table(done[1], "article")
    declared = done[0]["contrasts"][0]
    assert float(high["p_headline"]) == declared["p"] == 2 / 64
    assert float(high["p_adjusted_headline"]) == declared["p_adjusted"]
    assert low["p_headline"] and not low["p_adjusted_headline"], "no declared contrast there"
    assert high["p_published"] and not high["p_adjusted_published"], "not its declared method"
    net = declared["beside"]["headline_net"]
    arms = [row for row in table(done[1], "arms") if row["processes"] == "600"]
    costs = {row["arm"]: float(row["headline_net"]) for row in arms if row["headline_net"]}
    for column, value in (
        ("ratio_headline_net", net["ratio"]["estimate"]),
        ("ratio_headline_net_low", net["ratio"]["low"]),
        ("proc_headline_net_percent_core", costs["proc_stat"]),
        ("ebpf_headline_net_percent_core", costs["sched_switch_published"]),
    ):
        assert float(high[column]) == pytest.approx(value, rel=1e-5)
    text = (done[1] / "tables" / "article.md").read_text()
    assert "| p | net ratio |" in text and "| .031 (adjusted .031) |" in text


def test_language_fields_and_three_parts_stand_beside_each_arm(
    done: tuple[dict[str, Any], Path], quick_run: Path
) -> None:
    rows = {row["arm"]: row for row in table(done[1], "cost_parts") if row["processes"] == "600"}
    ebpf, null = rows["sched_switch_published"], rows["null_agent"]
    assert (ebpf["language"], ebpf["fields"]) == ("C", "pid cpu_time")
    trials = load_run(quick_run).trials
    ok = trials[(trials["kind"] == "cost") & (trials["block"] > 0) & (trials["replica"] == 1)]
    ok = ok[ok["processes_target"] == 600]
    on = ok[(ok["arm"] == "sched_switch_published") & (ok["statistics"] == "on")]
    off = ok[ok["statistics"] == "off"]
    busy = {
        arm: (100 * rows["busy_ns"] / rows["window_ns"]).mean() for arm, rows in off.groupby("arm")
    }
    run = (100 * on["bpf_run_ns"] / on["window_ns"]).mean()
    assert float(ebpf["bpf_run"]) == pytest.approx(float(run), rel=1e-5)
    change = busy["sched_switch_published"] - busy["null_agent"]
    assert float(ebpf["system"]) == pytest.approx(float(change), rel=1e-4)
    assert null["system"] == "", "it is what the others are set against"
    text = (done[1] / "tables" / "cost_parts.md").read_text()
    assert "| /proc polling | 600 processes | C | pid, cpu time |" in text and "| none |" in text
    assert "of 2 s each" in (done[1] / "tables" / "arms.md").read_text()


@pytest.mark.usefixtures("no_ink")
def test_unavailable_arms_are_rows_of_the_table(tmp_path: Path) -> None:
    process(synthetic.quick(tmp_path / "r", 2, unavailable=["sched_switch"]), tmp_path / "o")
    rows = (tmp_path / "o" / "tables" / "arms.md").read_text().splitlines()
    found = [row for row in rows if row.startswith("| eBPF, corrected")]
    assert len(found) == 2 and all(synthetic.REFUSED in row for row in found)


@pytest.mark.usefixtures("no_ink")
def test_gauges_leave_out_the_line_and_say_why(tmp_path: Path) -> None:
    arms = ["null_agent", "proc_files", "bpf_timer", "bpf_on_demand"]
    declared = [synthetic.contrast("proc_files", "bpf_timer", None)]
    plan = synthetic.make_plan(arms, [None], 3, study="gauges", contrasts=declared)
    run = synthetic.write_run(tmp_path / "r", plan, unavailable=["bpf_timer", "bpf_on_demand"])
    summary = process(run, tmp_path / "o")
    assert set(summary["figures_left_out"]) == {"cost_vs_processes"}
    assert summary["sentence"].startswith("Reading the system gauges each second cost 0.0")
    assert summary["contrasts"][0]["verdict"] == "unavailable"


def test_another_process_writes_the_same_bytes(
    done: tuple[dict[str, Any], Path], quick_run: Path, tmp_path: Path
) -> None:
    """Tables, figures, summary; another hash seed, time zone and a dead display change nothing."""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "12345",
        "TZ": "Asia/Tokyo",
        "DISPLAY": ":77",
        "MPLBACKEND": "TkAgg",
        "SOURCE_DATE_EPOCH": "1",
    }
    found = run_module(str(quick_run), str(tmp_path / "out"), env=environment)
    assert found.returncode == 0 and found.stdout.startswith(done[0]["sentence"])
    for name in [*done[0]["files"], "summary.json"]:
        assert (tmp_path / "out" / name).read_bytes() == (done[1] / name).read_bytes(), name


@pytest.mark.usefixtures("no_ink")
def test_what_is_stale_goes_and_what_is_not_ours_stays(
    done: tuple[dict[str, Any], Path], quick_run: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(done[1], tmp_path / "new" / "out"))
    (out / "mine.txt").write_text("kept")
    (out / "tables" / "old.csv").write_text("stale")
    summary = json.loads((out / "summary.json").read_text())
    summary["files"] += ["tables/old.csv", "../outside.txt"]
    (out / "summary.json").write_text(json.dumps(summary))
    (out.parent / "outside.txt").write_text("not ours")
    process(quick_run, out)
    assert (out / "mine.txt").exists() and not (out / "tables" / "old.csv").exists()
    assert (out.parent / "outside.txt").exists()


def test_a_corrupt_run_leaves_good_output_alone(
    done: tuple[dict[str, Any], Path], quick_run: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(quick_run, tmp_path / "run"))
    out = Path(shutil.copytree(done[1], tmp_path / "out"))
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    (run / "trials.csv").write_text("half")
    with pytest.raises(RunError):
        process(run, out)
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before


def test_a_write_that_fails_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "a.txt", "old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        put(tmp_path / "a.txt", "new")
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_nan_never_reaches_a_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        put_json(tmp_path / "a.json", {"x": float("nan")})
    assert not (tmp_path / "a.json").exists()


def test_all_runs_are_processed_and_bad_ones_named(
    quick_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report.kinds, "make", lambda results, folder: ([], {}))
    raw = tmp_path / "raw" / "processes"
    shutil.copytree(quick_run, raw / "good")
    shutil.copytree(quick_run, raw / "bad")
    (raw / "bad" / "manifest.json").write_text("{")
    index = process_all(tmp_path / "raw", tmp_path / "processed", jobs=1)
    assert [s["run"] for s in index["runs"]] == ["quick"]
    assert len(index["errors"]) == 1 and "manifest.json, line 1" in index["errors"][0]
    assert (index["a_a"]["pairs"], index["a_a"]["told_apart"]) == (1, 0)
    assert index["a_a"]["rate"]["high"] == pytest.approx(0.975), "one pair says next to nothing"
    assert index["sessions"] == [], "one run is no repetition"
    assert (tmp_path / "processed" / "processes" / "good" / "summary.json").exists()
    assert json.loads((tmp_path / "processed" / "index.json").read_text()) == index


def run_module(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "analysis", *arguments]
    options = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 120, **options}
    return subprocess.run(command, check=False, **options)


def test_the_command_needs_no_cli_and_names_bad_input(tmp_path: Path) -> None:
    missing = run_module(str(tmp_path / "nothing"), str(tmp_path / "out"))
    assert missing.returncode == 2 and missing.stderr.count("\n") == 1
    assert "manifest.json: no such file; " in missing.stderr and not (tmp_path / "out").exists()


def test_an_output_folder_that_cannot_be_one_is_one_line(quick_run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = run_module(str(quick_run), str(tmp_path / "file"))
    assert found.returncode == 1 and found.stderr.count("\n") == 1 and "file" in found.stderr


def test_analysis_never_imports_experiment() -> None:
    code = "import sys, analysis.__main__; print({name.split('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", code]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "analysis" in made.stdout
    assert not {"experiment", "cli"} & set(ast.literal_eval(made.stdout))
