"""What a variant of the sensor costs per event of a load, and what it lost.

Trials of kind sensor: turns of a load without the sensor surround turns with it, its reader alive.
One value a block, per event of the load:

    inline  (work_ns - unattached_ns) / events   what the hooks add to the task that makes the event
    reader  agent_ns / events                    what the sensor's own process takes for it
    total   inline + reader
    volume  reported_events / events             as many without the sensor as with it

In ns; on the exact machine in instructions, by its clock, and over its perturbations a median and a
range take the place of a mean and its interval.

A trial that lost events saved what it would have cost to report them: its costs are kept apart
(`lossy`), and no ratio, difference or line is made of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from analysis.exact import BACKEND, NS_PER_INSTRUCTION, Digits, digits
from analysis.load import Run
from analysis.statistics.intervals import Interval, mean_interval

KIND = "sensor"
PARTS = ("inline", "reader", "total")
VALUES = (*PARTS, "volume", "rate")
RANGE = "median and range over perturbations"
COLUMNS = ["variant", "load", "block", "replica", "status", "reason", "events", "work_ns"]
COLUMNS += ["unattached_ns", "agent_ns", "reported_events", "lost", "window_ns", "attachments"]
Entry = dict[str, Any]


def has_trials(run: Run) -> bool:
    """True for a run with trials of a sensor under a load."""
    return bool((run.trials["kind"] == KIND).any())


def is_exact(run: Run) -> bool:
    """True if its clock counts instructions."""
    return run.plan.get("backend") == BACKEND


def unit(run: Run) -> str:
    """What costs are in."""
    return "instructions" if is_exact(run) else "ns"


def by_trial(run: Run) -> pd.DataFrame:
    """A row a trial after the warm-up, the A/A twin's (replica 2) and failed ones' too.

    Columns variant, load, block, replica, status, reason, attachments, VALUES (rate: events a
    second while attached), lost, loss_rate (lost / (lost + reported)), lossy.
    """
    rows = run.trials[(run.trials["kind"] == KIND) & (run.trials["block"] > 0)][COLUMNS]

    def number(column: str) -> pd.Series[float]:
        found = rows[column].to_numpy(dtype=np.float64, na_value=np.nan)
        return pd.Series(found, index=rows.index)

    events, scale = number("events"), 1 / NS_PER_INSTRUCTION if is_exact(run) else 1.0
    inline = scale * (number("work_ns") - number("unattached_ns")) / events
    reader = scale * number("agent_ns") / events
    lost, reported = number("lost").fillna(0), number("reported_events")
    names = ["variant", "load", "status", "reason", "attachments"]
    made = rows[names].astype(object).where(rows[names].notna(), "")
    return made.assign(
        block=rows["block"].astype(int),
        replica=rows["replica"].astype(int),
        inline=inline,
        reader=reader,
        total=inline + reader,
        volume=reported / events,
        rate=1e9 * events / number("window_ns"),
        lost=lost,
        loss_rate=lost / (lost + reported).where(lost + reported > 0),
        lossy=lost > 0,
    )


def clean(each: pd.DataFrame) -> pd.DataFrame:
    """The trials that costs are stated from: valid, nothing lost, not the A/A twin."""
    return each[(each["status"] == "ok") & ~each["lossy"] & (each["replica"] == 1)]


class Costs:
    """The clean trials of a run, looked up by variant and load."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.each = by_trial(run)
        means = clean(self.each).groupby(["variant", "load", "block"])[list(VALUES)].mean()
        self._cells = {
            (str(variant), str(load)): cell.droplevel([0, 1])
            for (variant, load), cell in means.groupby(level=[0, 1])
        }

    def get(self, part: str, variant: str, load: str) -> pd.Series[float]:
        """One of VALUES by block; empty where there is none."""
        cell = self._cells.get((variant, load))
        return pd.Series(dtype=float) if cell is None else cell[part].dropna()

    def loads(self, *variants: str) -> list[str]:
        """Loads, in the plan's order, under which each of these variants was measured."""
        planned = self.run.plan.get("sensor", {}).get("loads", {})
        names = dict.fromkeys([*planned, *(load for _, load in self._cells)])
        return [n for n in names if all((variant, n) in self._cells for variant in variants)]

    def variants(self) -> list[str]:
        """Variants that were tried, in the plan's order."""
        planned = self.run.plan.get("sensor", {}).get("variants", {})
        tried = set(self.each["variant"]) - {""}
        return [name for name in dict.fromkeys([*planned, *sorted(tried)]) if name in tried]

    def mean(self, values: pd.Series[float]) -> Interval:
        """Mean over blocks with its interval; of the exact machine the median and the range."""
        if not is_exact(self.run):
            return mean_interval(values.to_numpy(dtype=np.float64))
        return of_digits(digits(values))

    def intervals(self, variant: str, load: str, parts: Iterable[str] = PARTS) -> dict[str, Any]:
        return {part: self.mean(self.get(part, variant, load)) for part in parts}


def of_digits(found: Digits) -> Interval:
    """A median and a range in the place of an interval, which the note says."""
    return Interval(found.median, found.low, found.high, found.n, RANGE)


def combined(signed: Iterable[tuple[float, pd.Series[float]]]) -> pd.Series[float]:
    """Sum of factor times series over the blocks that all of them have."""
    terms = list(signed)
    if not terms:
        return pd.Series(dtype=float)
    return sum((f * s for f, s in terms[1:]), terms[0][0] * terms[0][1]).dropna()


def cells(costs: Costs) -> list[Entry]:
    """Every variant under every load that was tried.

    Keys variant, load, n, VALUES (Interval; clean trials), lossy (how many trials lost events),
    lost, loss_rate (of those), lossy_total (Interval: what they cost, which is no cost of the
    variant), attachments, reason (why there is no clean trial).
    """
    made: list[Entry] = []
    for (variant, load), rows in costs.each.groupby(["variant", "load"], sort=False):
        bad = rows[rows["lossy"]]
        found = costs.intervals(str(variant), str(load), VALUES)
        wrong = rows[rows["status"] != "ok"]
        reason = ""
        if not found["total"].n and len(wrong):
            reason = f"{wrong['status'].iloc[0]}: {wrong['reason'].iloc[0]}"
        ways = [str(way) for way in rows["attachments"] if way]
        made.append(
            {
                "variant": str(variant),
                "load": str(load),
                "n": found["total"].n,
                **found,
                "lossy": len(bad),
                "lost": int(bad["lost"].sum()),
                "loss_rate": float(bad["loss_rate"].mean()) if len(bad) else None,
                "lossy_total": costs.mean(bad["total"].dropna()),
                "attachments": ways[0] if ways else "",
                "reason": reason,
            }
        )
    places = {name: n for n, name in enumerate(costs.variants())}
    return sorted(made, key=lambda e: (e["load"], places.get(e["variant"], len(places))))
