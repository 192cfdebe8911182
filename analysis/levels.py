"""What a cell of a run stands at: a number of processes, or a design point of a crossover plan.

A level is one whole number, so that cells, contrasts and the A/A pair of either kind of plan are
found in the same way: a number of processes as it is; LEFT_ALONE where the plan leaves them alone;
a design point below that, since two points can have one number of processes and are not to be
mixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

LEFT_ALONE = -1  # level of trials that leave the number of processes alone


def of_point(point: int) -> int:
    """The level of a design point (1, 2, ...)."""
    return LEFT_ALONE - point


def point_of(level: int) -> int | None:
    """The design point of a level; None if it is a number of processes."""
    return LEFT_ALONE - level if level < LEFT_ALONE else None


def of_entry(entry: Mapping[str, Any]) -> int:
    """The level that a planned trial, a contrast or the A/A pair names."""
    if entry.get("point") is not None:
        return of_point(int(entry["point"]))
    processes = entry.get("processes")
    return LEFT_ALONE if processes is None else int(processes)


def of_rows(rows: pd.DataFrame) -> npt.NDArray[np.int64]:
    """The level of each row of trials.csv."""
    level = _whole(rows["processes_target"])
    if "point" in rows and rows["point"].notna().any():
        point = _whole(rows["point"])
        level = np.where(point > 0, LEFT_ALONE - point, level)
    return level


def _whole(column: pd.Series[Any]) -> npt.NDArray[np.int64]:
    return column.to_numpy(dtype=np.int64, na_value=LEFT_ALONE)


def processes_of(level: int) -> int | None:
    """The number of processes that a level is; None where it is none."""
    return level if level >= 0 else None


def at(level: int) -> dict[str, int | None]:
    """Columns of a table: processes, and the point where there is one."""
    point = point_of(level)
    return {"processes": processes_of(level), **({} if point is None else {"point": point})}


def text(level: int) -> str:
    """Level for labels: "600 processes", "processes as found" or "point 12"."""
    point = point_of(level)
    if point is not None:
        return f"point {point}"
    return "processes as found" if level == LEFT_ALONE else f"{level:,} processes"
