"""What the notebooks call: when a session counts as done, and what resuming leaves alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cli import runs, session
from cli.problem import Interrupted, Problem

RUN = "20240101T000000Z-host-0123abcd"


def measured(output: Path, *rows: str) -> session.Session:
    """A session by name of a run whose trials.csv has these rows of three."""
    folder = output / "raw" / "processes" / RUN
    folder.mkdir(parents=True)
    plan = {"preset": "smoke", "trials": [{"trial": number} for number in range(3)]}
    manifest = {"plan": {**plan, "estimate": {"minutes": 1}}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    table = ["trial,kind,arm,status,reason", *rows]
    (folder / "trials.csv").write_text("\n".join(table) + "\n")
    return session.open_session({"resume": RUN, "output": str(output)})


def test_a_study_without_any_cost_has_failed_and_says_why(tmp_path: Path) -> None:
    refused = "cost,proc_stat,unavailable,cgroup: EPERM"
    current = measured(tmp_path, f"0,{refused}", f"1,{refused}", "2,external,proc_stat,ok,")
    for step in (session.analyse, session.finish):
        with pytest.raises(Problem, match="proc_stat is unavailable: cgroup: EPERM") as caught:
            step(current)
        assert "\n" not in str(caught.value) and caught.value.exit_code


def test_what_was_not_measured_is_counted_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session.results, "missing", lambda _: [])
    rows = ["0,cost,a,ok,", "1,cost,b,unavailable,EPERM", "2,cost,c,failed,it broke"]
    session.finish(measured(tmp_path, *rows))
    assert "processes: 1 trials measured, 1 unavailable, 1 failed, res" in capsys.readouterr().out


def test_a_run_resumed_by_name_leaves_the_last_session_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise Interrupted("interrupted")

    runs.note_session(tmp_path, {"study": ["gauges"]}, {"gauges": "x"})
    before = (tmp_path / "session.json").read_text()
    current = measured(tmp_path, "0,cost,a,ok,")
    monkeypatch.setattr(session.runner, "run", interrupted)
    with pytest.raises(Interrupted, match=f"--resume {RUN}"):
        session.measure(current, session.plan(current))
    assert (tmp_path / "session.json").read_text() == before


def test_a_studys_notebook_refuses_a_misspelt_parameter() -> None:
    cells = ["# Parameters\nrun = 'newest'", "# Parameters\ninterval = 100"]
    with pytest.raises(Problem, match="did you mean 'interval_ms'?"):
        session.of_study({"In": cells, "run": "newest", "interval": 100}, "processes")


@pytest.mark.parametrize("sudo", [True, False])
def test_a_kernel_that_sudo_started_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sudo: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("SUDO_UID", raising=False)
    if sudo:
        monkeypatch.setenv("SUDO_UID", "1000")
    session.begin({"output": str(tmp_path)})
    assert ("run papermill without sudo" in capsys.readouterr().out) == sudo
