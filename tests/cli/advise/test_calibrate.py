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
from cli.advise import calibrate, calibrated, coefficients, command
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


def test_a_wrong_fleet_is_said_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(calibrate, "measure", lambda: pytest.fail("measured first"))
    with pytest.raises(Problem, match="cannot be read"):
        command.command(["--calibrate", "--fleet", str(tmp_path / "none.csv")])


def test_what_a_run_says_is_no_part_of_the_json(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    content: Callable[..., dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(calibrated, "FILE", tmp_path / "advice.json")

    def measure() -> None:
        print("measuring about 10 minutes")
        calibrated.store(json.dumps(content()))

    monkeypatch.setattr(calibrate, "measure", measure)
    words = ["--calibrate", "--json", "--processes", "600", "--switches", "3000"]
    assert command.command(words) == 0
    out, said = capsys.readouterr()
    assert json.loads(out)["model"]["this_machine"] is True
    assert "measuring about" in said


def test_the_file_belongs_to_whoever_called_sudo(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: Callable[..., dict[str, Any]]
) -> None:
    given: list[tuple[Path, int, int]] = []

    def chown(path: Path, uid: int, gid: int, follow_symlinks: bool) -> None:
        assert not follow_symlinks
        given.append((path, uid, gid))

    advice = types.ModuleType("advice")
    advice.text = lambda summaries: json.dumps(content())  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "analysis.crossover.advice", advice)
    monkeypatch.setattr(calibrated, "FILE", tmp_path / "new" / "advice.json")
    user = calibrate.environment.User(1000, 1001, "/home/me")
    monkeypatch.setattr(calibrate.environment, "behind_sudo", lambda: user)
    monkeypatch.setattr(calibrate.os, "chown", chown)
    calibrate.keep({})
    made = {tmp_path / "new", tmp_path / "new" / "advice.json"}
    assert set(given) == {(path, 1000, 1001) for path in made}


def test_this_machines_costs_answer_where_none_are_shipped_yet(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    content: Callable[..., dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(calibrated, "FILE", tmp_path / "own.json")
    monkeypatch.setattr(command, "SHIPPED", tmp_path / "shipped.json")
    command.SHIPPED.write_text(json.dumps({"schema": coefficients.SCHEMA, "models": []}))
    given = ["--processes", "600", "--switches", "3000"]
    with pytest.raises(Problem, match="no costs yet: measure this machine's"):
        command.command(given)
    calibrated.store(json.dumps(content()))
    assert command.command(given) == 0
    assert "as calibrated on this machine" in capsys.readouterr().out
