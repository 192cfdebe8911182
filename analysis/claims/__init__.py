"""The ledger: what the articles claim, judged by the criteria that claims.yml declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analysis.claims import cores, criteria, frontier, sensor, slopes
from analysis.claims.answer import VERDICTS, Answer, Index
from analysis.claims.data import SHARES, UNITS, Claim, ClaimsError, Ledger, ledger, unit_of
from analysis.claims.evidence import SESSIONS, Measured, folder_of
from analysis.text import NOTHING

__all__ = ["VERDICTS", "ClaimsError", "judge", "ledger"]

WIDE = "-7in.svg"  # the width of a page
SLICES = "slices"  # what a run of design points has for a figure of levels

RULES: Mapping[str, Callable[[Claim, Index], Answer]] = {
    "ratio": criteria.ratio,
    "direction": criteria.direction,
    "fleet": criteria.fleet,
    "left_out": criteria.left_out,
    "bound": criteria.bound,
    "level": slopes.level,
    "line": slopes.line,
    "flat": slopes.flat,
    "rises": slopes.rises,
    "accuracy": slopes.accuracy,
    "frontier": frontier.frontier,
    "published_ratio": cores.published_ratio,
    "published_level": cores.published_level,
    "sensor_ratio": sensor.sensor_ratio,
    "byte_accounting": sensor.byte_accounting,
}


def judge(index: Mapping[str, Any], book: Ledger | None = None) -> list[dict[str, Any]]:
    """Every claim with its verdict, in the order of claims.yml; pure.

    index: {"runs": [a run's summary...], "sessions": [...]}, as `report.process_all` returns it.
    Keys of an entry: id, source, kind, what, published {name with unit: number}, published_text;
    verdict, condition (completes `holds when…`), reason; measured {estimate, low, high, n, unit,
    text} or None; place {table, row, column, scale}: where that number stands; study, preset, run
    (the newest), runs, table, figure (files in data/processed) or None; generalises: over what;
    beforehand: whether the criterion is older than the runs; criterion in words, and rule as
    declared.

    Raises ClaimsError for a claims.yml that is not as it should be.
    """
    book = book or ledger()
    return [_entry(book, claim, _answer(claim, index), index) for claim in book.claims]


def _answer(claim: Claim, index: Index) -> Answer:
    return RULES[claim.criterion["rule"]](claim, index)


def _entry(book: Ledger, claim: Claim, answer: Answer, index: Index) -> dict[str, Any]:
    measured = answer.measured
    runs = answer.runs or (measured.runs if measured else ())
    run = next((s for s in index["runs"] if runs and s["run"] == runs[0]), None)
    session = _session(index, measured)
    return {
        "id": claim.id,
        "source": claim.source,
        "kind": claim.kind,
        "what": claim.what,
        "published": dict(claim.published),
        "published_text": published_text(claim),
        "verdict": answer.verdict,
        "condition": answer.condition,
        "reason": answer.reason,
        "measured": _number(measured),
        "place": _place(measured),
        "study": run["study"] if run else claim.criterion["study"],
        "preset": run["preset"] if run else None,
        "run": run["run"] if run else None,
        "runs": list(runs),
        "table": _table(claim, measured, run),
        "figure": _figure(claim, run, session),
        "generalises": (session or run or {}).get("generalises"),
        "beforehand": _beforehand(claim.declared or book.declared, runs, index),
        "criterion": words(book, claim),
        "rule": dict(claim.criterion),
    }


def _beforehand(declared: str, runs: Sequence[str], index: Index) -> bool | None:
    """True if every run began after the criterion was declared; None without a run."""
    begun = [str(s["started_utc"]) for s in index["runs"] if s["run"] in runs]
    return min(begun) >= declared if begun else None


def _number(measured: Measured | None) -> dict[str, Any] | None:
    if measured is None:
        return None
    value = measured.value
    ends = {"estimate": value.estimate, "low": value.low, "high": value.high, "n": value.n}
    return {**ends, "unit": measured.unit, "text": measured.text}


def _place(measured: Measured | None) -> dict[str, Any] | None:
    if measured is None:
        return None
    at = measured.place
    table = f"{at.folder}/tables/{at.table}.csv"
    return {"table": table, "row": dict(at.row), "column": at.column, "scale": at.scale}


def _table(claim: Claim, measured: Measured | None, run: Mapping[str, Any] | None) -> str | None:
    if measured is not None:
        return f"{measured.place.folder}/tables/{measured.place.table}.md"
    return f"{folder_of(run)}/tables/{claim.table}.md" if run else None


def _session(index: Index, measured: Measured | None) -> Mapping[str, Any] | None:
    """The sessions that a number was pooled from; None if it is of one run."""
    folder, _, name = measured.place.folder.partition("/") if measured else ("", "", "")
    found = (index.get("sessions") or []) if folder == SESSIONS else []
    return next((session for session in found if session["folder"] == name), None)


def _figure(
    claim: Claim, run: Mapping[str, Any] | None, session: Mapping[str, Any] | None
) -> str | None:
    """The sessions' own figure of a pooled number, else the claim's figure of the run."""
    if session is not None:
        drawn = [name for name in session.get("files", []) if name.endswith(WIDE)]
        return f"{SESSIONS}/{session['folder']}/{drawn[0]}" if drawn else None
    for figure in (claim.figure, SLICES if run and run.get("crossover") else ""):
        name = f"figures/{figure}{WIDE}"
        if run and name in run.get("files", []):
            return f"{folder_of(run)}/{name}"
    return None


def published_text(claim: Claim) -> str:
    """What the article printed: 16.6×, −80 % change, ebpf 12 context switches, ..."""
    judged = claim.criterion.get("value")
    made = []
    for name in [judged] if judged else claim.published:
        value, unit = claim.published[name], unit_of(name)
        if unit == "times":
            made.append(f"{value:g}×")
            continue
        side = next(name.removesuffix(s).rstrip("_") for s in UNITS if name.endswith(s))
        said = f"{side.replace('_', ' ')} " if side and not judged else ""
        made.append(f"{said}{value:g} {unit}".replace("-", "−"))
    return ", ".join(made) or NOTHING


def words(book: Ledger, claim: Claim) -> str:
    """The criterion in words: its rule's text with the arms and limits that it names."""
    c = claim.criterion
    limits = {name: f"{limit:g}" for name, limit in book.limits.items()}
    limits |= {name: f"{100 * book.limits[name]:g} %" for name in SHARES}
    named = {**limits, **c, **c.get("contrast", {})}
    named["expect"] = " or ".join(c.get("expect", []))
    return book.rules[c["rule"]].format(**named)
