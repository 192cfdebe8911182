"""Numbers and tables as text: one rounding rule for CSV, Markdown, captions and sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.statistics.intervals import Interval

CSV_DIGITS = 6  # far below any measurement's error, and the same text on every platform
NOTHING = "—"


def number(value: float | int | None, digits: int = 3) -> str:
    """A number to so many significant digits, without exponent: 0.0312, 12.4, 1,430."""
    if value is None:
        return NOTHING
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{places}f}".replace("-", "−")


def about(value: float) -> str:
    """Three significant digits, without zeros that say nothing: 60, 89.7, 100,000, 0.1."""
    return f"{float(f'{value:.3g}'):,.10g}".replace("-", "−")


def _signed(value: float, places: int) -> str:
    return f"{value:,.{places}f}".replace("-", "−")


def _places(low: float | None, high: float | None, near: float | None) -> int:
    """Decimals for an interval: two digits of its half-width, four of the estimate at most."""
    size = abs(near or high or low or 1.0)
    order = math.floor(math.log10(size))
    half = (high - low) / 2 if low is not None and high is not None else 0.0
    if half <= 0:
        return max(0, 2 - order)
    first = math.floor(math.log10(half))
    digits = 2 if half < 7 * 10.0**first else 1  # 0.93 is as good as 0.9, 0.13 is not 0.1
    return max(0, min(digits - 1 - first, max(3 - order, -first)))


def span(low: float | None, high: float | None, near: float | None = None) -> str:
    """An interval's ends, to the precision of the estimate: [11.2, 13.9]."""
    if low is None and high is None:
        return "[no interval]"
    places = _places(low, high, near)
    ends = ["∞" if end is None else _signed(end, places) for end in (low, high)]
    return f"[{ends[0]}, {ends[1]}]"


def interval(value: Interval) -> str:
    """Estimate and interval: 0.0312 [0.0290, 0.0334]."""
    if value.estimate is None:
        return NOTHING
    if value.low is None and value.high is None:
        return f"{number(value.estimate)} ({value.note})"
    places = _places(value.low, value.high, value.estimate)
    return f"{_signed(value.estimate, places)} {span(value.low, value.high, value.estimate)}"


def p_text(p: float | None) -> str:
    """A p value: .031, < .001."""
    if p is None:
        return NOTHING
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0") if p < 1 else "1"


def cell(value: Any) -> str:
    """One CSV field: six significant digits, empty for what is missing."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.{CSV_DIGITS}g}"
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n') else text


@dataclass(frozen=True)
class Table:
    """A table twice: `rows` of raw values for CSV, `shown` of text for Markdown."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    head: Sequence[str]
    shown: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def csv(self) -> str:
        """RFC 4180, UTF-8, LF, with a header."""
        lines = [self.columns, *self.rows]
        return "".join(",".join(cell(v) for v in line) + "\n" for line in lines)

    def markdown(self) -> str:
        """A pipe table; the first column is left-aligned, notes follow it."""
        made = ["| " + " | ".join(self.head) + " |"]
        made.append("| :-- |" + " --- |" * (len(self.head) - 1))
        for row in self.shown:
            cells = (" ".join(text.split()).replace("|", "\\|") for text in row)
            made.append("| " + " | ".join(cells) + " |")
        text = "\n".join(made) + "\n"
        return text + "".join(f"\n{note}\n" for note in self.notes)


def ends(name: str, value: Interval | None) -> dict[str, float | None]:
    """CSV columns of an interval: name, name_low, name_high."""
    v = value or Interval(None, None, None, 0)
    return {name: v.estimate, f"{name}_low": v.low, f"{name}_high": v.high}
