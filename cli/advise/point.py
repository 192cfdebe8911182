"""A machine and an interval, and whether that was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cli.advise.coefficients import NEAR, TOGETHER, Model

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

    COMBINATION: each value was, but not together: it is further from the hull of the measured
    points than a factor of value in one of them.
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
        if not low / (1 + NEAR) <= value <= high * (1 + NEAR):
            found.append(Outside(factor, value, low, high))
    if not found and not together(model, [values[name] for name in TOGETHER]):
        found.append(Outside(COMBINATION, model.reach, 1.0, model.reach))
    return tuple(found)


def together(model: Model, values: Sequence[float]) -> bool:
    """Whether a place (in the order of TOGETHER) lies in the hull of what was measured."""
    logs = [math.log(max(value, 1e-9)) for value in values]
    return all(
        sum(a * b for a, b in zip(plane, logs)) + plane[-1] <= 1e-6 for plane in model.planes
    )
