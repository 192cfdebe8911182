"""What a cell of a run stands at: a number of processes, of stress threads, or a design point.

A level is one whole number, so that cells, contrasts and the A/A pair of either kind of plan are
found in the same way: a number of processes as it is; LEFT_ALONE where the plan leaves them alone;
a design point below that, since two points can have one number of processes and are not to be
mixed; and a number of threads that press the scheduler below STRESS, with the processes left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

LEFT_ALONE = -1  # level of trials that leave the number of processes alone
STRESS = -(10**9)  # level of no stress thread where the plan has such a load


def of_point(point: int) -> int:
    """The level of a design point (1, 2, ...)."""
    return LEFT_ALONE - point


def point_of(level: int) -> int | None:
    """The design point of a level; None if it is a number of processes."""
    return LEFT_ALONE - level if STRESS < level < LEFT_ALONE else None


def of_stress(threads: int) -> int:
    """The level of so many stress threads (0, 50, ...)."""
    return STRESS - threads


def stress_of(level: int) -> int | None:
    """The stress threads of a level; None if it is none of them."""
    return STRESS - level if level <= STRESS else None


def of_entry(entry: Mapping[str, Any]) -> int:
    """The level that a planned trial, a contrast, the A/A pair or a row of a table names."""
    if entry.get("point") is not None:
        return of_point(int(entry["point"]))
    if entry.get("stress_threads") is not None:
        return of_stress(int(entry["stress_threads"]))
    processes = entry.get("processes")
    return LEFT_ALONE if processes is None else int(processes)


def of_rows(rows: pd.DataFrame) -> npt.NDArray[np.int64]:
    """The level of each row of trials.csv."""
    level = _whole(rows["processes_target"])
    if "point" in rows and rows["point"].notna().any():
        point = _whole(rows["point"])
        level = np.where(point > 0, LEFT_ALONE - point, level)
    if "stress_threads" in rows and rows["stress_threads"].notna().any():
        threads = _whole(rows["stress_threads"])
        level = np.where(threads >= 0, STRESS - threads, level)
    return level


def _whole(column: pd.Series[Any]) -> npt.NDArray[np.int64]:
    return column.to_numpy(dtype=np.int64, na_value=LEFT_ALONE)


def processes_of(level: int) -> int | None:
    """The number of processes that a level is; None where it is none."""
    return level if level >= 0 else None


def at(level: int) -> dict[str, int | None]:
    """Columns of a table: processes, and the point or the stress threads where there are any."""
    others = {"point": point_of(level), "stress_threads": stress_of(level)}
    some = {name: value for name, value in others.items() if value is not None}
    return {"processes": processes_of(level), **some}


def text(level: int) -> str:
    """Level for labels: "600 processes", "processes as found", "200 threads" or "point 12"."""
    point, threads = point_of(level), stress_of(level)
    if threads is not None:
        return f"{threads:,} threads" if threads else "free system"
    if point is not None:
        return f"point {point}"
    return "processes as found" if level == LEFT_ALONE else f"{level:,} processes"
