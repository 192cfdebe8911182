"""What collecting costs at one point: which collector least, how sure, how far from break-even.

The verdicts are those of the studies (docs/methodology.md): equivalence first, each comparison
paired by block and at the model's confidence. A point outside the measured region gets no numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from cli.advise.coefficients import ROUNDING, Arm, Model
from cli.advise.forms import Form, Interval, cost, less, undecided

CHEAPER, INDISTINGUISHABLE, UNDETERMINED = "cheaper", "indistinguishable", "undetermined"
#: As in analysis.contrasts: two costs are the same inside this ratio or difference.
RATIO_MARGIN = (0.9, 1.1)
NS_MARGIN = 5e4  # per second: 0.005 % of a core
INTERVAL_BLOCKS = 4  # fewer never say that two are the same


@dataclass(frozen=True)
class Point:
    """A machine and an interval. threads: beyond the first of each process; active: the tasks that
    run in an interval, lowest and highest possible."""

    processes: float
    threads: float
    switches_per_s: float
    interval_s: float
    active: tuple[float, float]

    def features(self, active: float) -> tuple[float, ...]:
        """In the order of the coefficients, per second."""
        scrapes = 1 / self.interval_s
        return (
            scrapes,
            self.processes * scrapes,
            self.threads * scrapes,
            active * scrapes,
            self.switches_per_s,
        )

    def ends(self) -> list[tuple[float, ...]]:
        """Features at either end of what is known of the active tasks."""
        return [self.features(active) for active in self.active]


@dataclass(frozen=True)
class Outside:
    """A factor whose value was not measured, and what was."""

    factor: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Collector:
    """One collector's answer. cost: the model's unit per second; verdict: of the least against it.

    times: how many times the least's, None for the least itself or a least of nothing.
    """

    arm: str
    title: str
    cost: Interval
    verdict: str
    times: float | None


@dataclass(frozen=True)
class BreakEven:
    """Where another becomes cheaper than the least. factor: value over the present one.

    Ends of None: not reached within the measured region.
    """

    arm: str
    title: str
    value: float
    low: float | None
    high: float | None
    factor: float


@dataclass(frozen=True)
class Answer:
    """What holds at a point. Outside the region the rest is empty.

    verdict: of the least against all others together.
    """

    point: Point
    outside: tuple[Outside, ...]
    collectors: tuple[Collector, ...] = ()
    verdict: str = ""
    switches: BreakEven | None = None
    interval: BreakEven | None = None


def possible_active(
    model: Model, processes: float, threads: float, switches: float, interval_s: float
) -> tuple[float, float]:
    """Least and most active tasks where nothing is known of them: as far as was measured.

    Each task runs at most as itself, and each that runs takes a context switch.
    """
    low, high = model.region["active_tasks"]
    most = min(processes + threads, switches * interval_s, high)
    return low, max(low, most)


def outside(model: Model, point: Point) -> tuple[Outside, ...]:
    """The factors in which a point lies outside what was measured."""
    values = {
        "processes": point.processes,
        "threads": point.threads,
        "switches_per_s": point.switches_per_s,
        "active_tasks": point.active[1],
        "interval_s": point.interval_s,
    }
    found = []
    for factor, value in values.items():
        low, high = model.region[factor]
        if not low * (1 - ROUNDING) <= value <= high * (1 + ROUNDING):
            found.append(Outside(factor, value, low, high))
    return tuple(found)


def answer(model: Model, point: Point) -> Answer:
    """Every collector's cost at a point, cheapest first, verdicts and break-even."""
    beyond = outside(model, point)
    if beyond:
        return Answer(point, beyond)
    ends = point.ends()
    costs = {arm.name: _cost(model, arm, ends) for arm in model.arms}
    ranked = sorted(model.arms, key=lambda arm: costs[arm.name].estimate)
    least, *others = ranked
    found = [Collector(least.name, least.title, costs[least.name], "", None)]
    for arm in others:
        words = {Comparison.of(model, least, arm).verdict(x) for x in ends}
        verdict = words.pop() if len(words) == 1 else UNDETERMINED
        lowest = costs[least.name].estimate
        times = costs[arm.name].estimate / lowest if lowest > 0 else None
        found.append(Collector(arm.name, arm.title, costs[arm.name], verdict, times))
    return Answer(
        point,
        (),
        tuple(found),
        together([collector.verdict for collector in found[1:]]),
        _nearest(_switch_lines(model, point, least, others), point.switches_per_s),
        _nearest(_interval_lines(model, point, least, others), point.interval_s),
    )


def together(verdicts: Sequence[str]) -> str:
    """One verdict of the least against several others: the weakest of them."""
    for word in (UNDETERMINED, INDISTINGUISHABLE):
        if word in verdicts:
            return word
    return CHEAPER


