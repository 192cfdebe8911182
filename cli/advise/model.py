"""What collecting costs at one point: which collector least, how sure, how far from break-even.

The verdicts are those of the studies (docs/methodology.md): equivalence first, each comparison
paired by block and at the model's confidence. A point outside the measured region gets no numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from cli.advise.coefficients import ROUNDING, Arm, Model
from cli.advise.forms import Features, Form, Interval, cost, less, rates, undecided, undecided_over
from cli.advise.point import Outside, Point, outside

CHEAPER, INDISTINGUISHABLE, UNDETERMINED = "cheaper", "indistinguishable", "undetermined"
#: As in analysis.contrasts: two costs are the same inside this ratio or difference.
RATIO_MARGIN = (0.9, 1.1)
NS_MARGIN = 5e4  # per second: 0.005 % of a core
INTERVAL_BLOCKS = 4  # fewer never say that two are the same


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


def answer(model: Model, point: Point) -> Answer:
    """Every collector's cost at a point, cheapest first, verdicts and break-even."""
    beyond = outside(model, point)
    if beyond:
        return Answer(point, beyond)
    ends = point.ends(model.half)
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
    low, high = model.region["switches_per_s"]
    ends = point.ends(model.half)
    for arm in others:
        form = Comparison.of(model, least, arm).difference
        if form is None:
            continue
        for value in rates(form, _middle(ends), model.half):
            if low < value < high:
                known = dict.fromkeys(point.active)
                ways = [_at_rate(point, active, model.half) for active in known]
                band = [undecided_over(form, way, low, high) for way in ways]
                bottom, top = _band(value, band, low, high)
                factor = value / point.switches_per_s if point.switches_per_s else math.inf
                yield BreakEven(arm.name, arm.title, value, bottom, top, factor)


def _at_rate(point: Point, active: float, half: float) -> Callable[[float], Features]:
    return lambda rate: replace(point, switches_per_s=rate).features(active, half)


def _interval_lines(
    model: Model, point: Point, least: Arm, others: Sequence[Arm]
) -> Iterator[BreakEven]:
    """The same along the interval, a line in its inverse; active tasks stay as they are."""
    ends = point.ends(model.half)
    starts = [(*(0.0,) * 5, *x[5:]) for x in ends]
    along = [(*(v * point.interval_s for v in x[:5]), 0.0, 0.0) for x in ends]
    low, high = (1 / end for end in reversed(model.region["interval_s"]))
    for arm in others:
        form = Comparison.of(model, least, arm).difference
        if form is None or (slope := form.estimate(_middle(along))) == 0:
            continue
        value = -form.estimate(_middle(starts)) / slope
        if low < value < high:
            ways = dict.fromkeys(zip(starts, along))
            band = [undecided(form, at, to, low, high) for at, to in ways]
            bottom, top = _band(value, band, low, high)
            lower, upper = (None if end is None else 1 / end for end in (top, bottom))
            factor = 1 / value / point.interval_s
            yield BreakEven(arm.name, arm.title, 1 / value, lower, upper, factor)


def _middle(rows: Sequence[Features]) -> tuple[float, ...]:
    """Halfway between what is known: the estimate is taken there, and the band covers the ends."""
    return tuple(sum(values) / len(rows) for values in zip(*rows))


def _band(
    value: float, open_: Sequence[Sequence[float]], low: float, high: float
) -> tuple[float | None, float | None]:
    """Lowest and highest of the stretches in which a sign is open; None beyond what was measured.

    A stretch of its own, that does not reach the value, is another crossing's.
    """
    bottom = top = value
    for ends in open_:
        for start, end in zip(ends[::2], ends[1::2]):
            if len(open_) > 1 or start <= value * (1 + ROUNDING) and end >= value * (1 - ROUNDING):
                bottom, top = min(bottom, start), max(top, end)
    return None if bottom <= low else bottom, None if top >= high else top


def _nearest(lines: Iterator[BreakEven], present: float) -> BreakEven | None:
    """The nearest by factor: the first that would overtake the least on either side."""
    found = [line for line in lines if line.factor > 0 and line.value != present]
    return min(found, key=lambda line: abs(math.log(line.factor)), default=None)
