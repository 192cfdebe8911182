"""Under which conditions each window of a crossover run was measured; not as asked for.

processes       of the machine
threads         of the machine beyond the first of each process
active          tasks that the load switches between; the machine's own are part of the rest
interval_s      between two scrapes
switches_per_s  of the whole machine
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.load import Run
from analysis.rows import valid

CONDITIONS = ("processes", "threads", "active", "interval_s", "switches_per_s")
COLUMNS = ["point", "arm", "block", "processes", "threads", "switching_tasks", "interval_ms"]
COLUMNS += ["window_ns", "switches", "load_switches", "load_ns", "agent_ns"]


def has_points(run: Run) -> bool:
    """True for a run whose plan is made of design points."""
    return bool(run.plan.get("points"))


def planned(run: Run) -> dict[int, Mapping[str, Any]]:
    """The plan's design points by number."""
    return {int(point["point"]): point for point in run.plan.get("points") or []}


def conditions(run: Run) -> pd.DataFrame:
    """A row a valid cost window.

    Columns arm, point, block, CONDITIONS, reader, load_per_s, load_ns_per_switch. reader: CPU
    time of the collector's own cgroup, ns a second, NaN where none was read; load_per_s: switches
    of the load's own tasks a second; load_ns_per_switch: its CPU time for each, NaN without one.
    Statistics off, first replica.
    """
    t = run.trials
    off = (t["statistics"] == "off").to_numpy(dtype=bool, na_value=False)
    first = (t["replica"] == 1).to_numpy(dtype=bool, na_value=False)
    rows = t[COLUMNS][valid(t, "cost") & off & first].dropna(subset=["point", "window_ns"])

    def number(column: str) -> Any:
        return rows[column].to_numpy(dtype=np.float64, na_value=np.nan)

    seconds, loaded = number("window_ns") / 1e9, number("load_switches")
    return pd.DataFrame(
        {
            "arm": rows["arm"].astype(str).to_numpy(),
            "point": rows["point"].to_numpy(dtype=np.int64),
            "block": rows["block"].to_numpy(dtype=np.int64),
            "processes": number("processes"),
            "threads": np.maximum(number("threads") - number("processes"), 0.0),
            "active": np.nan_to_num(number("switching_tasks")),
            "interval_s": number("interval_ms") / 1e3,
            "switches_per_s": number("switches") / seconds,
            "reader": number("agent_ns") / seconds,
            "load_per_s": np.nan_to_num(loaded) / seconds,
            "load_ns_per_switch": number("load_ns") / np.where(loaded > 0, loaded, np.nan),
        }
    )
