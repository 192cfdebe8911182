"""The runs on this disk: which there are, which are finished, and what a session began."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from cli import paths
from cli.parameters import RUN_NAME, STUDIES
from cli.problem import Problem, did_you_mean


def names(output: Path, study: str) -> list[str]:
    """Names of a study's runs, oldest first: they begin with their UTC time."""
    folder = paths.raw(output, study)
    found = folder.glob("*/manifest.json") if folder.is_dir() else []
    return sorted(entry.parent.name for entry in found if RUN_NAME.fullmatch(entry.parent.name))


def newest(output: Path, study: str) -> str:
    """The newest run of a study. Raises Problem if there is none."""
    found = names(output, study)
    if not found:
        raise Problem(
            f"no run of {study} in {paths.raw(output, study)}: measure one with ./study run {study}"
        )
    return found[-1]


def study_of(output: Path, run: str) -> str:
    """The study that a run's folder belongs to. Raises Problem if there is no such folder."""
    for study in STUDIES:
        if (paths.raw(output, study) / run / "manifest.json").is_file():
            return study
    known = [name for study in STUDIES for name in names(output, study)]
    raise Problem(f"no run '{run}' in {output / 'raw'}{did_you_mean(run, known)}")


def stored_plan(folder: Path) -> dict[str, Any]:
    """The plan in a run's manifest, with this clone's paths put back. Raises Problem if damaged."""
    manifest = paths.read_json(folder / "manifest.json")
    plan = manifest.get("plan")
    if not _is_plan(plan):
        raise Problem(f"{folder / 'manifest.json'} holds no plan: restore it, or start a new run")
    return {**plan, "paths": paths.plan_paths()}


def _is_plan(plan: Any) -> TypeGuard[dict[str, Any]]:
    """Whether it has what is read here; the runner checks all of it by its hash."""
    try:
        numbers = [*(trial["trial"] for trial in plan["trials"]), plan["estimate"]["minutes"]]
    except (KeyError, TypeError):
        return False
    return len(numbers) > 1 and all(isinstance(number, int | float) for number in numbers)


def rows(folder: Path) -> list[dict[str, str]]:
    """The whole rows of a run's trials.csv: a torn last one is none."""
    try:
        text = (folder / "trials.csv").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return list(csv.DictReader(text[: text.rfind("\n") + 1].splitlines()))


def trials_left(folder: Path) -> tuple[int, int]:
    """How many trials of a run have no whole row yet, and how many were planned."""
    planned = {int(trial["trial"]) for trial in stored_plan(folder)["trials"]}
    numbers = [row.get("trial", "") for row in rows(folder)]
    done = {int(number) for number in numbers if number.isdigit()}
    return len(planned - done), len(planned)


def note_session(output: Path, values: Mapping[str, Any], begun: Mapping[str, str]) -> None:
    """Write down what is in force and which run each study has: resuming starts from that."""
    file = output / "session.json"
    temporary = file.with_suffix(f".{os.getpid()}")
    text = json.dumps({"parameters": values, "runs": begun}, indent=1, sort_keys=True) + "\n"
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        raise paths.unwritable(file, error) from None


def last_session(output: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Parameters and runs of the last session in an output folder. Raises Problem without one."""
    file = output / "session.json"
    if not file.exists():
        raise Problem(f"nothing to resume in {output}: no session was started there")
    content = paths.read_json(file)
    if not isinstance(content.get("parameters"), dict) or not isinstance(content.get("runs"), dict):
        raise Problem(f"{file} is damaged: give resume the name of a run's folder instead")
    return content["parameters"], content["runs"]
