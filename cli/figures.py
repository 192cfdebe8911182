"""``./study figures``: every table and figure again, from data/raw alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cli import parameters, paths, results, runs
from cli.problem import Failed, Problem


def command(words: Sequence[str]) -> int:
    """Make the results of every run, or of the runs named; a damaged one does not stop the others.

    Raises:
        Problem: no run, or an unknown one.
        Failed: after the others are made, if a run is damaged.
    """
    output, named = _arguments(words)
    wanted = [(runs.study_of(output, name), name) for name in named] or [
        (study, name) for study in parameters.STUDIES for name in runs.names(output, study)
    ]
    if not wanted:
        raise Problem(f"no run in {output / 'raw'}: measure one with ./study run")
    paths.writable_folder(output / "processed")
    damaged = []
    for study, name in wanted:
        processed = paths.processed(output, study, name)
        try:
            results.process(paths.raw(output, study) / name, processed)
        except Problem as problem:
            damaged.append(str(problem))
            continue
        print(f"{study}: {processed}", flush=True)
    if damaged:
        raise Failed("\n".join(damaged))
    return 0


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
