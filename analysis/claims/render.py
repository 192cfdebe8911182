"""The ledger as files: CSV, a page in Markdown, and the block that the README holds."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analysis.claims.answer import (
    CONTRADICTED,
    HOLDS_WHEN,
    NOT_TESTABLE,
    NOT_YET,
    UNDETERMINED,
    VERDICTS,
)
from analysis.claims.data import Ledger, Source
from analysis.text import NOTHING, Table

Entries = Sequence[Mapping[str, Any]]
ENDS = ("estimate", "low", "high", "unit", "n")
COPIED = ("id", "source", "kind", "what", "published_text", "verdict", "condition", "reason")
FOLLOWED = ("study", "preset", "run", "table", "figure", "criterion")


def verdict_text(entry: Mapping[str, Any]) -> str:
    """The verdict with its condition: holds when 600 processes, ..."""
    if entry["verdict"] == HOLDS_WHEN and entry["condition"]:
        return f"{HOLDS_WHEN.rstrip('…')} {entry['condition']}"
    return str(entry["verdict"])


def csv(entries: Entries) -> str:
    """One row a claim; `measured` in the unit of its row."""
    columns = [*COPIED, *(f"measured_{end}" for end in ENDS), *FOLLOWED]
    rows = []
    for entry in entries:
        measured = entry["measured"] or {}
        row = [entry[key] for key in COPIED]
        row += [measured.get(end) for end in ENDS]
        rows.append([*row, *(entry[key] for key in FOLLOWED)])
    return Table("claims", columns, rows, columns, []).csv()


def _links(entry: Mapping[str, Any], to: Callable[[str], str] | None) -> str:
    """The table and the figure of a claim as links; their names without a place to link to."""
    made = []
    for kind in ("table", "figure"):
        path = entry[kind]
        if path is not None:
            made.append(f"[{kind}]({to(path)})" if to else f"`{path}`")
    return ", ".join(made) or NOTHING


def _shown(entry: Mapping[str, Any]) -> str:
    measured = entry["measured"]
    return str(measured["text"]) if measured else NOTHING


def _verdict_and_why(entry: Mapping[str, Any]) -> str:
    """For the short form: what did not hold says why."""
    said = verdict_text(entry)
    short = entry["verdict"] in (CONTRADICTED, UNDETERMINED, NOT_TESTABLE)
    return f"{said}: {entry['reason']}" if short else said


def _ranges(ids: Sequence[str]) -> str:
    """PROC-4, PROC-6; CORE-1 to CORE-14."""
    source = ids[0].rpartition("-")[0]
    numbers = [int(name.rpartition("-")[2]) for name in ids]
    made = []
    for _, group in itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        joint = " to " if len(run) > 2 else ", "
        last = f"{joint}{source}-{run[-1]}" if len(run) > 1 else ""
        made.append(f"{source}-{run[0]}{last}")
    return ", ".join(made)


def waiting(entries: Entries) -> str:
    """The claims that no run answers yet, by the study that will, in one line; empty if none."""
    groups: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        if entry["verdict"] == NOT_YET:
            groups.setdefault((entry["study"], entry["source"]), []).append(entry["id"])
    made = [f"{_ranges(ids)} (study `{study}`)" for (study, _), ids in groups.items()]
    return f"Not yet measured: {'; '.join(made)}." if made else ""


def _reach(entries: Entries) -> str:
    """Over what the verdicts speak, and which do; empty without a measured claim."""
    groups: dict[str, list[str]] = {}
    for entry in entries:
        if entry["measured"] and entry["generalises"]:
            groups.setdefault(str(entry["generalises"]), []).append(str(entry["id"]))
    made = [f"{over} ({_by_source(ids)})" for over, ids in groups.items()]
    return f"Each verdict generalises {'; '.join(made)}." if made else ""


def _older(entries: Entries) -> str:
    """Which claims were decided by runs that are older than the criteria; empty if none."""
    ids = [str(entry["id"]) for entry in entries if entry["beforehand"] is False]
    said = "Decided in part or whole by runs older than the criteria, which were thus not blind to"
    return f"{said} them: {_by_source(ids)}." if ids else ""


def counted(entries: Entries) -> str:
    """5 `holds`, 1 `holds when…`, ...: how many claims have each verdict."""
    counts = Counter(entry["verdict"] for entry in entries)
    return ", ".join(f"{counts[verdict]} `{verdict}`" for verdict in VERDICTS if counts[verdict])


def compact(entries: Entries, to: Callable[[str], str] | None = None) -> str:
    """The measured claims as a table, the others in one line.

    to: a path in data/processed to a link; None names the files instead.
    """
    head = ["claim", "published", "measured [95 % interval]", "verdict", "follow"]
    shown = [
        [
            f"{entry['id']}: {entry['what']}",
            entry["published_text"],
            _shown(entry),
            _verdict_and_why(entry),
            _links(entry, to),
        ]
        for entry in entries
        if entry["verdict"] != NOT_YET
    ]
    notes = [
        _reach(entries),
        _older(entries),
        waiting(entries),
        f"Of {len(entries)} claims: {counted(entries)}.",
    ]
    notes = [note for note in notes if note]
    if not shown:
        return "\n\n".join(notes) + "\n"
    return Table("claims", [], [], head, shown, notes).markdown()


def page(book: Ledger, entries: Entries) -> str:
    """Every claim with its reason, by source, and each criterion in words."""
    text = [
        "# What the articles claim, and what was found",
        "",
        f"{len(entries)} claims: {counted(entries)}. Made from the runs' summaries by "
        "`./study claims`; the claims, with their criteria, are `analysis/claims.yml`.",
    ]
    for source in book.sources:
        mine = [entry for entry in entries if entry["source"] == source.key]
        text += ["", f"## {source.title}", "", _about(source), ""]
        head = ["claim", "published", "measured [95 % interval]", "verdict", "why", "follow"]
        shown = [
            [
                f"{entry['id']}: {entry['what']}",
                entry["published_text"],
                _shown(entry),
                verdict_text(entry),
                entry["reason"],
                _links(entry, lambda path: path),
            ]
            for entry in mine
        ]
        text.append(Table("claims", [], [], head, shown).markdown().rstrip("\n"))
    text += ["", "## What the verdicts reach", "", _reach(entries) or waiting(entries)]
    text += [
        "",
        "## Criteria",
        "",
        f"As declared at {book.declared}. {_older(entries)}".strip(),
        "",
    ]
    groups: dict[str, list[str]] = {}
    for entry in entries:
        groups.setdefault(str(entry["criterion"]), []).append(str(entry["id"]))
    text += [f"- {_by_source(ids)}: {criterion}" for criterion, ids in groups.items()]
    return "\n".join(text) + "\n"


def _by_source(ids: Sequence[str]) -> str:
    sources = itertools.groupby(ids, key=lambda name: name.rpartition("-")[0])
    return ", ".join(_ranges(list(group)) for _, group in sources)


def _about(source: Source) -> str:
    author = source.author or "Author not named in the text"
    year = source.year or "year not given"
    at = f", {source.url}" if source.url else ""
    text = f"{author}, {year}{at}. Code: {source.code}. Machine: {source.machine}. "
    text += f"Protocol: {source.protocol}."
    return f"{text} {source.note[:1].upper()}{source.note[1:]}." if source.note else text
