"""The review's result: what is compared with what, and the files that say so."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cli import index, paths
from cli.claims import judged
from cli.page import findings
from cli.problem import Problem
from cli.review import table
from cli.review.steps import State, Step


def compared(output: Path, wanted: Sequence[Step], state: State) -> list[table.Row]:
    """Shipped against measured: the tables, the claims, then the contrasts of each step."""
    shipped = _shipped(output)
    yours = index.of(output)
    missing = "; ".join(
        f"step {step.name}: {state.told(step.name).get('reason')}"
        for step in wanted
        if step.studies and not state.done(step.name)
    )
    rows = []
    if state.done("figures"):
        told = state.told("figures")
        rows.append(table.tables(told["same"], told["differing"], told["missing"]))
    rows += table.claims(judged(shipped), judged(yours), missing)
    measured = [(study, step.preset) for step in wanted for study in step.studies]
    for study, preset in dict.fromkeys(measured):
        theirs, mine = (_newest(found, study, preset) for found in (shipped, yours))
        if theirs is not None:
            rows += _contrasts(theirs, mine, missing)
    return rows


def _shipped(output: Path) -> dict[str, Any]:
    """The shipped results; made again where they were deleted. Raises Problem without either."""
    try:
        return index.of(paths.DATA, index.shipped())
    except Problem:
        again = output / "shipped"
        if not (again / "processed").is_dir():
            raise
        return index.of(again)


def _newest(found: Mapping[str, Any], study: str, preset: str) -> Mapping[str, Any] | None:
    runs = [r for r in found["runs"] if r["finished"]]
    mine = [r for r in runs if (r["study"], r["preset"]) == (study, preset)]
    return max(mine, key=lambda r: str(r["run"]), default=None)


def _contrasts(
    theirs: Mapping[str, Any], mine: Mapping[str, Any] | None, missing: str
) -> list[table.Row]:
    """The declared contrasts of a preset, in the newest shipped run and in yours."""
    own = {contrast["id"]: contrast for contrast in (mine["contrasts"] if mine else [])}
    shown = findings.contrasts([{**theirs, "a_a": None}])
    rows = []
    for contrast, text in zip(theirs["contrasts"], shown, strict=True):
        answer = table.of_contrast(contrast, text["ratio"])
        found = own.get(contrast["id"])
        if found is None:
            reason = missing or "your run has no such contrast"
            yours = table.Answer(table.NO_ANSWER[0], None, table.NO_ANSWER[0], reason)
        else:
            yours = table.of_contrast(found, findings.estimate(found.get("ratio"), "×"))
        result, reason = table.compare(answer, yours)
        name = f"{theirs['study']}/{theirs['preset']}"
        claim = f"{text['contrast']}, {text['at']}"
        rows.append(table.Row(name, claim, answer.text, yours.text, table.LIVE, result, reason))
    return rows


def write(output: Path, rows: Sequence[table.Row], wanted: Sequence[Step], state: State) -> None:
    """The table as review.md, .csv and .json. Raises Problem where that cannot be written."""
    done = [
        f"- {step.name}: {step.what}: "
        + (
            f"done in {state.told(step.name)['seconds'] / 60:.1f} minutes"
            if state.done(step.name)
            else str(state.told(step.name).get("reason"))
        )
        for step in wanted
    ]
    parts = [f"# Review\n\n{table.counted(rows)}.\n", table.as_markdown(rows)]
    page = "\n".join([*parts, "## Steps\n", *done]) + "\n"
    content = {"rows": [asdict(row) for row in rows], "counted": table.counted(rows)}
    files = {"md": page, "csv": table.as_csv(rows), "json": json.dumps(content, indent=1) + "\n"}
    for kind, text in files.items():
        file = output / f"review.{kind}"
        try:
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise paths.unwritable(file, error) from None
