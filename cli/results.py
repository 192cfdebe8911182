"""From a run's raw folder to what a reader sees: the analysis, called and checked."""

from __future__ import annotations

from pathlib import Path

from analysis import report
from analysis.load import RunError
from cli.problem import Problem


def process(raw: Path, processed: Path) -> None:
    """Make every table and figure of a run. Raises Problem for a damaged run."""
    try:
        report.process(raw, processed)
    except RunError as error:
        raise Problem(str(error)) from None
    except OSError as error:
        raise Problem(
            f"cannot write to {processed} ({error.strerror}): choose another output, or run as its"
            " owner"
        ) from None


def missing(processed: Path) -> list[str]:
    return []


def findings(raw: Path, processed: Path) -> str:
    return ""
