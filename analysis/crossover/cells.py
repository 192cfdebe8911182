"""From rows to cells: one cost and one set of conditions per arm, design point and block.

live    ns of CPU per second: the headline (`measures`), reader and switches times what each
        costs at that rate
exact   whole-guest instructions per second, less those of the empty window of the same point
        and block, in which the same load runs
"""

from __future__ import annotations

import pandas as pd

from analysis import exact, levels
from analysis.crossover.conditions import CONDITIONS, conditions
from analysis.external import NULL_AGENT
from analysis.load import Run
from analysis.measures import Measures

NS_OF_PERCENT = 1e7  # one percent of a core, in ns per second


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
