"""What was measured: from where to where each condition, and which of them together.

A box of the least and greatest values holds corners that nobody measured, such as the most
processes at the greatest rate.  So beside it stands the convex hull of the measured points in the
logarithms of processes, switches a second and interval, the three that a map has.  A place inside
of the box counts as measured in the hull, and within a factor of REACH of it in each of the three
(the hull of cubes around the points, not of the points): the model is a sum of parts that were
varied independently, and few points have a narrow hull.
"""

from __future__ import annotations

import itertools
from collections.abc import ItemsView, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial import ConvexHull

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
LEAST = 1e-9  # whose logarithm stands for that of nothing
SLACK = 1.02  # as near as processes and switches come to the number asked for, when measured
ROUNDING = 1e-6  # of logarithms, against the planes, which have REACH in them
DIGITS = 9


@dataclass(frozen=True)
class Region:
    """ends: least and greatest of each condition. planes: of the hull, REACH included, a row each,
    of outward normals in the order of TOGETHER and an offset: inside, normal . logarithms + offset
    <= 0."""

    ends: Mapping[str, tuple[float, float]]
    planes: tuple[tuple[float, ...], ...] = ()

    def __getitem__(self, name: str) -> tuple[float, float]:
        return self.ends[name]

    def items(self) -> ItemsView[str, tuple[float, float]]:
        """Names and ends."""
        return self.ends.items()

    def near(self, where: Where) -> bool:
        """True in the hull, or within REACH of it."""
        logs = np.log([max(getattr(where, CONDITION_OF[name]), LEAST) for name in TOGETHER])
        planes = np.array(self.planes).reshape(-1, len(TOGETHER) + 1)
        return bool((planes[:, :-1] @ logs + planes[:, -1] <= ROUNDING).all())


def of_points(points: pd.DataFrame) -> Region:
    """The region of measured points (columns as the cells')."""
    ends: dict[str, tuple[float, float]] = {}
    for name, column in CONDITION_OF.items():
        values = points[column]
        ends[name] = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    columns = points[[CONDITION_OF[name] for name in TOGETHER]].clip(lower=LEAST)
    return Region(ends, _hull(np.log(columns.to_numpy(dtype=np.float64))))


def _hull(logs: Array) -> tuple[tuple[float, ...], ...]:
    """Planes of the hull of cubes around the points; none without a point."""
    if len(logs) == 0:
        return ()
    signs = itertools.product((-1.0, 1.0), repeat=len(TOGETHER))
    corners = np.array(list(signs)) * np.log(REACH)
    found = ConvexHull((logs[:, None, :] + corners[None, :, :]).reshape(-1, len(TOGETHER)))
    rows = {tuple(float(f"{v:.{DIGITS}g}") + 0.0 for v in row) for row in found.equations}
    return tuple(sorted(rows))


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
