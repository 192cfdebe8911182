"""Reads a fleet's CSV: node, processes, switches/s, and if given threads, active, interval.

Each line that is wrong is named with its number, its cause and the cure.
"""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import dataclass
from pathlib import Path

from cli.problem import Problem

#: Names a column may have; case and blanks around do not matter.
COLUMNS = {
    "node": ("node", "instance", "host"),
    "processes": ("processes", "node_processes_pids"),
    "switches": ("switches/s", "switches", "switches_per_s"),
    "threads": ("threads", "node_processes_threads"),
    "active": ("active",),
    "interval": ("interval", "interval_s"),
}
NEEDED = ("node", "processes", "switches")
_NUMBER = re.compile(r"\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_COMMA = re.compile(r"\d[\d.' ]*,\d+")
#: Lines told before the rest is only counted.
TOLD = 5


@dataclass(frozen=True)
class Node:
    """One line. Counts and rate as given; None where the file does not say."""

    name: str
    processes: float
    switches: float
    threads: float | None = None
    active: float | None = None
    interval: float | None = None


class _Wrong(ValueError):
    """What is wrong with one line."""


def read(path: Path) -> list[Node]:
    """Every node of a file. Raises Problem with a line for each of the first wrong ones."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Problem(f"{path} cannot be read ({error.strerror}): give a CSV file") from None
    return parse(_text(data, str(path)), str(path))


def _text(data: bytes, name: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:1000]:
        raise Problem(f"{name} is no UTF-8 text (UTF-16?): save it as CSV in UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Problem(f"{name}, line {line}: no UTF-8: save it as CSV in UTF-8") from None


def parse(text: str, name: str = "the file") -> list[Node]:
    """Every node of a CSV text, in order. Raises Problem."""
    if not text.strip():
        raise Problem(f"{name} is empty: its first line names node, processes, switches/s")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    nodes: list[Node] = []
    seen: dict[str, int] = {}
    wrong: list[str] = []
    places: dict[str, int] | None = None
    more = 0
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if places is None:
                places, width = _header(row, name, rows.line_num), len(row)
                continue
            try:
                node = _node(row, places, width)
                if node.name in seen:
                    raise _Wrong(
                        f"node {shown(node.name)} stands in line {seen[node.name]} already"
                    )
                seen[node.name] = rows.line_num
                nodes.append(node)
            except _Wrong as error:
                more += len(wrong) >= TOLD
                if len(wrong) < TOLD:
                    wrong.append(f"{name}, line {rows.line_num}: {error}")
    except csv.Error as error:
        raise Problem(f"{name}, line {rows.line_num}: no CSV ({error}): save it anew") from None
    if more:
        wrong.append(f"{name}: {more} more lines are wrong")
    if wrong:
        raise Problem("\n".join(wrong))
    if not nodes:
        raise Problem(f"{name} names no node: it holds a header only")
    return nodes


def _delimiter(text: str) -> str:
    """The one of comma, semicolon and tab that is most in the first line that holds anything."""
    header = text.lstrip().splitlines()[0]
    return max(",;\t", key=header.count)


def _header(row: list[str], name: str, line: int) -> dict[str, int]:
    """Where each column stands. Raises Problem."""
    written = [cell.strip().lower() for cell in row]
    places: dict[str, int] = {}
    for column, names in COLUMNS.items():
        found = [number for number, cell in enumerate(written) if cell in names]
        if len(found) > 1:
            raise Problem(f"{name}, line {line}: column {written[found[0]]} stands there twice")
        if found:
            places[column] = found[0]
    missing = [COLUMNS[column][0] for column in NEEDED if column not in places]
    if missing:
        told = shown(", ".join(cell for cell in written if cell), 80)
        raise Problem(
            f"{name}, line {line}: no column {' and no '.join(missing)} among '{told}': the first"
            " line names the columns node, processes, switches/s"
        )
    return places


def _node(row: list[str], places: dict[str, int], width: int) -> Node:
    if len(row) != width:
        raise _Wrong(
            f"{len(row)} cells, but the header has {width}: write numbers without commas in them"
        )
    name = row[places["node"]].strip()
    if not name:
        raise _Wrong("the node has no name")
    values = {
        column: _number(row[place], COLUMNS[column][0], column in NEEDED)
        for column, place in places.items()
        if column != "node"
    }
    processes, threads = values["processes"], values.get("threads")
    assert processes is not None and values["switches"] is not None
    if threads is not None and threads < processes:
        raise _Wrong(
            f"{threads:g} threads are fewer than {processes:g} processes: threads are all of the"
            " machine's"
        )
    if values.get("interval") == 0:
        raise _Wrong("an interval of 0: give seconds between two scrapes")
    return Node(name, processes, values["switches"], threads, values.get("active"),
                values.get("interval"))  # fmt: skip


def shown(text: str, most: int = 40) -> str:
    """A cell as one line can hold it: cut, and without what does not print."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(character if character.isprintable() else "?" for character in cut)


def _number(text: str, column: str, needed: bool) -> float | None:
    text = text.strip()
    if not text and not needed:
        return None
    if _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    if _COMMA.fullmatch(text):
        cure = "write the number with a decimal point and no thousands separator"
    else:
        cure = "give a number from 0 on"
    raise _Wrong(f"{column} is '{shown(text)}': {cure}" if text else f"{column} is empty: {cure}")
