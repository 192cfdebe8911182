"""From a run's raw folder to what a reader sees: the analysis, called and checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cli import paths
from cli.problem import Problem

SUMMARY = "summary.json"
VERDICTS = "tables/verdicts.md"


def process(raw: Path, processed: Path) -> dict[str, Any]:
    """Make every table and figure of a run; its summary. Raises Problem for a damaged run."""
    # pandas and matplotlib take seconds to load: not before a parameter can be wrong
    from analysis import report
    from analysis.load import RunError

    try:
        return report.process(raw, processed)
    except RunError as error:
        raise Problem(str(error)) from None
    except OSError as error:
        raise paths.unwritable(processed, error) from None


def current(raw: Path, processed: Path, before: Path | None = None) -> bool:
    """Whether a run's results are whole, and younger than its rows and the code that makes them.

    before: a file made from them, which has to be younger still.
    """
    made = processed / SUMMARY
    if not made.is_file() or missing(processed):
        return False
    sources = [*raw.iterdir(), *(paths.ROOT / "analysis").rglob("*.*"), paths.DATA / "schema.json"]
    newest = max(file.stat().st_mtime_ns for file in sources if "__pycache__" not in file.parts)
    made_ns = made.stat().st_mtime_ns
    return made_ns > newest and (before is None or before.stat().st_mtime_ns >= made_ns)


def summary(processed: Path) -> dict[str, Any]:
    """The summary of a processed run. Raises Problem if there is none."""
    return paths.read_json(processed / SUMMARY)


def missing(processed: Path) -> list[str]:
    """Files that a processed run should have and has not, or that are empty."""
    if not (processed / SUMMARY).exists():
        return [SUMMARY]
    named: list[str] = summary(processed)["files"]
    wanted = dict.fromkeys([VERDICTS, *named])
    return [
        name
        for name in wanted
        if not (processed / name).is_file() or not (processed / name).stat().st_size
    ]


def findings(processed: Path) -> str:
    """What a terminal shows at the end: the sentence, one line a verdict, the warnings."""
    found = summary(processed)
    text = [found["sentence"]]
    text += [f"  {_verdict(contrast)}" for contrast in found["contrasts"]]
    text += [f"  note: {warning}" for warning in found["warnings"]]
    return "\n".join([*text, f"  tables and figures: {processed}"])


def _verdict(contrast: Mapping[str, Any]) -> str:
    said = f"{contrast['id']}, statistics {contrast['statistics']}: {contrast['verdict']}"
    ratio = contrast.get("ratio") or {}
    if ratio.get("estimate") is not None:
        said += f", {ratio['estimate']:.3g} times"
    if ratio.get("low") is not None and ratio.get("high") is not None:
        said += f" [{ratio['low']:.3g}, {ratio['high']:.3g}]"
    if contrast["p_adjusted"] is not None:
        said += f", adjusted p {contrast['p_adjusted']:.2g}"
    return f"{said} ({contrast['why']})" if contrast["why"] else said
