"""``./study figures``: every table and figure again, from data/raw alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis import report
from cli import parameters, paths, results, runs
from cli.problem import Failed, Problem


def command(words: Sequence[str]) -> int:
    """Make the results of every run, or of the runs named; a damaged one does not stop the others.

    Raises:
        Problem: no run, or an unknown one.
        Failed: after the others are made, if a run is damaged.
    """
    output, named = _arguments(words)
    folder = paths.writable_folder(output / "processed")
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


def _named(output: Path, named: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    made, damaged = [], []
    for study, name in [(runs.study_of(output, name), name) for name in named]:
        try:
            raw = paths.raw(output, study) / name
            made.append(results.process(raw, paths.processed(output, study, name)))
        except Problem as problem:
            damaged.append(str(problem))
    return made, damaged


def _arguments(words: Sequence[str]) -> tuple[Path, list[str]]:
    """``[--output FOLDER] [RUN …]``."""
    rest = list(words)
    given = {}
    if "--output" in rest:
        at = rest.index("--output")
        given["output"] = "".join(rest[at + 1 : at + 2])
        del rest[at : at + 2]
    for word in rest:
        if word.startswith("-"):
            raise Problem(f"figures takes no '{word}', only --output FOLDER and names of runs")
    output: Path = parameters.resolve(given)["output"]
    return output, rest
