"""The verdicts of the report: claims, contrasts and sessions, each as rows of plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from analysis.claims.render import verdict_text
from analysis.text import NOTHING, number, p_text, span

#: A reason that says no more than the column of p does.
PLAIN = re.compile(r"adjusted p = [\d.e-]+")

Summary = Mapping[str, Any]
Row = dict[str, str]


def titles(summary: Summary) -> dict[str, str]:
    """Titles of a run's arms by name."""
    return {cell["arm"]: cell["title"] for cell in summary["cells"]}


def at(processes: int | None) -> str:
    """The level of a cell: ``600 processes``."""
    return "as found" if processes is None else f"{processes:,} processes"


def estimate(value: Mapping[str, Any] | None, unit: str = "") -> str:
    """An estimate with its interval: ``26.1× [19, 42]``."""
    if not value or value.get("estimate") is None:
        return NOTHING
    shown = f"{number(value['estimate'])}{unit}"
    low, high = value.get("low"), value.get("high")
    if low is None and high is None:
        return f"{shown} ({value.get('note') or 'no interval'})"
    return f"{shown} {span(low, high, value['estimate'])}"


def contrasts(summaries: Iterable[Summary]) -> list[Row]:
    """Every declared contrast of the runs, each run's A/A pair after them."""
    rows = []
    for summary in summaries:
        named = titles(summary)
        run = {"run": summary["run"], "of": f"{summary['study']}, {summary['preset']}"}
        for contrast in summary["contrasts"]:
            pair = [named.get(contrast[s], contrast[s]) for s in ("numerator", "denominator")]
            text = " against ".join(pair)
            if contrast["measure"] == "published":
                text += " (published method)"
            rows.append({**run, "contrast": text, **_verdict(contrast, contrast["p_adjusted"])})
        twins = summary.get("a_a")
        if twins:
            text = f"{named.get(twins['arm'], twins['arm'])} against itself (A/A)"
            rows.append({**run, "contrast": text, **_verdict(twins, None)})
    return rows


def _verdict(entry: Mapping[str, Any], p: float | None) -> Row:
    return {
        "at": at(entry["processes"]),
        "ratio": estimate(entry.get("ratio"), "×"),
        "p": p_text(p),
        "verdict": entry["verdict"],
        "because": "" if PLAIN.fullmatch(why := entry["why"] or "") else why,
    }


def twins(counted: Mapping[str, Any]) -> str:
    """How often two measurements of one arm were told apart, over all runs."""
    if not counted["pairs"]:
        return ""
    return (
        f"Over all runs {counted['told_apart']} of {counted['pairs']} such twins were told apart at"
        " p < .05, where one in twenty is expected."
    )


def sessions(pooled: Iterable[Summary]) -> list[Row]:
    """Every contrast over the sessions of one preset on one machine."""
    rows = []
    for group in pooled:
        for contrast in group["contrasts"]:
            over = contrast["pooled"] or {}
            rows.append(
                {
                    "of": f"{group['study']}, {group['preset']}",
                    "contrast": contrast["id"],
                    "sessions": str(over.get("n_sessions", 0)),
                    "each": "; ".join(
                        session["reason"] or estimate(session["ratio"], "×")
                        for session in contrast["per_session"]
                    ),
                    "ratio": estimate(over.get("ratio"), "×"),
                    "verdict": over.get("verdict", "too few sessions"),
                    "because": f"generalises {contrast['generalises']}"
                    if contrast["generalises"]
                    else "",
                }
            )
    return rows


def claims(entries: Iterable[Mapping[str, Any]]) -> list[Row]:
    """The ledger's claims with their verdicts, as ``analysis.claims.judge`` returns them."""
    return [
        {
            "id": entry["id"],
            "run": entry["run"] or "",
            "what": entry["what"],
            "published": entry["published_text"],
            "verdict": verdict_text(entry),
            "measured": entry["measured"]["text"] if entry["measured"] else NOTHING,
            "because": "; ".join(_because(entry)),
        }
        for entry in entries
    ]


def _because(entry: Mapping[str, Any]) -> Iterator[str]:
    yield entry["reason"]
    if entry["measured"] and entry["generalises"]:
        yield f"generalises {entry['generalises']}"
    if entry["beforehand"] is False:
        yield "decided in part or whole by a run older than the criterion, not blind to it"
