"""Many machines: every run judged, the machine as the unit, nothing drawn."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic

from analysis.machines import brief, machines
from analysis.report import process_all
from analysis.statistics.intervals import fieller


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four machines, one of them with two runs, and a damaged run."""
    root = tmp_path_factory.mktemp("fleet")
    plan = synthetic.make_plan(
        ["null_agent", "proc_stat", "sched_switch_published"],
        [600],
        8,
        statistics=("off",),
        contrasts=[synthetic.contrast("proc_stat", "sched_switch_published", 600)],
    )
    for n, host in enumerate(["alpha", "beta", "gamma", "delta-two", "alpha"]):

        def change(row: dict[str, Any], trial: dict[str, Any], n: int = n) -> None:
            if "agent_ns" in row:
                row["agent_ns"] = round(row["agent_ns"] * (1 + 0.1 * n))

        name = f"20240601T10000{n}Z-{host}-0000000{n}"
        synthetic.write_run(root / "raw" / "processes" / name, plan, seed=n, change=change)
    bad = root / "raw" / "processes" / "20240601T100009Z-broken-00000009"
    shutil.copytree(root / "raw" / "processes" / name, bad)
    (bad / "manifest.json").write_text("{")
    return root / "raw"


def test_a_run_is_judged_as_it_is_alone(raw: Path, tmp_path: Path) -> None:
    one = tmp_path / "raw" / "processes"
    first = sorted((raw / "processes").iterdir())[0]
    shutil.copytree(first, one / first.name)
    whole = process_all(tmp_path / "raw", tmp_path / "out", jobs=1, draw=False)["runs"][0]
    found = brief(first)
    assert isinstance(found, dict) and found["host"] == "alpha"
    (mine,), (theirs,) = found["contrasts"], whole["contrasts"]
    assert mine["verdict"] == theirs["verdict"] and mine["why"] == theirs["why"]
    assert mine["ratio"].estimate == pytest.approx(theirs["ratio"]["estimate"], rel=1e-9)
    assert mine["x"] == pytest.approx(theirs["numerator_cost"]["estimate"], rel=1e-9)
    assert not (tmp_path / "out" / "processes" / first.name / "figures").exists()


def test_the_unit_is_the_machine_whatever_its_runs(raw: Path, tmp_path: Path) -> None:
    found = machines(raw, tmp_path, jobs=1)
    assert found["runs"] == 5 and len(found["errors"]) == 1 and "broken" in found["errors"][0]
    (group,) = found["groups"]
    assert (group["machines"], group["runs"], group["kinds"]) == (4, 5, 1)
    (entry,) = group["contrasts"]
    by_host: dict[str, list[tuple[float, float]]] = {}
    for run in sorted((raw / "processes").iterdir())[:5]:
        made = brief(run)
        assert isinstance(made, dict)
        by_host.setdefault(made["host"], []).append(
            (made["contrasts"][0]["x"], made["contrasts"][0]["y"])
        )
    assert set(by_host) == {"alpha", "beta", "gamma", "delta-two"}
    means = np.array([np.mean(pairs, axis=0) for pairs in by_host.values()])
    wanted = fieller(means[:, 0], means[:, 1], skewed=False)
    assert entry["pooled"]["ratio"]["low"] == pytest.approx(wanted.low)
    assert entry["pooled"]["verdict"] == "dearer" and entry["verdicts"] == {"dearer": 5}
    assert entry["quantiles"] == sorted(entry["quantiles"])


def test_it_is_written_as_tables_and_a_summary(raw: Path, tmp_path: Path) -> None:
    found = machines(raw, tmp_path, jobs=1)
    folder = tmp_path / "machines" / "processes-synthetic"
    assert json.loads((folder / "summary.json").read_text()) == found["groups"][0]
    with open(folder / "tables" / "machines.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5 and {row["verdict"] for row in rows} == {"dearer"}
    text = (folder / "tables" / "over_machines.md").read_text()
    assert "over machines such as these 4" in text and "dearer 5" in text


def test_nothing_to_read_is_no_group(tmp_path: Path) -> None:
    found = machines(tmp_path / "raw", tmp_path / "out", jobs=1)
    assert found == {"groups": [], "runs": 0, "trials": 0, "errors": []}
