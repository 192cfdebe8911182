"""Costs from raw rows, written anew in plain Python: what the tables must agree with.

Nothing of the package's analysis is used, so that an error there is seen here.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from statistics import mean, median
from typing import Any

Row = dict[str, str]
Blocks = dict[int, float]


class Raw:
    """The rows of one run; every method gives one value a block."""

    def __init__(self, folder: Path) -> None:
        self.plan: dict[str, Any] = json.loads((folder / "manifest.json").read_text())["plan"]
        with open(folder / "trials.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        ok = [row for row in rows if row["status"] == "ok" and int(row["block"]) > 0]
        gone = disturbed(ok, self.plan.get("exclusion") or {})
        self.rows = [row for row in ok if row["block"] not in gone]

    def costs(self, arm: str, level: Any, statistics: str) -> list[Row]:
        wanted = "" if level in (None, "") else str(int(level))
        keys = {"kind": "cost", "arm": arm, "statistics": statistics, "replica": "1"}
        keys |= {"processes_target": wanted}
        return [row for row in self.rows if all(row[k] == v for k, v in keys.items())]

    def reader(self, arm: str, level: Any, statistics: str) -> Blocks:
        """Percent of a core in the collector's cgroup."""
        rows = self.costs(arm, level, statistics)
        return {
            int(row["block"]): 100 * int(row["agent_ns"]) / int(row["window_ns"]) for row in rows
        }

    def per_switch(self, arm: str) -> Blocks:
        """Added ns a paced switch: attached less unattached; before schema 3 less the null agent's
        round."""
        seen: dict[tuple[int, str], int] = defaultdict(int)
        rounds: dict[str, int] = {}
        for trial in sorted(self.plan["trials"], key=lambda trial: trial["trial"]):
            if self._switches(trial):
                key = (trial["block"], trial["arm"])
                seen[key] += 1
                rounds[str(trial["trial"])] = seen[key]
        times: dict[tuple[str, int, int], float] = {}
        by_block: dict[int, list[float]] = defaultdict(list)
        for row in self.rows:
            if row["trial"] not in rounds:
                continue
            at = (row["arm"], int(row["block"]), rounds[row["trial"]])
            times[at] = int(row["work_ns"]) / int(row["events"])
            if alone := row.get("unattached_ns"):
                times.pop(at)
                if row["arm"] == arm:
                    apart = (int(row["work_ns"]) - int(alone)) / int(row["events"])
                    by_block[int(row["block"])].append(apart)
        for (name, block, number), value in times.items():
            null = times.get(("null_agent", block, number))
            if name == arm and null is not None:
                by_block[block].append(value - null)
        return {block: mean(values) for block, values in by_block.items()}

    @staticmethod
    def _switches(trial: dict[str, Any]) -> bool:
        """True for a paced calibration by switches with statistics off."""
        if trial["kind"] != "external" or trial["pace"] != "paced":
            return False
        return (trial.get("workload") or "switch", trial["statistics"]) == ("switch", "off")

    def others(self, arm: str, level: Any) -> Blocks:
        """Percent of a core that the arm's program uses in other tasks: switches times cost."""
        if self.plan["arms"][arm]["context"] not in ("others", "both"):
            return {int(row["block"]): 0.0 for row in self.costs(arm, level, "off")}
        per_switch = self.per_switch(arm)
        made = {}
        for row in self.costs(arm, level, "off"):
            block = int(row["block"])
            if block in per_switch:
                rate = int(row["switches"]) / int(row["window_ns"])
                made[block] = 100 * rate * per_switch[block]
        return made

    def headline(self, arm: str, level: Any) -> Blocks:
        reader, others = self.reader(arm, level, "off"), self.others(arm, level)
        return {block: reader[block] + others[block] for block in reader if block in others}

    def published(self, arm: str, level: Any) -> Blocks:
        rows = self.costs(arm, level, "on")
        made = self.reader(arm, level, "on")
        if self.plan["arms"][arm]["context"] in ("others", "both"):
            for row in rows:
                made[int(row["block"])] += 100 * int(row["bpf_run_ns"]) / int(row["window_ns"])
        return made

    def cost(self, arm: str, level: Any, measure: str) -> Blocks:
        return getattr(self, measure)(arm, level)

    def pair(self, contrast: Row) -> tuple[float, float]:
        """Mean costs of a contrast's arms over the blocks that hold both."""
        sides = [
            self.cost(contrast[side], contrast["processes"], contrast["measure"])
            for side in ("numerator", "denominator")
        ]
        both = sorted(set(sides[0]) & set(sides[1]))
        return mean(sides[0][b] for b in both), mean(sides[1][b] for b in both)

    def slope(self, arm: str) -> float:
        """Percent of a core per process: a line a block, weighted by 1 / mean² of its level."""
        levels = {t["processes"] for t in self.plan["trials"] if t["kind"] == "cost"}
        points: dict[int, list[tuple[float, float, float]]] = defaultdict(list)
        for level in levels:
            costs = self.headline(arm, level)
            counted = {
                int(row["block"]): int(row["processes"]) for row in self.costs(arm, level, "off")
            }
            for block, cost in costs.items():
                weight = 1 / mean(costs.values()) ** 2
                points[block].append((counted[block], cost, weight))
        return mean(weighted_slope(block) for block in points.values())


def disturbed(rows: list[Row], limits: dict[str, Any]) -> set[str]:
    """Blocks with a cost window above a limit of the plan: steal, or load beyond the usual."""
    windows = [row for row in rows if row["kind"] == "cost"]
    foreign = {}
    for row in windows:
        parts = ("agent_ns", "harness_ns", "bpf_run_ns", "load_ns")
        known = sum(int(row.get(key) or 0) for key in parts)
        foreign[row["trial"]] = 100 * (int(row["busy_ns"]) - known) / int(row["window_ns"])
    usual: dict[str, list[float]] = defaultdict(list)
    for row in windows:
        usual[level(row)].append(foreign[row["trial"]])
    gone = set()
    for row in windows:
        loads = {
            "steal_percent_core": 100 * int(row["steal_ns"]) / int(row["window_ns"]),
            "foreign_percent_core": foreign[row["trial"]] - median(usual[level(row)]),
        }
        if any(limits.get(key) is not None and load > limits[key] for key, load in loads.items()):
            gone.add(row["block"])
    return gone


def level(row: Row) -> str:
    return row.get("point") or row["processes_target"]


def weighted_slope(points: list[tuple[float, float, float]]) -> float:
    """Weighted least squares in closed form."""
    whole = sum(w for _, _, w in points)
    x0 = sum(w * x for x, _, w in points) / whole
    y0 = sum(w * y for _, y, w in points) / whole
    across = sum(w * (x - x0) * (y - y0) for x, y, w in points)
    return across / sum(w * (x - x0) ** 2 for x, _, w in points)
