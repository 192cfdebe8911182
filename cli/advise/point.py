"""A machine and an interval, and whether that was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cli.advise.coefficients import ROUNDING, TOGETHER, Model

#: As a factor: each was measured, but not together.
COMBINATION = "combination"


@dataclass(frozen=True)
class Point:
    """A machine and an interval. threads: beyond the first of each process; active: the tasks that
    run in an interval, lowest and highest possible."""

    processes: float
    threads: float
    switches_per_s: float
    interval_s: float
    active: tuple[float, float]

    def features(self, active: float, half: float) -> tuple[float, ...]:
        """In the order of the coefficients, per second. half: the model's."""
        scrapes, rate = 1 / self.interval_s, self.switches_per_s
        cold = half / (half + rate) if half else 0.0
        return (
            scrapes,
            self.processes * scrapes,
            self.threads * scrapes,
            active * scrapes,
            cold * scrapes,
            rate,
            cold * rate,
        )

    def ends(self, half: float) -> list[tuple[float, ...]]:
        """Features at either end of what is known of the active tasks."""
        return [self.features(active, half) for active in self.active]


@dataclass(frozen=True)
class Outside:
    """A factor whose value was not measured, and what was.

    COMBINATION: each value was, but not together; value: how many times as far as what counts as
    measured goes from the hull of the measured points, low and high: from it to there.
    """

    factor: str
    value: float
    low: float
    high: float


def possible_active(
    model: Model, processes: float, threads: float, switches: float, interval_s: float
) -> tuple[float, float]:
    """Least and most active tasks where nothing is known of them: as far as was measured.

    Each task runs at most as itself, and each that runs takes a context switch.
    """
    low, high = model.region["active_tasks"]
    most = min(processes + threads, switches * interval_s, high)
    return low, max(low, most)


def outside(model: Model, point: Point) -> tuple[Outside, ...]:
    """The factors in which a point lies outside what was measured."""
    values = {
        "processes": point.processes,
        "threads": point.threads,
        "switches_per_s": point.switches_per_s,
        "active_tasks": point.active[1],
        "interval_s": point.interval_s,
    }
    found = []
    for factor, value in values.items():
        low, high = model.region[factor]
        if not low * (1 - ROUNDING) <= value <= high * (1 + ROUNDING):
            found.append(Outside(factor, value, low, high))
    if not found:
        far = apart(model, [values[name] for name in TOGETHER])
        if far > model.reach * (1 + ROUNDING):
            found.append(Outside(COMBINATION, far, 1.0, model.reach))
    return tuple(found)


def apart(model: Model, values: Sequence[float]) -> float:
    """By which factor, in each of TOGETHER, a place lies outside of the measured points' hull; at
    most 1 inside of it."""
    logs = [math.log(max(value, 1e-9)) for value in values]
    far = 0.0
    for *normal, offset in model.planes:
        room = sum(abs(part) for part in normal)
        far = max(far, (sum(a * b for a, b in zip(normal, logs)) + offset) / room)
    return math.exp(far)
