"""The study of the cores, run briefly: each kind of row holds what it is there for."""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from experiment.plan import build
from experiment.trials.cores import account_of_cpus

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
STRESS = 20


def planned(kind: str, arm: str, **more: Any) -> dict[str, Any]:
    same = {"block": 1, "replica": 1, "statistics": "off", "processes": None, "interval_ms": 200}
    return {"kind": kind, "arm": arm, "stress_threads": 0, "window_s": 1.0, **same, **more}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, str]]]:
    """Folder and rows of a run with trials of each kind; one arm's command does not exist."""
    folder = tmp_path_factory.mktemp("cores")
    subprocess.run(["make", "--silent", "-j2", "-C", str(ROOT / "bpf")], check=True)
    plan = build("cores", "smoke", root=ROOT, python=sys.executable, system_python=PYTHON)
    top = {**plan["arms"]["proc_stat_cores"], "dump": False, "ready": {"after_s": 0.3}}
    plan["arms"]["top"] = {**top, "command": ["top", "-b", "-1", "-w", "512", "-d", "0.5"]}
    plan["arms"]["gone"] = {**top, "command": ["no-such-program-here"]}
    trials = [
        planned("cost", "proc_stat_cores", stress_threads=STRESS),
        planned("from_start", "proc_stat_cores", stress_threads=STRESS, statistics="on"),
        planned("from_start", "top", window_s=1.2),
        planned("from_start", "gone"),
        planned("cores", "proc_stat_cores", duty_percent=20, burst_us=20_000),
        planned("cores", "top", duty_percent=20, burst_us=20_000, window_s=2.5),
        planned("cores", "null_agent", duty_percent=20, burst_us=20_000),
    ]
    plan["trials"] = [{"trial": n, "position": n, **trial} for n, trial in enumerate(trials)]
    (folder / "plan.json").write_text(json.dumps(plan))
    words = [PYTHON, "-I", "-S", str(ROOT / "experiment")]
    done = subprocess.run(
        [*words, str(folder / "plan.json"), str(folder / "run")],
        text=True,
        capture_output=True,
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    with open(folder / "run" / "trials.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(trials)
    return folder / "run", rows


Measured = tuple[Path, list[dict[str, str]]]


def test_a_window_tells_what_the_agent_itself_used_and_the_load_beside_it(
    measured: Measured,
) -> None:
    row = measured[1][0]
    assert row["status"] == "ok", row["reason"]
    assert abs(int(row["own_task_clock_ns"]) - int(row["agent_ns"])) < 2_000_000
    assert int(row["own_switches"]) >= 5
    assert int(row["load_switches"]) > STRESS * 20 and int(row["load_ns"]) > 0
    assert row["own_instructions"] == "", "counted from the start alone"


def test_a_life_holds_the_start_too(measured: Measured) -> None:
    window, life = measured[1][:2]
    assert life["status"] == "ok", life["reason"]
    own = int(life["own_task_clock_ns"])
    assert own > int(window["own_task_clock_ns"]), "executing and linking take more than scraping"
    assert own == int(life["own_user_ns"]) + int(life["own_system_ns"])
    # the account begins a moment earlier, when the runner's child joins it
    assert own <= int(life["agent_ns"]) + 2_000 and int(life["agent_ns"]) < own + 20_000_000
    assert 3 <= int(life["scrapes"]) <= 5
    assert int(life["bpf_run_count"]) == 0 and life["bpf_programs"] == "0"
    assert abs(int(life["window_ns"]) - 1e9) < 0.3e9


def test_a_tool_that_knows_no_protocol_has_a_life_too(measured: Measured) -> None:
    row = measured[1][2]
    assert row["status"] == "ok", row["reason"]
    assert int(row["own_task_clock_ns"]) > 0 and row["scrapes"] == ""


def test_a_tool_that_is_not_installed_is_unavailable(measured: Measured) -> None:
    row = measured[1][3]
    assert row["status"] == "unavailable"
    assert "not installed here: no-such-program-here" in row["reason"]


def test_an_arm_without_a_report_for_each_cpu_is_unavailable(measured: Measured) -> None:
    row = measured[1][6]
    assert row["status"] == "unavailable" and "reports no CPU" in row["reason"]


@pytest.mark.parametrize("trial", [4, 5])
def test_each_report_has_a_row_for_each_cpu(measured: Measured, trial: int) -> None:
    folder, rows = measured
    if account_of_cpus() is None:
        assert rows[trial]["status"] == "unavailable"
        pytest.skip(f"unavailable: {rows[trial]['reason']}")
    assert rows[trial]["status"] == "ok", rows[trial]["reason"]
    with gzip.open(folder / "cores.csv.gz", "rt") as file:
        samples = [row for row in csv.DictReader(file) if row["trial"] == str(trial)]
    assert {int(row["cpu"]) for row in samples} == os.sched_getaffinity(0)
    assert len({row["scrape"] for row in samples}) == int(rows[trial]["scrapes"]) >= 1
    for row in samples:
        assert 15 < float(row["known_percent"]) < 110
        assert 0 <= float(row["reported_percent"]) <= 130
    assert not list((folder / "log").glob("*.reports")), "records are no raw data"
