"""From rows to cells: one cost and one set of conditions per arm, design point and block.

    live    ns of CPU per second: the headline (`measures`), reader and switches times what each
            costs at that rate
    exact   whole-guest instructions per second, less those of the empty window of the same point
            and block, in which the same load runs

Conditions are as measured, not as asked for:

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

from analysis import exact, levels
from analysis.external import NULL_AGENT
from analysis.load import Run
from analysis.measures import Measures
from analysis.rows import valid

CONDITIONS = ("processes", "threads", "active", "interval_s", "switches_per_s")
NS_OF_PERCENT = 1e7  # one percent of a core, in ns per second
COLUMNS = ["point", "arm", "block", "processes", "threads", "switching_tasks", "interval_ms"]
COLUMNS += ["window_ns", "switches", "load_switches", "load_ns"]


def has_points(run: Run) -> bool:
    """True for a run whose plan is made of design points."""
    return bool(run.plan.get("points"))


def planned(run: Run) -> dict[int, Mapping[str, Any]]:
    """The plan's design points by number."""
    return {int(point["point"]): point for point in run.plan.get("points") or []}


def conditions(run: Run) -> pd.DataFrame:
    """A row a valid cost window: arm, point, block, CONDITIONS, load_per_s, load_ns_per_switch.

    load_per_s: switches of the load's own tasks a second; load_ns_per_switch: its CPU time for
    each, NaN without a load. Statistics off, first replica.
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
            "load_per_s": np.nan_to_num(loaded) / seconds,
            "load_ns_per_switch": number("load_ns") / np.where(loaded > 0, loaded, np.nan),
        }
    )


def cells(measures: Measures) -> pd.DataFrame:
    """`conditions` with `cost` (ns or instructions per second) and `added_by_load`.

    added_by_load: the second account, ns that each switch of the load took longer than under the
    null agent at the same point in the same block; NaN without a load. Windows without a cost are
    left out.
    """
    found = conditions(measures.run)
    costs = _counted(measures.run) if exact.counted(measures.run) else _timed(measures)
    both = found.merge(costs, on=["arm", "point", "block"])
    asleep = found[found["arm"] == NULL_AGENT][["point", "block", "load_ns_per_switch"]]
    both = both.merge(asleep, on=["point", "block"], how="left", suffixes=("", "_asleep"))
    both["added_by_load"] = both["load_ns_per_switch"] - both["load_ns_per_switch_asleep"]
    return both.drop(columns=["load_ns_per_switch_asleep"]).dropna(subset=["cost"])


def _timed(measures: Measures) -> pd.DataFrame:
    made = [
        {"arm": arm, "point": levels.point_of(level), "block": int(str(block)), "cost": cost}
        for level in measures.levels
        for arm in measures.arms
        for block, cost in (measures.get("headline", arm, level) * NS_OF_PERCENT).items()
    ]
    return pd.DataFrame(made, columns=["arm", "point", "block", "cost"])


def _counted(run: Run) -> pd.DataFrame:
    each = exact.per_scrape(run)
    each = each[(each["replica"] == 1) & (each["statistics"] == "off")]
    point = -each["level"] + levels.LEFT_ALONE  # see `levels.of_point`
    made = each.assign(point=point, cost=each["per_s"])
    return made[["arm", "point", "block", "cost"]]


def by_point(found: pd.DataFrame) -> pd.DataFrame:
    """Mean conditions of each design point over its windows, whichever arm; index point."""
    return found.groupby("point")[[*CONDITIONS, "load_per_s"]].mean()
