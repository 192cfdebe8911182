"""Design points of the study ``crossover``: the conditions that its model of cost is fitted to.

A point is a state of the machine and a pace of scraping. In a plan it is one object of
``plan["points"]``, by the keys of :meth:`Point.planned`; trials of kind ``cost`` and ``empty``
carry the point's number and its factors. Contrasts and the A/A pair name a point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiment.reader import PresetError, Reader

MAX_POINTS = 60
#: Room for what runs anyway beside a load's tasks.
MOST_BESIDE = 90


@dataclass(frozen=True)
class Point:
    """One design point; times in ms.

    ``processes`` are those of the whole machine, each of the idle ones with so many threads. The
    load makes ``switches_per_s`` context switches a second between ``switching_tasks`` tasks (both
    0: no load). The model is not fitted to a point that is ``held_out``: it is tested there.
    """

    number: int
    processes: int
    threads_per_process: int
    switches_per_s: int
    switching_tasks: int
    interval_ms: int
    window_ms: int
    held_out: bool
    arms: tuple[str, ...]

    def factors(self) -> dict[str, Any]:
        """What a trial carries of its point."""
        return {
            "point": self.number,
            "processes": self.processes,
            "threads_per_process": self.threads_per_process,
            "switches_per_s": self.switches_per_s,
            "switching_tasks": self.switching_tasks,
            "interval_ms": self.interval_ms,
            "window_s": self.window_ms / 1000,
        }

    def planned(self) -> dict[str, Any]:
        """The entry of ``plan["points"]``."""
        return {**self.factors(), "held_out": self.held_out, "arms": list(self.arms)}


def read(reader: Reader) -> tuple[Point, ...]:
    """The points of a preset; none where it lists cells.

    ``arms`` are those of every point that names none of its own; ``windows`` gives the window in
    seconds by the interval in ms.

    Raises:
        PresetError: a bad key, or a point that cannot be what it says.
    """
    if not reader.has("points"):
        return ()
    arms = tuple(reader.take("arms", list))
    windows = reader.take("windows", dict)
    found = tuple(
        _point(part, number, arms, windows)
        for number, part in enumerate(reader.sections("points"), 1)
    )
    if not 1 <= len(found) <= MAX_POINTS:
        raise PresetError(f"points: name 1 to {MAX_POINTS}, not {len(found)}")
    return found


def _point(
    reader: Reader, number: int, arms: tuple[str, ...], windows: Mapping[int, float]
) -> Point:
    interval_ms = reader.take("interval_ms", int)
    if interval_ms not in windows:
        raise reader.fail("interval_ms", interval_ms, f"one of windows: {list(windows)}")
    point = Point(
        number,
        processes=reader.take("processes", int),
        threads_per_process=reader.take_or("threads", 1, int),
        switches_per_s=reader.take_or("switches_per_s", 0, int),
        switching_tasks=reader.take_or("tasks", 0, int),
        interval_ms=interval_ms,
        window_ms=round(1000 * windows[interval_ms]),
        held_out=reader.take_or("held_out", False, bool),
        arms=reader.texts_or_none("arms") or arms,
    )
    reader.end()
    tasks, rate = point.switching_tasks, point.switches_per_s
    if point.threads_per_process < 1:
        raise reader.fail("threads", point.threads_per_process, "at least 1")
    if tasks % 2 or (tasks == 0) != (rate == 0):
        raise reader.fail("tasks", tasks, "even, and 0 exactly where switches_per_s is")
    if rate * interval_ms < 1000 * tasks:
        raise reader.fail("switches_per_s", rate, "enough for each task to run in each interval")
    if point.window_ms % interval_ms:
        raise reader.fail("interval_ms", interval_ms, "a whole part of its window")
    if point.processes < tasks + MOST_BESIDE:
        raise reader.fail("processes", point.processes, f"at least {MOST_BESIDE} more than tasks")
    return point


def needed(point: Point) -> int:
    """Processes that its load adds to those that are there already."""
    return point.switching_tasks + 1 if point.switching_tasks else 0


def check_references(points: Sequence[Point], arm: str, number: int, what: str) -> Point:
    """The point that something names. Raises PresetError if the arm is not measured there."""
    if not 1 <= number <= len(points):
        raise PresetError(f"{what}: point {number} is not one of 1 to {len(points)}")
    point = points[number - 1]
    if arm not in point.arms:
        raise PresetError(f"{what}: {arm} is not measured at point {number}")
    return point
