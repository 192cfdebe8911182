"""The parts of the README that are made: between ``<!-- name -->`` and ``<!-- /name -->``."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cli import paths
from cli.problem import Problem

README = paths.ROOT / "README.md"
PROCESSED = "data/processed"
WIDTH = 130


def replaced(text: str, name: str, content: str) -> str:
    """The text with what stands between a pair of markers exchanged.

    Raises Problem if the markers are not there exactly once.
    """
    block = re.compile(rf"(<!-- {name} -->).*?(<!-- /{name} -->)", re.S)
    if len(block.findall(text)) != 1:
        raise Problem(
            f"README.md has no single pair of <!-- {name} --> and <!-- /{name} -->: put the markers"
            " back on lines of their own"
        )
    return block.sub(lambda found: f"{found[1]}\n\n{content.strip()}\n\n{found[2]}", text)


def main_run(runs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The run that the README shows: the newest `paper` of processes. Raises Problem without."""
    found = [
        run
        for run in runs
        if (run["study"], run["preset"], run["finished"]) == ("processes", "paper", True)
        and run.get("backend", "here") == "here"
    ]
    if not found:
        raise Problem("no finished paper run of processes: measure one, the README shows it")
    return max(found, key=lambda run: str(run["run"]))


def _conditions(run: Mapping[str, Any]) -> str:
    """Machine, date, and the switch rate of the sentence's two cells."""
    from analysis.claims.evidence import conditions

    main = run["main"]
    arms = [main[side]["arm"] for side in ("proc", "ebpf")]
    return (
        f"{run['machine']}; {run['started_utc'][:10]}; {conditions([run], arms, main['processes'])}"
    )


def result(run: Mapping[str, Any]) -> str:
    """The sentence, the figure and what it shows."""
    levels = [f"{level:,}" for level in run["levels"] if level is not None]
    figure = f"{PROCESSED}/{run['study']}/{run['run']}/figures/table_points-7in.svg"
    alt = (
        f"Cost of each collector at {' and '.join(levels)} processes, in percent of one core, with "
        "95 % intervals; the article's values as bars"
    )
    caption = (
        f"*Points: means over {run['blocks']} randomised blocks with 95 % intervals; small dots: "
        f"single blocks; bars: the article's numbers. {_conditions(run)}.*"
    )
    sentence = textwrap.fill(run["sentence"], WIDTH, break_long_words=False, break_on_hyphens=False)
    return f"{sentence}\n\n![{alt}]({figure})\n\n{textwrap.fill(caption, WIDTH)}"


def table(run: Mapping[str, Any], output: Path) -> str:
    """The article's table of the run, without its notes. Raises Problem if it is not there."""
    return _lines(paths.processed(output, run["study"], run["run"]) / "tables" / "article.md")


def _lines(file: Path) -> str:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        raise Problem(f"{file} is missing: ./study figures makes it") from None
    return "\n".join(line for line in lines if line.startswith("|"))


def exact(runs: Sequence[Mapping[str, Any]]) -> str:
    """Instructions per scrape of the newest `exact` run of each study, live time beside them."""
    from analysis.tables.beside import newest_exact

    lines = newest_exact(runs).markdown().splitlines()
    return "\n".join(line for line in lines if line.startswith("|"))


def crossover(runs: Sequence[Mapping[str, Any]], output: Path) -> str:
    """Where eBPF stops being the cheaper one, by the newest cost model. Raises Problem."""
    from analysis.crossover import text

    folder = output / "processed"
    made = text.block(runs, lambda path: f"{PROCESSED}/{path}", lambda path: _lines(folder / path))
    return _wrapped_parts(made)


def cores(runs: Sequence[Mapping[str, Any]]) -> str:
    """The second source's table, by the newest run of the study."""
    from analysis.cores import text

    return _wrapped_parts(text.block(runs, lambda path: f"{PROCESSED}/{path}"))


def sensor(runs: Sequence[Mapping[str, Any]], output: Path) -> str:
    """What the security sensor costs, by the newest run of the study. Raises Problem."""
    from analysis.sensor import text

    folder = output / "processed"
    made = text.block(runs, lambda path: f"{PROCESSED}/{path}", lambda path: _lines(folder / path))
    return _wrapped_parts(made)


def _wrapped_parts(made: str) -> str:
    parts = made.split("\n\n")
    wrapped = [part if part.startswith(("|", "![")) else _wrapped(part) for part in parts]
    return "\n\n".join(wrapped)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
