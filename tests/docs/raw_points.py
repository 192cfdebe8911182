"""Costs and the cost model of a crossover run from raw rows, written anew.

Nothing of the package's analysis is used, so that an error there is seen here.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import mean
from typing import Any

import numpy as np
from raw_rows import Raw
from scipy.optimize import lsq_linear

Conditions = tuple[float, float, float, float, float]  # 1/s, processes, threads, tasks, switches/s
TERMS = ("fixed", "per_process", "per_thread", "per_active", "per_cold_scrape", "per_switch",
         "per_cold_switch")  # fmt: skip
VARIED = ("", "processes", "threads_per_process", "switching_tasks", "switches_per_s")


class Points:
    """The rows of one live run of design points. half: switches a second at which one in two finds
    the machine cold, as the model's table has it."""

    def __init__(self, raw: Raw, half: float) -> None:
        self.raw, self.half = raw, half
        self.planned = {point["point"]: point for point in raw.plan["points"]}

    def _rows(self, arm: str) -> list[dict[str, str]]:
        keys = {"kind": "cost", "arm": arm, "statistics": "off", "replica": "1"}
        return [row for row in self.raw.rows if all(row[k] == v for k, v in keys.items())]

    def hooked(self, arm: str) -> bool:
        return self.raw.plan["arms"][arm]["context"] in ("others", "both")

    def calibrated(self, arm: str) -> dict[int, Any]:
        """Per block the ns that a switch adds when warm, and the more of it when cold."""
        seen: dict[tuple[int, str], list[tuple[float, float, int]]] = defaultdict(list)
        for row in self.raw.rows:
            same = (row["kind"], row["arm"], row["statistics"]) == ("external", arm, "off")
            good = row["status"] == "ok" and int(row["block"]) > 0
            if same and good and (row["workload"] or "switch") == "switch":
                events = int(row["events"])
                added = (int(row["work_ns"]) - int(row["unattached_ns"])) / events
                rate = 1e9 * events / int(row["window_ns"])
                seen[int(row["block"]), row["pause_us"]].append((rate, added, events))
        blocks: dict[int, list[tuple[float, float, float]]] = defaultdict(list)
        for (block, _), values in seen.items():
            rates, added, events = zip(*values, strict=True)
            blocks[block].append((mean(rates), mean(added), float(sum(events))))
        alone = {block: self._curve(np.array(values)) for block, values in blocks.items()}
        pauses: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
        for (_, pause), values in seen.items():
            rates, added, events = zip(*values, strict=True)
            pauses[pause].append((mean(rates), mean(added), float(sum(events))))
        pooled = []
        for each in pauses.values():
            x = np.array(each)
            pooled.append((*(np.average(x[:, n], weights=x[:, 2]) for n in (0, 1)), x[:, 2].sum()))
        bound = self._curve(np.array(pooled), low=0.0)
        moved = bound - np.mean(list(alone.values()), axis=0)
        return {block: both + moved for block, both in alone.items()}

    def _curve(self, values: Any, low: float = -np.inf) -> Any:
        rates, added, events = values.T
        w = np.sqrt(events)
        x = np.column_stack([w, w * self.half / (self.half + rates)])
        return lsq_linear(x, w * added, (low, np.inf), tol=1e-14).x

    def cold(self, rate: float) -> float:
        """Share that finds the machine cold."""
        return self.half / (self.half + rate)

    def costs(self, arm: str) -> dict[tuple[int, int], tuple[float, Conditions]]:
        """Per (point, block) ns of CPU a second, and the conditions."""
        return self._costs(arm, self.calibrated(arm) if self.hooked(arm) else None)

    def _costs(
        self, arm: str, curves: dict[int, Any] | None
    ) -> dict[tuple[int, int], tuple[float, Conditions]]:
        made = {}
        for row in self._rows(arm):
            block, seconds = int(row["block"]), int(row["window_ns"]) / 1e9
            rate = int(row["switches"]) / seconds
            cost = int(row["agent_ns"]) / seconds
            if curves is not None:
                if block not in curves:
                    continue
                cost += rate * float(curves[block] @ [1.0, self.cold(rate)])
            threads = max(0, int(row["threads"]) - int(row["processes"]))
            where = (1e3 / int(row["interval_ms"]), float(row["processes"]), float(threads),
                     float(row["switching_tasks"]), rate)  # fmt: skip
            made[int(row["point"]), block] = cost, where
        return made

    def ratio(self, numerator: str, denominator: str, point: int) -> float:
        sides = [self.costs(arm) for arm in (numerator, denominator)]
        blocks = sorted(b for p, b in set(sides[0]) & set(sides[1]) if p == point)
        x, y = (mean(side[point, block][0] for block in blocks) for side in sides)
        return x / y

    def model(self, arm: str) -> dict[int, Any]:
        """Coefficients per block, in the order of TERMS, ns."""
        fitted = {n for n, point in self.planned.items() if not point["held_out"]}
        varied = [
            n for n, key in enumerate(VARIED)
            if not key or len({self.planned[point][key] for point in fitted}) > 1
        ]  # fmt: skip
        switch = self.calibrated(arm) if self.hooked(arm) else {}
        cells = {key: v for key, v in self._costs(arm, None).items() if key[0] in fitted}
        by_point = defaultdict(list)
        for (point, _), (cost, where) in cells.items():
            by_point[point].append((cost, self._regressors(where)))
        middle = {
            point: (mean(c for c, _ in each), np.mean([x for _, x in each], axis=0))
            for point, each in by_point.items()
        }
        weight = {point: 1 / cost for point, (cost, _) in middle.items()}
        x = np.array([weight[p] * regressors for p, (_, regressors) in middle.items()])
        size = np.linalg.norm(x[:, varied], axis=0)
        size[size == 0] = 1
        found = lsq_linear(x[:, varied] / size, np.ones(len(x)), (0, np.inf), tol=1e-14).x
        kept = [n for n, value in zip(varied, found, strict=True) if value > 1e-9]
        made = {}
        for block in sorted({b for _, b in cells}):
            rows = [(weight[p], *cells[p, b]) for p, b in cells if b == block]
            left = np.array([w * self._regressors(where)[kept] for w, _, where in rows])
            scale = np.linalg.norm(left, axis=0)
            right = np.array([w * cost for w, cost, _ in rows])
            coefficients = np.zeros(len(TERMS))
            coefficients[kept] = np.linalg.lstsq(left / scale, right, rcond=None)[0] / scale
            if switch and block not in switch:
                continue
            coefficients[5:] = switch.get(block, 0.0)
            made[block] = coefficients
        return made

    def _regressors(self, where: Conditions) -> Any:
        """Of a reader: its switches are paid for by others."""
        scrapes, processes, threads, tasks, rate = where
        return scrapes * np.array([1.0, processes, threads, tasks, self.cold(rate)])

    def usual(self) -> tuple[float, float, float]:
        """Further threads, switching tasks of the load, and switches a second without a load."""
        where = defaultdict(list)
        for arm in self.raw.plan["arms"]:
            for (point, _), (_, at) in self.costs(arm).items():
                where[point].append(at)
        means = {point: np.mean(each, axis=0) for point, each in where.items()}
        single = [m[2] for p, m in means.items() if self.planned[p]["threads_per_process"] == 1]
        idle = [m[4] for p, m in means.items() if self.planned[p]["switches_per_s"] == 0]
        tasks = [self.planned[p]["switching_tasks"] for p in means
                 if self.planned[p]["switches_per_s"] > 0]  # fmt: skip
        most = min(set(tasks), key=lambda n: (-tasks.count(n), n))
        return float(np.median(single)), float(most), float(np.median(idle))
