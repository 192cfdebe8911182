"""Calibrating: what it refuses, and that what it keeps is what is answered with."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli import run, runs
from cli.advise import calibrate, calibrated, command
from cli.problem import Problem


def test_it_takes_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate.os, "geteuid", lambda: 1000)
    with pytest.raises(Problem, match="takes root"):
        calibrate.measure()


def test_the_run_is_measured_first_and_its_model_answers(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    content: Callable[..., dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = []
    monkeypatch.setattr(calibrate.os, "geteuid", lambda: 0)
    monkeypatch.setattr(calibrate.parameters, "resolve", lambda asked: {"output": tmp_path})
    monkeypatch.setattr(run, "command", done.append)
    monkeypatch.setattr(runs, "newest", lambda output, study: "a-run")
    monkeypatch.setattr(calibrate.results, "summary", lambda folder: {"run": folder.name})
    monkeypatch.setattr(calibrated, "FILE", tmp_path / "advice.json")
    model = content()

    def text(summaries: list[dict[str, Any]]) -> str:
        model["models"][0]["run"] = f"crossover/{summaries[0]['run']}"
        return json.dumps(model)

    advice = types.ModuleType("advice")
    advice.text = text  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "analysis.crossover.advice", advice)
    assert command.command(["--calibrate", "--processes", "600", "--switches", "3000"]) == 0
    assert done == [{"study": "crossover", "preset": "quick"}]
    out = capsys.readouterr().out
    assert "as calibrated on this machine: 2 CPUs, made for a test, Linux 0.0" in out
    assert "(run crossover/a-run)" in out
