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


def papermill(notebook: str, folder: Path, given: dict[str, str]) -> subprocess.Popen[str]:
    """Start it in ``folder``, anywhere but the clone; several may run at a time."""
    words = [word for name, value in given.items() for word in ("-p", name, value)]
    source = str(ROOT / "notebooks" / f"{notebook}.ipynb")
    target = f"{notebook}.ipynb"
    return subprocess.Popen(
        [sys.executable, "-m", "papermill", source, target, "--no-progress-bar", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    """What it said on stderr until its end."""
    return process.communicate(timeout=240)[1]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which run.ipynb measured both studies, briefly."""
    folder = tmp_path_factory.mktemp("papermill")
    run = papermill("run", folder, {"preset": "smoke", "output": "here"})
    told = said(run)
    assert run.returncode == 0, told[-2000:]
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
    cells = nbformat.read(measured / "run.ipynb", as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error"]
    shown: list[Any] = [output.get("data", {}) for output in outputs]
    assert any("image/svg+xml" in data for data in shown)
    assert any("verdict" in data.get("text/markdown", "") for data in shown)
    assert any("Of 34 claims: " in data.get("text/markdown", "") for data in shown)
    text = "".join(output.get("text", "") for output in outputs)
    assert "preset          smoke" in text, "what is in force is printed"
    assert "s left" in text, "progress has the time left"


def test_the_studies_notebooks_show_the_newest_run(measured: Path) -> None:
    before = sorted(measured.glob("here/raw/*/*"))
    running = [papermill(study, measured, {"output": "here"}) for study in ("processes", "gauges")]
    for notebook in running:
        told = said(notebook)
        assert notebook.returncode == 0, told[-2000:]
    assert sorted(measured.glob("here/raw/*/*")) == before, "nothing is measured"


def test_a_studys_notebook_measures_in_the_exact_machine(tmp_path: Path) -> None:
    """The same notebook, one parameter more: rows of counted instructions, and what they show."""
    given = {"run": "new", "backend": "exact", "preset": "smoke", "runs": "2", "output": "here"}
    notebook = papermill("processes", tmp_path, given | {"arms": "null_agent,proc_stat"})
    told = said(notebook)
    assert notebook.returncode == 0, told[-2000:]
    (raw,) = (tmp_path / "here" / "raw" / "processes").iterdir()
    manifest = json.loads((raw / "manifest.json").read_text())
    assert manifest["plan"]["backend"] == "exact" and manifest["exact"]["qemu"]
    with open(raw / "trials.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(manifest["plan"]["trials"])
    assert {row["status"] for row in rows} == {"ok"}
    windows = [row for row in rows if row["kind"] in ("cost", "empty")]
    assert all(int(row["kernel_instructions"]) > 0 for row in windows)
    processed = tmp_path / "here" / "processed" / "processes" / raw.name
    table = (processed / "tables" / "instructions_per_scrape.md").read_text()
    assert "/proc polling" in table
    cells = nbformat.read(tmp_path / "processes.ipynb", as_version=4).cells
    shown = "".join(str(o.get("data", {})) for c in cells for o in c.get("outputs", []))
    assert "instructions per scrape" in shown


def test_wrong_parameters_are_fatal_in_one_line_each(tmp_path: Path) -> None:
    wrong = {
        "n_proc": ("600", "unknown parameter 'n_proc'"),
        "runs": ("1e1", "parameter runs is 10.0"),
        "window_s": ("nan", "parameter window_s is nan"),
        "resume": ("false", "parameter resume is the text 'false'"),
    }
    given = {name: value for name, (value, _) in wrong.items()}
    run = papermill("run", tmp_path, {"output": "here", **given})
    told = [line for line in said(run).splitlines() if line.startswith("probetax: ")]
    assert run.returncode != 0
    for line, (_, cause) in zip(told, wrong.values(), strict=True):
        assert cause in line
    assert not (tmp_path / "here").exists(), "nothing was begun"
    # what the reader of the notebook sees is those lines too, not a page of traceback
    cells = nbformat.read(tmp_path / "run.ipynb", as_version=4).cells
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
