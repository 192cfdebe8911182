"""The crossover analysis of one run, computed once; tables, figures and the summary read it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from analysis import exact
from analysis.crossover import cells as cell
from analysis.crossover import fleet, model, verdicts
from analysis.crossover.break_even import Crossing, crossing
from analysis.crossover.conditions import has_points, planned
from analysis.crossover.model import Fit, Where
from analysis.crossover.region import Region, of_points, outside
from analysis.external import NULL_AGENT, in_other_tasks
from analysis.levels import of_point
from analysis.load import Run
from analysis.measures import Measures
from analysis.text import interval

ARTICLE = (100, 600)  # processes of the article's two points, at an interval of about 1 s
ARTICLE_INTERVAL_S = 1.0
RATES = 16  # that are looked at for one that was measured
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
    def half(self) -> float:
        """Switches a second at which one in two finds the machine cold; 0: none is cold."""
        return max((fitted.half for fitted in self.fits.values()), default=0.0)

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
        costs = sorted((self.fits[a].middle(where), a) for a in self.arms)
        first, second = costs[0], costs[1] if len(costs) > 1 else (float("inf"), "")
        return first[1], second[0] / first[0] if first[0] > 0 else float("inf")

    def meet(self, one: str, other: str, where: Where) -> MeetingPoint:
        """Where two collectors cost the same, and whether that was measured."""
        found = crossing(self.fits[one], self.fits[other], where)
        rate = found.rate.estimate
        if rate is None:  # at any rate: of those that were measured
            rates = np.geomspace(*self.region["switches_per_s"], RATES)
            places = [replace(where, switches_per_s=float(value)) for value in rates]
        else:
            places = [replace(where, switches_per_s=rate)]
        beyond = [outside(self.region, place) for place in places]
        least = min(range(len(places)), key=lambda n: (len(beyond[n]), n))
        return MeetingPoint(found, places[least], tuple(beyond[least]))


def compute(measures: Measures) -> Crossover | None:
    """Everything the crossover study says of a run; None for a run of another kind."""
    run = measures.run
    if not has_points(run):
        return None
    counted = exact.counted(run)
    found, wanted = cell.cells(measures), planned(run)
    if found.empty:
        return None
    kept = {number: about for number, about in wanted.items() if not about.get("held_out")}
    left_out = model.not_varied(kept.values())
    curves = None if counted else measures.curves
    fits: dict[str, Fit] = {}
    errors: dict[str, pd.DataFrame] = {}
    for arm, rows in found.groupby("arm"):
        mine = rows[rows["point"].isin(kept)]
        switch = None if curves is None else curves.of(str(arm)) or None
        half = 0.0 if curves is None else curves.half
        hooked = counted or in_other_tasks(run, str(arm))
        fitted = model.fit(str(arm), mine, counted, left_out, half, switch, hooked)
        if fitted is not None:
            fits[str(arm)], errors[str(arm)] = fitted, model.foretold(fitted, rows)
    points = cell.by_point(found)
    region = of_points(points[points.index.isin(kept)])
    made = Crossover(
        run=run,
        exact=counted,
        cells=found,
        points=points,
        planned=wanted,
        fits={arm: fits[arm] for arm in run.arms if arm in fits},
        errors=errors,
        region=region,
        usual=_usual(points, wanted),
        verdicts=verdicts.by_point(found, counted),
        fleet=[],
        break_even=[],
    )
    saved = [] if counted else fleet.savings(
        made.fits, verdicts.PAIRS, made.usual, region, made.counts, made.intervals
    )  # fmt: skip
    return replace(made, fleet=saved, break_even=_break_even(made))


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
            for seconds in c.intervals:
                where = replace(c.usual, processes=float(count), interval_s=seconds)
                made.append(c.meet(one, other, where))
    return made


def warnings(c: Crossover) -> list[str]:
    """Points whose load did not reach its rate, cells whose cost is not above 0, and collectors
    that the model does not fit."""
    found = [*_slow(c), *_not_above_zero(c)]
    for arm in c.arms:
        error = c.held_out_error(arm)
        if error is not None and error > model.HELD_OUT_LIMIT:
            found.append(
                f"{c.run.title(arm)}: the cost model is off by {100 * error:.0f} % (median) at "
                f"points it was not fitted to, beyond {100 * model.HELD_OUT_LIMIT:.0f} %"
            )
    return found


def _slow(c: Crossover) -> list[str]:
    found = []
    for point, about in c.planned.items():
        asked = int(about["switches_per_s"])
        if asked and point in c.points.index:
            reached = c.place(point)["load_per_s"] / asked
            if reached < REACHED:
                found.append(
                    f"point {point}: the load reached {100 * reached:.0f} % of {asked:,} switches/s"
                )
    return found


def _not_above_zero(c: Crossover) -> list[str]:
    """Cells that cost nothing or less by what was measured, each with its interval; and per arm
    the points at which it may."""
    unit = ("million instructions/s", 1e-6) if c.exact else ("% of a core", 1e-7)
    found = []
    measured = set(c.cells["arm"]) - {NULL_AGENT}
    for arm in (arm for arm in c.run.arms if arm in measured):
        mine: Any = c.cells[c.cells["arm"] == arm].groupby("point")["cost"]
        costs = {int(n): model.spread(v.to_numpy(float), c.exact).scaled(unit[1]) for n, v in mine}
        below = {n: cost for n, cost in costs.items() if (cost.estimate or 0.0) <= 0}
        found += [
            f"point {n}, {c.run.title(arm)}: the measured cost is not above 0: {interval(cost)} "
            f"{unit[0]}"
            for n, cost in below.items()
        ]
        open_ = [n for n, cost in costs.items() if cost.low is not None and cost.low <= 0]
        open_ = [n for n in open_ if n not in below]
        if open_:
            found.append(
                f"{c.run.title(arm)}: the interval of the measured cost reaches 0 at point"
                f"{'s' if len(open_) > 1 else ''} {', '.join(map(str, open_))}"
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
