"""A whole fleet: what each collector costs on it, which costs least where, and how sure that is.

Costs are linear in a node's features, so a total is the coefficients times the features' sum: its
interval is that of the coefficients, the same on every node, and does not shrink with their number.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cli.advise.coefficients import Arm, Model
from cli.advise.fleet import Node
from cli.advise.forms import Features, Interval, combined, cost, rates
from cli.advise.model import (
    UNDETERMINED,
    Comparison,
    together,
)
from cli.advise.point import Outside, Point, outside, possible_active

#: The collector that a fleet is taken to run now, unless told otherwise.
NOW = "proc_stat"
EXTREMES = 3


@dataclass(frozen=True)
class NodeAnswer:
    """One node. Costs in the model's unit per second; break_even: the nearest switch rate at which
    another costs less, None if none in the region. Outside the region there are no numbers."""

    node: Node
    interval_s: float
    outside: tuple[Outside, ...]
    least: str = ""
    verdict: str = ""
    cost: float = 0.0
    now: float | None = None
    break_even: float | None = None


@dataclass(frozen=True)
class Total:
    """A collector on every node inside the region. cost: the model's unit per second, summed;
    least: nodes on which it is the cheapest by estimate."""

    arm: str
    title: str
    cost: Interval
    least: int


@dataclass(frozen=True)
class Survey:
    """A fleet at one interval (None: each node at its own)."""

    interval_s: float | None
    nodes: tuple[NodeAnswer, ...]
    inside: int
    totals: tuple[Total, ...]  # cheapest first
    best: Interval | None  # each node with its own cheapest
    now: str | None
    saving: Interval | None  # what is run now less the best
    verdicts: dict[str, int]
    saves_most: tuple[NodeAnswer, ...]
    fits_least: tuple[tuple[NodeAnswer, float], ...]  # with what one collector for all costs more

    @property
    def left_out(self) -> dict[str, int]:
        """How many nodes lie outside the region, by the factor in which they do."""
        return dict(Counter(o.factor for answer in self.nodes for o in answer.outside))


def point(model: Model, node: Node, interval_s: float) -> Point:
    """A node as a point: with the fewest threads measured where it has fewer or does not say."""
    threads = model.region["threads"][0]  # the measured machine's own
    if node.threads is not None:
        threads = max(threads, node.threads - node.processes)
    active = (
        possible_active(model, node.processes, threads, node.switches, interval_s)
        if node.active is None
        else (node.active, node.active)
    )
    return Point(node.processes, threads, node.switches, interval_s, active)


def survey(model: Model, nodes: Sequence[Node], interval_s: float | None, now: str = NOW) -> Survey:
    """Judge every node. interval_s: of nodes that name none; ValueError if one then lacks it."""
    forms = {arm.name: cost(arm, model.level) for arm in model.arms}
    arms = {arm.name: arm for arm in model.arms}
    rows: list[tuple[NodeAnswer, list[tuple[float, ...]], dict[str, float]]] = []
    answers: list[NodeAnswer] = []
    for node in nodes:
        every = node.interval if node.interval is not None else interval_s
        if every is None:
            raise ValueError(node.name)
        at = point(model, node, every)
        beyond = outside(model, at)
        if beyond:
            answers.append(NodeAnswer(node, every, beyond))
            continue
        ends = at.ends(model.half) if at.active[0] != at.active[1] else at.ends(model.half)[:1]
        middle = [sum(v) / len(ends) for v in zip(*ends)] if len(ends) > 1 else ends[0]
        costs = {name: form.estimate(middle) for name, form in forms.items()}
        least = min(costs, key=costs.__getitem__)
        verdict, line = _judged(model, arms, least, ends, middle)
        made = NodeAnswer(node, every, (), least, verdict, costs[least], costs.get(now), line)
        answers.append(made)
        rows.append((made, ends, costs))
    return _summed(model, arms, tuple(answers), rows, interval_s, now)


def _judged(
    model: Model, arms: dict[str, Arm], least: str, ends: list[tuple[float, ...]], x: Features
) -> tuple[str, float | None]:
    """Verdict of the least against all others, and the nearest break-even switch rate."""
    words: list[str] = []
    met: list[float] = []
    low, high = model.region["switches_per_s"]
    for name, arm in arms.items():
        if name == least:
            continue
        comparison = Comparison.of(model, arms[least], arm)
        said = {comparison.verdict(end) for end in ends}
        words.append(said.pop() if len(said) == 1 else UNDETERMINED)
        form = comparison.difference
        if form is not None:
            met += [rate for rate in rates(form, x, model.half) if low < rate < high]
    now = x[5]
    nearest = min(met, key=lambda rate: abs(math.log(rate / now))) if met and now else None
    return together(words), nearest


def _summed(
    model: Model,
    arms: dict[str, Arm],
    answers: tuple[NodeAnswer, ...],
    rows: Sequence[tuple[NodeAnswer, list[tuple[float, ...]], dict[str, float]]],
    interval_s: float | None,
    now: str,
) -> Survey:
    known = now if now in arms else None
    verdicts = dict(Counter(row[0].verdict for row in rows))
    if not rows:
        return Survey(interval_s, answers, 0, (), None, known, None, verdicts, (), ())
    level = model.level
    sums = [_sum(row[1][end] for row in rows) for end in (0, -1)]
    counts = Counter(row[0].least for row in rows)
    totals = []
    for arm in arms.values():
        whole = (combined([(arm, x)], level) for x in sums)
        totals.append(Total(arm.name, arm.title, next(whole).hull(next(whole)), counts[arm.name]))
    totals.sort(key=lambda total: total.cost.estimate)
    best, saving = [], []
    for end in (0, -1):
        chosen = [
            (arms[name], _sum(row[1][end] for row in rows if row[0].least == name))
            for name in counts
        ]
        best.append(combined(chosen, level))
        if known is not None:
            run = (arms[known], sums[end])
            less = [(arm, [-v for v in x]) for arm, x in chosen]
            saving.append(combined([run, *less], level))
    single = totals[0].arm
    beyond = sorted(((row[2][single] - row[0].cost, n) for n, row in enumerate(rows)), reverse=True)
    saved = sorted((row[0] for row in rows if known), key=_saved, reverse=True)
    return Survey(
        interval_s,
        answers,
        len(rows),
        tuple(totals),
        best[0].hull(best[1]),
        known,
        saving[0].hull(saving[1]) if saving else None,
        verdicts,
        tuple(answer for answer in saved[:EXTREMES] if _saved(answer) > 0),
        tuple((rows[n][0], more) for more, n in beyond[:EXTREMES] if more > 0),
    )


def _saved(answer: NodeAnswer) -> float:
    return (answer.now or 0.0) - answer.cost


def _sum(rows: Iterable[Features]) -> list[float]:
    return [sum(values) for values in zip(*rows)] or [0.0] * 7