def _cost(model: Model, arm: Arm, ends: list[tuple[float, ...]]) -> Interval:
    form = cost(arm, model.level)
    return form.at(ends[0]).hull(form.at(ends[-1]))


@dataclass(frozen=True)
class Comparison:
    """Two collectors: their difference, and x less 0.9 and 1.1 times y; None without one block."""

    difference: Form | None
    above: Form | None
    below: Form | None
    blocks: int
    margin: float

    @staticmethod
    def of(model: Model, x: Arm, y: Arm) -> Comparison:
        """Of two collectors of a model, by block."""
        return _comparison(model, x, y)

    def verdict(self, features: Sequence[float]) -> str:
        """x against y: cheaper, indistinguishable, or undetermined (dearer is no verdict here)."""
        if self.difference is None or self.above is None or self.below is None:
            return UNDETERMINED
        apart = self.difference.estimate(features)
        if apart < -self.margin and self.above.estimate(features) <= 0:
            if apart < -self.difference.at_most(features):
                return CHEAPER  # by the bound already: most nodes of a fleet end here
        if self.blocks >= INTERVAL_BLOCKS:
            if self.above.sign(features) > 0 and self.below.sign(features) < 0:
                return INDISTINGUISHABLE
            half = self.difference.half(features)
            if half is not None and abs(apart) + half <= self.margin:
                return INDISTINGUISHABLE
        return CHEAPER if self.difference.sign(features) < 0 else UNDETERMINED


@lru_cache(maxsize=1000)
def _comparison(model: Model, x: Arm, y: Arm) -> Comparison:
    level, (low, high) = model.level, RATIO_MARGIN
    return Comparison(
        less(x, y, level),
        less(x, y, level, low),
        less(x, y, level, high),
        len(set(x.blocks) & set(y.blocks)),
        NS_MARGIN if model.is_time else 0.0,
    )


def _switch_lines(
    model: Model, point: Point, least: Arm, others: Sequence[Arm]
) -> Iterator[BreakEven]:
    """Break-even with each other collector along the switch rate."""
    starts = [(*x[:4], 0.0) for x in point.ends()]
    along = [(0.0, 0.0, 0.0, 0.0, 1.0)] * len(starts)
    low, high = model.region["switches_per_s"]
    for arm in others:
        found = _crossing(Comparison.of(model, least, arm).difference, starts, along, low, high)
        if found is not None:
            value, lower, upper = found
            factor = value / point.switches_per_s if point.switches_per_s else math.inf
            yield BreakEven(arm.name, arm.title, value, lower, upper, factor)


def _interval_lines(
    model: Model, point: Point, least: Arm, others: Sequence[Arm]
) -> Iterator[BreakEven]:
    """The same along the interval, a line in its inverse; active tasks stay as they are."""
    starts = [(0.0, 0.0, 0.0, 0.0, x[4]) for x in point.ends()]
    along = [(*(v * point.interval_s for v in x[:4]), 0.0) for x in point.ends()]
    low, high = model.region["interval_s"]
    for arm in others:
        form = Comparison.of(model, least, arm).difference
        found = _crossing(form, starts, along, 1 / high, 1 / low)
        if found is not None:
            lower, upper = (None if end is None else 1 / end for end in (found[2], found[1]))
            value = 1 / found[0]
            yield BreakEven(arm.name, arm.title, value, lower, upper, value / point.interval_s)


def _crossing(
    form: Form | None,
    starts: Sequence[Sequence[float]],
    along: Sequence[Sequence[float]],
    low: float,
    high: float,
) -> tuple[float, float | None, float | None] | None:
    """Where a form is zero on a line, with the band in which its sign is open.

    Halfway between the two ends of what is known; the band covers both. None: not in (low, high).
    """
    if form is None:
        return None
    start = [sum(v) / len(starts) for v in zip(*starts)]
    way = [sum(v) / len(along) for v in zip(*along)]
    slope = form.estimate(way)
    if slope == 0:
        return None
    value = -form.estimate(start) / slope
    if not low < value < high:
        return None
    bottoms, tops = [value], [value]
    for at, to in zip(starts, along):
        ends = undecided(form, at, to, low, high)
        for bottom, top in zip(ends[::2], ends[1::2]):
            bottoms.append(bottom)
            tops.append(top)
    bottom, top = min(bottoms), max(tops)
    return value, None if bottom <= low else bottom, None if top >= high else top


def _nearest(lines: Iterator[BreakEven], present: float) -> BreakEven | None:
    """The nearest by factor: the first that would overtake the least on either side."""
    found = [line for line in lines if line.factor > 0 and line.value != present]
    return min(found, key=lambda line: abs(math.log(line.factor)), default=None)
