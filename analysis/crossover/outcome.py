"""The crossover analysis of one run, computed once; tables, figures and the summary read it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from analysis import exact
from analysis.crossover import cells as cell
from analysis.crossover import fleet, model, verdicts
from analysis.crossover.break_even import Crossing, Region, crossing, outside
from analysis.crossover.model import Fit, Where
from analysis.external import NULL_AGENT, in_other_tasks
from analysis.levels import of_point
from analysis.load import Run
from analysis.measures import Measures

CONDITION_OF = {  # name in a region and in the model's file -> column of the cells
    "processes": "processes",
    "threads": "threads",
    "switches_per_s": "switches_per_s",
    "active_tasks": "active",
    "interval_s": "interval_s",
}
ARTICLE = (100, 600)  # processes of the article's two points, at an interval of about 1 s
ARTICLE_INTERVAL_S = 1.0
REACHED = 0.9  # share of the load's asked rate below which a point is warned of


@dataclass(frozen=True)
class MeetingPoint:
    """A break-even of a table: the crossing, where, and what lies beyond the measured region."""

    found: Crossing
    where: Where
    beyond: tuple[str, ...]  # names of conditions; the rate's too


@dataclass(frozen=True)
class Crossover:
    """unit of costs: "ns" or "instructions", a second. errors: `model.foretold` of every arm."""

    run: Run
    exact: bool
    cells: pd.DataFrame
    points: pd.DataFrame  # `cells.by_point`
    planned: Mapping[int, Mapping[str, Any]]
    fits: Mapping[str, Fit]
    errors: Mapping[str, pd.DataFrame]
    region: Region
    usual: Where  # threads, active tasks and rate of the machine itself; smallest point
    verdicts: list[dict[str, Any]]
    fleet: list[dict[str, Any]]
    break_even: list[MeetingPoint]

    @property
    def unit(self) -> str:
        return "instructions" if self.exact else "ns"

    @property
    def arms(self) -> list[str]:
        """Collectors that answer the question, in order; the null agent is none."""
        return [arm for arm in self.run.arms if arm in self.fits and arm != NULL_AGENT]

    @property
    def held_out(self) -> list[int]:
        return [point for point, about in self.planned.items() if about.get("held_out")]

    def held_out_error(self, arm: str) -> float | None:
        """Median |fitted / measured - 1| over the held-out points; None without one."""
        errors = self.errors[arm]["error"]
        return model.median_error(errors[errors.index.isin(self.held_out)])

    @property
    def intervals(self) -> list[float]:
        """Intervals between scrapes that points were measured at, in seconds."""
        return sorted({int(about["interval_ms"]) / 1e3 for about in self.planned.values()})

    @property
    def counts(self) -> list[int]:
        """Process counts of the points."""
        return sorted({int(about["processes"]) for about in self.planned.values()})

    def place(self, point: int) -> dict[str, float]:
        """Mean measured conditions of a point."""
        values: Any = self.points.loc[point].to_dict()
        return {str(name): float(value) for name, value in values.items()}

    def cheapest(self, where: Where) -> tuple[str, float]:
        """The collector that costs least under these conditions, and the next one's cost over its.

        The ratio is infinite where the cheapest is said to cost nothing, and for a single one.
        """
        costs = sorted((float(self.fits[a].centre() @ where.terms()), a) for a in self.arms)
        first, second = costs[0], costs[1] if len(costs) > 1 else (float("inf"), "")
        return first[1], second[0] / first[0] if first[0] > 0 else float("inf")

    def meet(self, one: str, other: str, where: Where) -> MeetingPoint:
        """Where two collectors cost the same, and whether that was measured."""
        found = crossing(self.fits[one], self.fits[other], where)
        rate = found.rate.estimate
        at = replace(where, switches_per_s=self.usual.switches_per_s if rate is None else rate)
        return MeetingPoint(found, at, tuple(outside(self.region, at)))


def compute(measures: Measures) -> Crossover | None:
    """Everything the crossover study says of a run; None for a run of another kind."""
    run = measures.run
    if not cell.has_points(run):
        return None
    counted = exact.counted(run)
    found, planned = cell.cells(measures), cell.planned(run)
    if found.empty:
        return None
    kept = {number: about for number, about in planned.items() if not about.get("held_out")}
    left_out = model.not_varied(kept.values())
    fits: dict[str, Fit] = {}
    errors: dict[str, pd.DataFrame] = {}
    for arm, rows in found.groupby("arm"):
        fitted = model.fit(str(arm), rows[rows["point"].isin(kept)], counted, left_out)
        if fitted is not None:
            fits[str(arm)], errors[str(arm)] = fitted, model.foretold(fitted, rows)
    points = cell.by_point(found)
    region = _region(points[points.index.isin(kept)])
    made = Crossover(
        run=run,
        exact=counted,
        cells=found,
        points=points,
        planned=planned,
        fits={arm: fits[arm] for arm in run.arms if arm in fits},
        errors=errors,
        region=region,
        usual=_usual(points, planned),
        verdicts=verdicts.by_point(found, counted),
        fleet=[],
        break_even=[],
    )
    saved = [] if counted else fleet.savings(
        made.fits, verdicts.PAIRS, made.usual, region, made.counts, made.intervals
    )  # fmt: skip
    return replace(made, fleet=saved, break_even=_break_even(made))


def _region(points: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Least and greatest of each condition over the points that were fitted."""
    ends = {}
    for name, column in CONDITION_OF.items():
        values = points[column]
        ends[name] = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    return ends


