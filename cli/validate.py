"""``./study validate``: simulate whether intervals and tests keep their word."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from cli import paths
from cli.problem import Failed, Problem

DOCS = paths.ROOT / "docs"
PAGE = "validation.md"
FOLDER = "validation"
TABLES = ("coverage", "false_positives", "power")


def blocks_of(text: str) -> dict[str, tuple[int, int]]:
    """Where each generated part of the page lies, between ``<!-- name -->`` and its end."""
    found = {}
    for name in ("result", "exceptions", "levels", "power", "bursts"):
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise Problem(f"docs/{PAGE} lacks the marks of its part '{name}': restore it from git")
        found[name] = (text.index(begin) + len(begin), text.index(end))
    return found


def filled(text: str, parts: dict[str, str]) -> str:
    """The page with its generated parts in place."""
    for name, part in parts.items():
        start, end = blocks_of(text)[name]
        text = f"{text[:start]}{part}{text[end:]}"
    return text


def simulate(jobs: int | None = None) -> dict[str, list[dict[str, Any]]]:
    """Every cell of every table, some at a time; about two minutes on two cores."""
    from analysis.statistics import validation
    from analysis.tables import validation as tables

    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    workers = jobs or os.cpu_count() or 1
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for name, row in pool.map(validation.make, validation.cells(), chunksize=5):
            if row is not None:
                rows[name].append(tables.rounded(row))
    return rows


def pages(rows: dict[str, list[dict[str, Any]]], text: str) -> dict[Path, bytes]:
    """Every file that follows from the simulations, relative to docs/; text: the page as it is."""
    from analysis.figures import coverage
    from analysis.tables import validation as tables

    cells, tests = rows["coverage"], rows["false_positives"]
    made = {
        Path(FOLDER) / f"{name}.csv": tables.table(name, rows[name]).csv().encode()
        for name in TABLES
    }
    made[Path(FOLDER) / "coverage.svg"] = coverage.svg(cells)
    figure = f"![Coverage by noise and number of blocks]({FOLDER}/coverage.svg)"
    parts = {
        "result": f"{tables.sentence(cells, tests)}\n\n{figure}\n\n{tables.by_noise(cells)}",
        "exceptions": tables.exceptions(cells),
        "levels": tables.levels(tests),
        "power": tables.powers(rows["power"]),
        "bursts": tables.with_bursts(cells),
    }
    made[Path(PAGE)] = filled(text, parts).encode()
    return made


def command(words: Sequence[str]) -> int:
    """Make the pages again, or with ``--check`` only say whether they are what the code gives.

    Raises:
        Problem: an unknown word, or a page without its marks.
        Failed: with ``--check``, if a file is not what the simulations give.
    """
    if list(words) not in ([], ["--check"]):
        raise Problem(f"validate takes no '{' '.join(words)}', only --check")
    page = DOCS / PAGE
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    blocks_of(text)
    made = pages(simulate(), text)
    if words:
        stale = [
            f"docs/{name.as_posix()}"
            for name, content in made.items()
            if not (DOCS / name).is_file() or (DOCS / name).read_bytes() != content
        ]
        if stale:
            raise Failed(f"not what the simulations give: {', '.join(stale)}; run ./study validate")
        print("docs/validation is what the simulations give")
        return 0
    for name, content in made.items():
        paths.writable_folder((DOCS / name).parent)
        (DOCS / name).write_bytes(content)
    print(text_of_result(made[Path(PAGE)].decode()))
    print(f"{DOCS / PAGE}")
    return 0


def text_of_result(page: str) -> str:
    """The page's first paragraph of results."""
    start, end = blocks_of(page)["result"]
    return page[start:end].split("\n\n")[0].replace("**", "")
