"""Sets what a reviewer measured beside what is shipped, by criteria declared beforehand.

Live measurements are reproduced if the verdict is the same and a ratio lies within a factor of two:
a level in percent of a core is the machine's own and is not compared. What is computed from the
same raw data is reproduced if every digit is the same.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

FACTOR = 2
LIVE = f"live: same verdict, ratio within a factor of {FACTOR}"
EXACT = "exact: equal digits"
REPRODUCED, NOT, CANNOT = "reproduced", "not reproduced", "cannot run here"
#: Verdicts that are no answer.
NO_ANSWER = ("not yet measured", "not testable here", "unavailable")
RATIO = "×"
Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """One line of the review's table."""

    id: str
    claim: str
    shipped: str
    yours: str
    criterion: str
    outcome: str
    reason: str


@dataclass(frozen=True)
class Answer:
    """A verdict with its number, from the ledger or from a run's contrast."""

    verdict: str
    ratio: float | None
    text: str
    reason: str
    circumstances: str = ""


def compare(shipped: Answer, yours: Answer) -> tuple[str, str]:
    """The outcome and its reason, by the criterion for live measurements."""
    if yours.verdict in NO_ANSWER:
        return CANNOT, yours.reason
    if shipped.verdict in NO_ANSWER:
        return CANNOT, f"nothing shipped to compare with: {shipped.reason}"
    if yours.verdict != shipped.verdict:
        why = f" ({yours.reason})" if yours.reason else ""
        return NOT, f"the verdict is {yours.verdict}, not {shipped.verdict}{why}"
    if shipped.ratio is None or yours.ratio is None:
        return REPRODUCED, "same verdict"
    if min(shipped.ratio, yours.ratio) <= 0:
        return NOT, "a ratio is not above 0"
    factor = max(shipped.ratio, yours.ratio) / min(shipped.ratio, yours.ratio)
    said = f"the ratios differ by a factor of {factor:.2g}"
    if factor <= FACTOR:
        return REPRODUCED, said
    both = {"shipped": shipped.circumstances, "yours": yours.circumstances}
    return NOT, "; ".join([said, *(f"{side}: {text}" for side, text in both.items() if text)])


def claims(shipped: Iterable[Entry], yours: Iterable[Entry], why: str) -> list[Row]:
    """A row for each claim of the ledger that the shipped runs answer, or that yours answer.

    why: what was left out or failed in the review, added where it explains that there is no answer.
    """
    mine = {entry["id"]: of_claim(entry) for entry in yours}
    rows = []
    for entry in shipped:
        theirs, own = of_claim(entry), mine[entry["id"]]
        if theirs.verdict == NO_ANSWER[0] and own.verdict == NO_ANSWER[0]:
            continue  # no run answers it yet
        if own.verdict == NO_ANSWER[0]:
            own = Answer(own.verdict, None, own.text, f"{own.reason}; {why}" if why else own.reason)
        outcome, reason = compare(theirs, own)
        rows.append(Row(entry["id"], entry["what"], theirs.text, own.text, LIVE, outcome, reason))
    return rows


def of_claim(entry: Entry) -> Answer:
    """A claim of the ledger as an answer; its number counts where it is a ratio."""
    measured = entry["measured"] or {}
    text = str(entry["verdict"]) + (f", {measured['text']}" if measured else "")
    ratio = measured.get("estimate") if measured.get("unit") == RATIO else None
    reason = entry["reason"] or ""
    return Answer(str(entry["verdict"]), ratio, text, reason, reason)


def of_contrast(contrast: Entry, shown: str) -> Answer:
    """A run's contrast as an answer; ``shown``: its ratio as text."""
    ratio = (contrast.get("ratio") or {}).get("estimate")
    return Answer(
        str(contrast["verdict"]), ratio, f"{contrast['verdict']}, {shown}", contrast["why"] or ""
    )


def tables(same: int, differing: Sequence[str], missing: int) -> Row:
    """The row of the tables that were made again from the shipped raw data."""
    all_of_them = same + len(differing) + missing
    if not all_of_them:
        outcome, reason = CANNOT, "no shipped tables here"
    elif differing or missing:
        first = f", the first {differing[0]}" if differing else ""
        outcome, reason = NOT, f"{len(differing)} differ{first}; {missing} missing"
    else:
        outcome, reason = REPRODUCED, "every digit is the same"
    yours = f"{same} the same"
    text = "tables follow from the raw data"
    return Row("tables", text, f"{all_of_them} tables", yours, EXACT, outcome, reason)


def counted(rows: Sequence[Row]) -> str:
    """``12 reproduced, 1 not reproduced, 3 cannot run here``."""
    numbers = Counter(row.outcome for row in rows)
    return ", ".join(f"{numbers[outcome]} {outcome}" for outcome in (REPRODUCED, NOT, CANNOT))


def as_csv(rows: Sequence[Row]) -> str:
    """RFC 4180, UTF-8, LF, with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue()


def as_markdown(rows: Sequence[Row]) -> str:
    """A pipe table."""
    head = ["", "claim", "shipped", "yours", "criterion", "outcome", "because"]
    lines = ["| " + " | ".join(head) + " |", "| :-- |" + " --- |" * (len(head) - 1)]
    for row in rows:
        cells = (" ".join(str(cell).split()).replace("|", "\\|") for cell in asdict(row).values())
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def as_lines(rows: Sequence[Row]) -> list[str]:
    """For a terminal: a line a claim, its two answers below."""
    text = []
    for row in rows:
        text.append(f"{row.outcome.upper():<15}  {row.id}: {row.claim}")
        text.append(f"{'':17}shipped {row.shipped}; yours {row.yours}")
        if row.reason:
            text.append(f"{'':17}{row.reason} ({row.criterion})")
    return text
