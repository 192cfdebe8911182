"""The summaries of many runs as one index: of a folder of results, or of the shipped runs alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cli import paths
from cli.problem import Problem
from experiment.source import git

SUMMARY = "summary.json"
SESSIONS = "sessions"
#: Folders of what follows from several runs together.
TOGETHER = (SESSIONS, "machines", "beside")


def shipped() -> set[tuple[str, str]] | None:
    """(study, run) of the runs that belong to the package; None where git cannot tell.

    A run is shipped if git tracks it: a clone's own measurements are ignored, and are nobody
    else's.
    """
    listed = git(paths.ROOT, "ls-files", "-z", "data/raw") or ""
    names = [Path(name).parts for name in listed.split("\0") if name]
    found = {(parts[2], parts[3]) for parts in names if len(parts) > 4}
    return found or None


def not_among(output: Path, found: dict[str, Any]) -> str:
    """How many more runs have results in a folder: "2 runs", empty if none."""
    names = {(run["study"], run["run"]) for run in found["runs"]}
    files = (output / "processed").glob(f"*/*/{SUMMARY}")
    there = {path.parts[-3:-1] for path in files} - names
    more = sum(study not in TOGETHER for study, _ in there)
    return f"{more} run{'s' if more > 1 else ''}" if more else ""


def of(output: Path, only: set[tuple[str, str]] | None = None) -> dict[str, Any]:
    """{"runs": [...], "sessions": [...]} as the analysis returns it, from the summaries on disk.

    only: (study, run) of the runs wanted; a session that holds another run is left out then.

    Raises Problem for a run wanted that has no summary, or a damaged one.
    """
    folder = output / "processed"
    found = sorted(folder.glob(f"*/*/{SUMMARY}"))
    files = {path.parts[-3:-1]: path for path in found}
    wanted = set(only) if only is not None else {n for n in files if n[0] not in TOGETHER}
    missing = sorted(wanted - set(files))
    if missing:
        study, run = missing[0]
        raise Problem(f"no results of {study}/{run} in {folder}: ./study figures makes them")
    runs = [paths.read_json(files[name]) for name in sorted(wanted)]
    names = {str(run["run"]) for run in runs}
    sessions = [paths.read_json(path) for name, path in files.items() if name[0] == SESSIONS]
    return {
        "runs": runs,
        "sessions": [s for s in sessions if only is None or set(s["runs"]) <= names],
    }
