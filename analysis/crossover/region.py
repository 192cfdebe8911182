"""What was measured: from where to where each condition, and which of them together.

A box of the least and greatest values holds corners that nobody measured, such as the most
processes at the greatest rate.  So beside it stands the convex hull of the measured points in the
logarithms of processes, switches a second and interval, the three that a map has.  A place inside
of the box counts as measured in the hull, and within a factor of REACH of it in each of the three:
the model is a sum of parts that were varied independently, and few points have a narrow hull.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial import ConvexHull, QhullError

from analysis.crossover.model import Where
from analysis.statistics.types import Array

CONDITION_OF = {  # name in a region and in the model's file -> column of the cells
    "processes": "processes",
    "threads": "threads",
    "switches_per_s": "switches_per_s",
    "active_tasks": "active",
    "interval_s": "interval_s",
}
TOGETHER = ("processes", "switches_per_s", "interval_s")  # the conditions of a hull
#: Name of what lies in the box but not near the hull.
COMBINATION = "combination"
REACH = 2.0
SLACK = 1 + 1e-6  # of a value that was rounded, against the ends
DIGITS = 9


@dataclass(frozen=True)
class Region:
    """ends: least and greatest of each condition. planes: of the hull, a row each, of outward
    normals in the order of TOGETHER and an offset: inside, normal . logarithms + offset <= 0."""

    ends: Mapping[str, tuple[float, float]]
    planes: tuple[tuple[float, ...], ...] = ()

    def __getitem__(self, name: str) -> tuple[float, float]:
        return self.ends[name]

    def items(self) -> ItemsView[str, tuple[float, float]]:
        """Names and ends."""
        return self.ends.items()

    def near(self, where: Where) -> bool:
        """True within REACH of the hull."""
        logs = np.log([max(getattr(where, CONDITION_OF[name]), 1e-9) for name in TOGETHER])
        return all(
            float(np.dot(normal, logs)) + offset <= _room(normal) for *normal, offset in self.planes
        )


def _room(normal: Iterable[float]) -> float:
    """How far a place at REACH in each condition can stand before a plane."""
    return float(np.log(REACH * SLACK) * sum(abs(part) for part in normal)) + 1e-9


def of_points(points: pd.DataFrame) -> Region:
    """The region of measured points (columns as the cells')."""
    ends: dict[str, tuple[float, float]] = {}
    for name, column in CONDITION_OF.items():
        values = points[column]
        ends[name] = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    logs = np.log(points[[CONDITION_OF[n] for n in TOGETHER]].clip(lower=1e-9).to_numpy(float))
    return Region(ends, _hull(logs))


def _hull(logs: Array) -> tuple[tuple[float, ...], ...]:
    """Planes of the hull; of conditions that do not vary none, nor of points on one line."""
    if len(logs) == 0:
        return ()
    varied = np.flatnonzero(np.ptp(logs, axis=0) > 1e-6)
    if len(varied) < 2:
        return ()
    try:
        found = ConvexHull(logs[:, varied]).equations
    except QhullError:  # flat
        return ()
    planes: Array = np.zeros((len(found), len(TOGETHER) + 1))
    planes[:, varied], planes[:, -1] = found[:, :-1], found[:, -1]
    return tuple(sorted({tuple(float(f"{v:.{DIGITS}g}") + 0.0 for v in row) for row in planes}))


def outside(region: Region, where: Where) -> list[str]:
    """Conditions that lie beyond what was measured, by name; COMBINATION where each lies inside
    but no such combination was measured; empty inside."""
    values: dict[str, Any] = {name: getattr(where, key) for name, key in CONDITION_OF.items()}
    beyond = [
        name
        for name, value in values.items()
        if not region[name][0] / SLACK <= value <= region[name][1] * SLACK
    ]
    return beyond or ([] if region.near(where) else [COMBINATION])
