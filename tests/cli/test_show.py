"""What a notebook shows of several sessions: the pooled ones that hold its run, and no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import show
from cli.session import Session

RUN = "20240601T100000Z-host-00000000"


def pooled(output: Path, name: str, study: str, runs: list[str]) -> None:
    folder = output / "processed" / "sessions" / name
    (folder / "tables").mkdir(parents=True)
    made = {"study": study, "preset": "paper", "runs": runs}
    (folder / "summary.json").write_text(json.dumps(made))
    (folder / "tables" / "sessions.md").write_text(f"table of {name}\n")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    texts: list[str] = []

    def keep(what: Any, **_: Any) -> None:
        texts.append(str(what))

    monkeypatch.setattr(show, "display", keep)
    monkeypatch.setattr(show, "markdown", lambda text: text)
    return texts


def test_only_the_sessions_of_this_run_are_shown(tmp_path: Path, shown: list[str]) -> None:
    pooled(tmp_path, "mine", "processes", [RUN, "20240602T100000Z-host-00000000"])
    pooled(tmp_path, "another", "processes", ["20240603T100000Z-host-00000001"])
    pooled(tmp_path, "gauges", "gauges", [RUN])
    session = Session({"output": tmp_path, "study": ["processes"]}, {"processes": RUN})
    show.sessions(session, "processes")
    assert shown == ["**2 sessions of preset paper, pooled**", "table of mine\n"]


def test_a_run_that_stands_alone_shows_nothing(tmp_path: Path, shown: list[str]) -> None:
    session = Session({"output": tmp_path, "study": ["processes"]}, {"processes": RUN})
    show.sessions(session, "processes")
    assert shown == []
