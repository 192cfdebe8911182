"""``./study figures``: every table and figure again, from data/raw alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis import report
from cli import parameters, paths, results, runs
from cli.problem import Failed, Problem

MACHINES = "--machines"


def command(words: Sequence[str]) -> int:
    """Make the results of every run, or of the runs named; a damaged one does not stop the others.

    Raises:
        Problem: no run, or an unknown one.
        Failed: after the others are made, if a run is damaged.
    """
    output, named, together = _arguments(words)
    folder = paths.writable_folder(output / "processed")
    if together:
        return _machines(output)
    if named:
        made, damaged = _named(output, named)
    else:
        found = index(output)
        made, damaged = found["runs"], found["errors"]
    for summary in made:
        print(f"{folder / summary['study'] / summary['run']}")
        print(f"  {summary['sentence']}")
    if damaged:
        raise Failed("\n".join(damaged))
    if not made:
        raise Problem(f"no run in {output / 'raw'}: measure one with ./study run")
    return 0


def index(output: Path) -> dict[str, Any]:
    """Make the results of every run; what is known of all of them. Raises Problem."""
    try:
        return report.process_all(output / "raw", output / "processed")
    except OSError as error:
        raise paths.unwritable(output / "processed", error) from None


def _machines(output: Path) -> int:
    """What the runs of many machines say together; no tables or figures of each one."""
    from analysis.machines import machines

    try:
        found = machines(output / "raw", output / "processed")
    except OSError as error:
        raise paths.unwritable(output / "processed", error) from None
    for group in found["groups"]:
        folder = output / "processed" / "machines" / f"{group['study']}-{group['preset']}"
        print(f"{folder}: {group['machines']} machines, {group['runs']} runs")
        for entry in group["contrasts"]:
            pooled = entry["pooled"]
            said = f"{pooled['verdict']} ({pooled['why']})" if pooled else "one machine: no verdict"
            print(f"  {entry['id']}, statistics {entry['statistics']}: {said}")
    if found["errors"]:
        raise Failed("\n".join(found["errors"]))
    if not found["groups"]:
        raise Problem(f"no run in {output / 'raw'}: measure one with ./study run")
    return 0


def _named(output: Path, named: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    made, damaged = [], []
    for study, name in [(runs.study_of(output, name), name) for name in named]:
        try:
            raw = paths.raw(output, study) / name
            made.append(results.process(raw, paths.processed(output, study, name)))
        except Problem as problem:
            damaged.append(str(problem))
    return made, damaged


def _arguments(words: Sequence[str]) -> tuple[Path, list[str], bool]:
    """``[--output FOLDER] [--machines | RUN …]``."""
    rest = [word for word in words if word != MACHINES]
    together = len(rest) < len(words)
    given = {}
    if "--output" in rest:
        at = rest.index("--output")
        given["output"] = "".join(rest[at + 1 : at + 2])
        del rest[at : at + 2]
    for word in rest:
        if word.startswith("-"):
            raise Problem(
                f"figures takes no '{word}', only --output FOLDER, {MACHINES} and names of runs"
            )
    if together and rest:
        raise Problem(f"{MACHINES} is of all runs: name none, or leave it out")
    output: Path = parameters.resolve(given)["output"]
    return output, rest, together