def _usual(points: pd.DataFrame, planned: Mapping[int, Mapping[str, Any]]) -> Where:
    """A machine as most points have it: the load's usual tasks, no more threads than its own.

    Its rate is the median of the points without a load.
    """
    about = pd.DataFrame.from_dict(dict(planned), orient="index").reindex(points.index)
    single = points[about["threads_per_process"] == 1]
    loaded = about[about["switches_per_s"] > 0]["switching_tasks"]
    idle = points[about["switches_per_s"] == 0]["switches_per_s"]
    rate = float(idle.median()) if len(idle) else float(points["switches_per_s"].min())
    threads = float((single if len(single) else points)["threads"].median())
    active = min(loaded, key=lambda n: (-(loaded == n).sum(), n)) if len(loaded) else 0.0
    return Where(float(points["processes"].min()), threads, float(active), 1.0, rate)


def _break_even(c: Crossover) -> list[MeetingPoint]:
    made = []
    for one, other in itertools.combinations(c.arms, 2):
        if not set(c.fits[one].blocks) & set(c.fits[other].blocks):
            continue
        for count in c.counts:
            for interval in c.intervals:
                where = replace(c.usual, processes=float(count), interval_s=interval)
                made.append(c.meet(one, other, where))
    return made


def warnings(c: Crossover) -> list[str]:
    """Points whose load did not reach its rate, and collectors that the model does not fit."""
    found = []
    for point, about in c.planned.items():
        asked = int(about["switches_per_s"])
        if asked and point in c.points.index:
            reached = c.place(point)["load_per_s"] / asked
            if reached < REACHED:
                found.append(
                    f"point {point}: the load reached {100 * reached:.0f} % of {asked:,} switches/s"
                )
    for arm in c.arms:
        error = c.held_out_error(arm)
        if error is not None and error > model.HELD_OUT_LIMIT:
            found.append(
                f"{c.run.title(arm)}: the cost model is off by {100 * error:.0f} % (median) at "
                f"points it was not fitted to, beyond {100 * model.HELD_OUT_LIMIT:.0f} %"
            )
    return found


def hooked(c: Crossover, arm: str) -> bool:
    """True if the arm's programs run on other tasks' switches."""
    return in_other_tasks(c.run, arm)


def level(point: int) -> int:
    """The level that contrasts at a point have."""
    return of_point(point)


def machine(run: Run) -> str:
    """CPUs, processor and kernel, as a coefficient is labelled: "2 CPUs, AMD EPYC, Linux 6.18"."""
    f = run.manifest["fingerprint"]
    cpus = f.get("cpus_online")
    kernel = f"Linux {f['release']}" if f.get("release") else None
    if run.plan.get("backend") == exact.BACKEND:
        kernel = f"{kernel}, counted by an emulator" if kernel else "counted by an emulator"
    said = [f"{cpus} CPU{'s' if cpus != 1 else ''}" if cpus else None, f.get("cpu_model"), kernel]
    return ", ".join(str(part) for part in said if part) or "machine not recorded"
