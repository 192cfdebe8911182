"""Instructions of an exact run: per scrape, net of the empty window, by declared perturbation.

Counted by an emulator: not what a processor's own counter would show, and blind to caches, TLB and
branch prediction. Reads rows as they are in ``trials.csv``; needs nothing but the standard library.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Row = Mapping[str, str]
PLACES = ("user", "kernel", "bpf")


class Cell(NamedTuple):
    """An arm at a process count ("" where it is left alone), with BPF statistics on or off."""

    arm: str
    statistics: str
    processes: str

    def __str__(self) -> str:
        where = f" at {self.processes} processes" if self.processes else ""
        return f"{self.arm}{where}" + (", statistics on" if self.statistics == "on" else "")


class Spread(NamedTuple):
    """Lowest, middle and highest of the perturbations."""

    low: float
    middle: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    return Spread(min(values), statistics.median(values), max(values))


def counted(row: Row, places: Iterable[str] = PLACES) -> int:
    """Instructions in the row's window, of all the places together."""
    return sum(int(row[f"{place}_instructions"] or 0) for place in places)


def per_scrape(rows: Iterable[Row], places: Iterable[str] = PLACES) -> dict[Cell, dict[int, float]]:
    """Net instructions per scrape of each cell, by block.

    Net: less what the empty window of the same block and process count has in the same time.
    """
    kept = [row for row in rows if row["status"] == "ok" and row["user_instructions"]]
    empty: dict[tuple[str, str], float] = {}
    for row in kept:
        if row["kind"] == "empty":
            rate = counted(row, places) / int(row["window_ns"])
            empty[row["block"], row["processes_target"]] = rate
    found: dict[Cell, dict[int, float]] = {}
    for row in kept:
        rate_of_nothing = empty.get((row["block"], row["processes_target"]))
        if row["kind"] != "cost" or row["replica"] != "1" or not int(row["scrapes"] or 0):
            continue
        if rate_of_nothing is None:
            continue
        net = counted(row, places) - rate_of_nothing * int(row["window_ns"])
        cell = Cell(row["arm"], row["statistics"], row["processes_target"])
        found.setdefault(cell, {})[int(row["block"])] = net / int(row["scrapes"])
    return found


def ratios(
    cells: Mapping[Cell, Mapping[int, float]], contrasts: Iterable[Mapping[str, Any]]
) -> dict[str, list[float]]:
    """Each declared contrast's ratio, in each block that has both of its cells."""
    found: dict[str, list[float]] = {}
    for contrast in contrasts:
        level = "" if contrast["processes"] is None else str(contrast["processes"])
        above, below = (
            cells.get(Cell(contrast[side], contrast["statistics"], level), {})
            for side in ("numerator", "denominator")
        )
        both = [above[block] / below[block] for block in above if below.get(block)]
        if both:
            found[contrast["id"]] = both
    return found
