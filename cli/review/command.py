"""Does the review's steps one after another, goes on after an interruption, ends in the table."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cli import doctor, index, parameters, paths, run
from cli.problem import Interrupted, Problem
from cli.review import MINUTES, outcome, steps, table
from cli.review.steps import State, Step

FOLDER = paths.DATA / "review"
GO_ON = "what is done is on the disk; ./study review goes on from there"


def command(words: Sequence[str]) -> int:
    """Do or go on with the review.

    Returns 0 if all that can run here was reproduced, else 1.

    Raises:
        Problem: bad arguments, or a folder that holds another review.
        Interrupted: by Ctrl-C; called again it goes on.
    """
    asked = _arguments(words)
    output: Path = asked["output"]
    wanted = steps.planned(asked["minutes"], asked["preset"])
    print("\n".join(["probetax: the review", *steps.lines(wanted)]), flush=True)
    if asked["plan"]:
        return 0
    state = State(paths.writable_folder(output), asked["preset"])
    for step in wanted:
        if state.done(step.name):
            print(f"\nprobetax: {step.name}: done before", flush=True)
        elif step.left_out:
            state.note(step.name, done=False, reason=f"left out: {step.left_out}")
        else:
            _do(step, output, state)
    rows = outcome.compared(output, wanted, state)
    outcome.write(output, rows, wanted, state)
    print("\n" + "\n".join(table.as_lines(rows)))
    print(f"\nprobetax: {table.counted(rows)}; the table: {output / 'review.md'}")
    failed = [s.name for s in wanted if not s.left_out and not state.done(s.name)]
    return 1 if failed or any(row.outcome == table.NOT for row in rows) else 0


def _do(step: Step, output: Path, state: State) -> None:
    print(f"\nprobetax: {step.name}: {step.what}", flush=True)
    began = time.monotonic()
    try:
        told = _WORK.get(step.name, _measure)(step, output)
    except (Interrupted, KeyboardInterrupt):
        raise Interrupted(f"interrupted; {GO_ON}") from None
    except Problem as problem:
        print(f"probetax: {step.name} failed: {problem}", flush=True)
        state.note(step.name, done=False, reason=str(problem))
        return
    state.note(step.name, done=True, seconds=round(time.monotonic() - began), **told)


def _doctor(step: Step, output: Path) -> dict[str, Any]:
    text = "\n".join(doctor.lines(doctor.report())) + "\n"
    print(text, end="")
    (output / "doctor.txt").write_text(text, encoding="utf-8")
    return {}


def _figures(step: Step, output: Path) -> dict[str, Any]:
    """Make the shipped runs' results again, beside the shipped ones, and compare every table."""
    from analysis import report  # loads pandas

    again = output / "shipped"
    runs = index.shipped() or _all()
    for study, name in sorted(runs):
        link = paths.raw(again, study) / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(paths.raw(paths.DATA, study) / name)
    report.process_all(again / "raw", again / "processed")
    pooled = index.of(paths.DATA, runs)["sessions"]
    folders = [*runs, *((index.SESSIONS, group["folder"]) for group in pooled)]
    told = _equal(paths.DATA / "processed", again / "processed", folders)
    differ, missing = len(told["differing"]), told["missing"]
    print(f"{told['same']} tables as shipped, {differ} differ, {missing} are missing")
    return told


def _equal(shipped: Path, again: Path, folders: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """How many shipped tables were made again byte by byte, which differ, how many are missing."""
    told: dict[str, Any] = {"same": 0, "differing": [], "missing": 0}
    for folder in sorted(folders):
        for file in sorted((shipped / Path(*folder)).rglob("*")):
            made = again / file.relative_to(shipped)
            if file.suffix not in (".csv", ".md"):
                continue
            if not made.is_file():
                told["missing"] += 1
            elif made.read_bytes() == file.read_bytes():
                told["same"] += 1
            else:
                told["differing"].append(str(file.relative_to(shipped)))
    return told


def _all() -> set[tuple[str, str]]:
    """Every run here: where git cannot tell, what is in data/raw is taken as shipped."""
    found = (paths.DATA / "raw").glob("*/*/manifest.json")
    return {(file.parts[-3], file.parts[-2]) for file in found}


def _measure(step: Step, output: Path) -> dict[str, Any]:
    if steps.begun(output, step):
        run.command({"resume": True, "output": str(output)})
    else:
        values = {"study": list(step.studies), "preset": step.preset, "output": str(output)}
        run.command(values)
    return {"runs": paths.read_json(output / "session.json")["runs"]}


_WORK = {"doctor": _doctor, "figures": _figures}


def _arguments(words: Sequence[str]) -> dict[str, Any]:
    """``[--plan] [--minutes N] [--preset NAME] [--output FOLDER]``."""
    asked: dict[str, Any] = {"plan": False, "minutes": MINUTES, "preset": None, "output": FOLDER}
    rest = list(words)
    while rest:
        word, *rest = rest
        name = word.removeprefix("--")
        if word == "--plan":
            asked["plan"] = True
        elif word in ("--minutes", "--preset", "--output") and rest:
            asked[name] = parameters.from_text(rest.pop(0))
        else:
            raise Problem(
                f"review takes no '{word}', only --plan, --minutes N, --preset NAME and"
                " --output FOLDER"
            )
    checked = parameters.resolve({k: v for k, v in asked.items() if k != "plan" and v is not None})
    kept = {name: checked[name] for name in ("minutes", "output")}
    return {"plan": asked["plan"], "preset": asked["preset"] and checked["preset"], **kept}
