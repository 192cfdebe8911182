"""The notebooks under papermill, as a reviewer starts them; judged by what is on the disk."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parents[2]


def papermill(notebook: str, out: Path, **given: str) -> subprocess.CompletedProcess[str]:
    words = [word for name, value in given.items() for word in ("-p", name, value)]
    source = str(ROOT / "notebooks" / f"{notebook}.ipynb")
    return subprocess.run(
        [sys.executable, "-m", "papermill", source, str(out), "--no-progress-bar", *words],
        cwd=out.parent,  # anywhere but the clone
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=240,
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which run.ipynb measured both studies, briefly."""
    folder = tmp_path_factory.mktemp("papermill")
    done = papermill("run", folder / "out.ipynb", preset="smoke", output="here")
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.mark.parametrize("study", ["processes", "gauges"])
def test_every_planned_trial_and_every_result_is_on_the_disk(measured: Path, study: str) -> None:
    (raw,) = (measured / "here" / "raw" / study).iterdir()
    plan = json.loads((raw / "manifest.json").read_text())["plan"]
    with open(raw / "trials.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["trial"]) for row in rows] == [trial["trial"] for trial in plan["trials"]]
    for row in rows:
        assert row["status"] == "ok" or row["reason"]
    processed = measured / "here" / "processed" / study / raw.name
    for name in json.loads((processed / "summary.json").read_text())["files"]:
        assert (processed / name).stat().st_size > 0


def test_the_executed_notebook_shows_what_was_found(measured: Path) -> None:
    cells = nbformat.read(measured / "out.ipynb", as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error"]
    shown: list[Any] = [output.get("data", {}) for output in outputs]
    assert any("image/svg+xml" in data for data in shown)
    assert any("verdict" in data.get("text/markdown", "") for data in shown)
    text = "".join(output.get("text", "") for output in outputs)
    assert "preset          smoke" in text, "what is in force is printed"
    assert "s left" in text, "progress has the time left"


@pytest.mark.parametrize("study", ["processes", "gauges"])
def test_a_study_notebook_shows_the_newest_run(measured: Path, study: str) -> None:
    before = sorted((measured / "here" / "raw" / study).iterdir())
    done = papermill(study, measured / f"{study}.ipynb", output="here")
    assert done.returncode == 0, done.stderr[-2000:]
    assert sorted((measured / "here" / "raw" / study).iterdir()) == before, "nothing is measured"


@pytest.mark.parametrize(
    ("notebook", "given", "line"),
    [
        ("run", {"n_proc": "600"}, "unknown parameter 'n_proc'"),
        ("run", {"resume": "false"}, "parameter resume is the text 'false'"),
        ("run", {"runs": "1e1", "window_s": "nan"}, "parameter runs is 10.0"),
        ("processes", {"interval": "100"}, "did you mean 'interval_ms'?"),
    ],
)
def test_a_wrong_parameter_is_fatal_in_one_line(
    tmp_path: Path, notebook: str, given: dict[str, str], line: str
) -> None:
    done = papermill(notebook, tmp_path / "out.ipynb", output="here", **given)
    assert done.returncode != 0
    told = [text for text in done.stderr.splitlines() if text.startswith("probetax: ")]
    assert len(told) == len(given)
    assert line in told[0]
    assert not (tmp_path / "here").exists(), "nothing was begun"
    # what the reader of the notebook sees is that line too, not a page of traceback
    cells = nbformat.read(tmp_path / "out.ipynb", as_version=4).cells
    (error,) = (o for c in cells for o in c.get("outputs", []) if o.output_type == "error")
    assert error.traceback == told


def test_another_environments_kernel_is_told_so(tmp_path: Path) -> None:
    cells = nbformat.read(ROOT / "notebooks" / "run.ipynb", as_version=4).cells
    (source,) = (cell.source for cell in cells if "globals()" in cell.source)
    foreign = subprocess.run(
        ["/usr/bin/python3", "-I", "-c", source], capture_output=True, text=True, cwd=tmp_path
    )
    assert foreign.returncode == 1
    assert foreign.stderr == "this kernel lacks cli: use ./study lab, or activate .venv first\n"
