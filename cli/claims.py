"""``./study claims``: the ledger of the articles' claims and the README's numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cli import index, parameters, paths, readme
from cli.problem import Failed, Problem

NAME = "claims"
#: The cost models of the shipped runs, for `./study advise`, which has no packages to fit them.
ADVICE = paths.DATA / "advice.json"


def command(words: Sequence[str]) -> int:
    """Write what is stale, or with ``--check`` say what is.

    Without ``--output`` the shipped runs are judged and the README is written too; another folder's
    ledger is of all its runs.

    Raises:
        Problem: no results yet, README markers missing, a bad claims.yml.
        Failed: with ``--check``, if something is stale.
    """
    check, output = _arguments(words)
    own = output == parameters.resolve({})["output"]
    found = index.of(output, index.shipped() if own else None)
    if not found["runs"]:
        raise Problem(f"no results in {output / 'processed'}: ./study figures makes them")
    entries = judged(found)
    wanted = files(entries, output)
    if own:
        wanted[readme.README] = written(entries, found, output)
        wanted[ADVICE] = advice(found)
    stale = [path for path, text in wanted.items() if _content(path) != text]
    if check:
        if stale:
            names = ", ".join(_named(path) for path in stale)
            raise Failed(f"stale: {names}; ./study claims writes them again")
        print(f"{len(entries)} claims, as the runs have them: {_counted(entries)}")
        return 0
    for path in stale:
        _write(path, wanted[path])
    for entry in entries:
        print(f"{entry['id']}: {_line(entry)}")
    if others := index.not_among(output, found):
        print(f"note: {others} measured here are not shipped: a notebook judges its own runs")
    print(f"written: {', '.join(_named(path) for path in stale) or 'nothing, all is fresh'}")
    return 0


def judged(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Every claim with its verdict on these runs. Raises Problem for a bad claims.yml."""
    from analysis.claims import ClaimsError, judge  # pandas: not before an argument can be wrong

    try:
        return judge(found)
    except ClaimsError as error:
        raise Problem(f"{error}; put analysis/claims.yml right") from None


def files(entries: list[dict[str, Any]], output: Path) -> dict[Path, str]:
    """The ledger's files in data/processed with their content."""
    from analysis.claims import ledger, render

    data = json.dumps({"claims": entries}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    made = {"csv": render.csv(entries), "json": data, "md": render.page(ledger(), entries)}
    return {output / "processed" / f"{NAME}.{kind}": text for kind, text in made.items()}


def written(entries: list[dict[str, Any]], found: dict[str, Any], output: Path) -> str:
    """The README with its made parts as the runs have them. Raises Problem."""
    from analysis.claims import render

    run = readme.main_run(found["runs"])
    text = readme.README.read_text(encoding="utf-8")
    block = render.compact(entries, lambda path: f"{readme.PROCESSED}/{path}")
    text = readme.replaced(text, "result", readme.result(run))
    text = readme.replaced(text, "table", readme.table(run, output))
    text = readme.replaced(text, "exact", readme.exact(found["runs"]))
    text = readme.replaced(text, "crossover", readme.crossover(found["runs"], output))
    text = readme.replaced(text, "cores", readme.cores(found["runs"]))
    text = readme.replaced(text, "sensor", readme.sensor(found["runs"], output))
    return readme.replaced(text, NAME, block)


def advice(found: dict[str, Any]) -> str:
    """The content of data/advice.json: the newest live and exact cost model of these runs."""
    from analysis.crossover import advice as models

    return models.text(found["runs"])


def _counted(entries: list[dict[str, Any]]) -> str:
    from analysis.claims import render

    return render.counted(entries)


def _line(entry: dict[str, Any]) -> str:
    from analysis.claims import render

    measured = entry["measured"]
    number = f", {measured['text']}" if measured else ""
    published = f" (published: {entry['published_text']})" if entry["published"] else ""
    return f"{render.verdict_text(entry)}{number}{published}"


def _content(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _write(path: Path, text: str) -> None:
    from analysis.write import put

    try:
        put(path, text)
    except OSError as error:
        raise paths.unwritable(path, error) from None


def _named(path: Path) -> str:
    return str(path.relative_to(paths.ROOT) if path.is_relative_to(paths.ROOT) else path)


def _arguments(words: Sequence[str]) -> tuple[bool, Path]:
    """``[--check] [--output FOLDER]``."""
    rest = list(words)
    given = {}
    if "--output" in rest:
        at = rest.index("--output")
        given["output"] = "".join(rest[at + 1 : at + 2])
        del rest[at : at + 2]
    check = "--check" in rest
    unknown = [word for word in rest if word != "--check"]
    if unknown:
        raise Problem(f"claims takes no '{unknown[0]}', only --check and --output FOLDER")
    output: Path = parameters.resolve(given)["output"]
    return check, output
