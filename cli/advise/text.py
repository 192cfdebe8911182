"""What a terminal shows: one machine's table with a line for each interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cli.advise.coefficients import ERROR_LIMIT, Model
from cli.advise.forms import Interval
from cli.advise.model import (
    CHEAPER,
    INDISTINGUISHABLE,
    UNDETERMINED,
    Answer,
    BreakEven,
)
from cli.advise.point import COMBINATION, Outside

FACTORS = {
    "processes": "processes",
    "threads": "threads beyond the first of each process",
    "switches_per_s": "context switches a second",
    "active_tasks": "tasks that ran in an interval",
    "interval_s": "s between two scrapes",
    COMBINATION: "the combination of processes, switch rate and interval",
}
MARKS = {CHEAPER: " ", INDISTINGUISHABLE: "=", UNDETERMINED: "?", "": "*"}
LEGEND = (
    "* least by estimate   = no difference that matters (ratio in 0.9 to 1.1, or 0.005 % of a core)"
    "   ? not told apart"
)
NO_TIME = (
    "only instructions were counted, which take no account of caches: they rank the collectors and"
    " are no time"
)


def number(value: float) -> str:
    """Three digits, two below 0.1; thousands with commas."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 0.001:
        digits = 2 if abs(value) < 10 else 1
        digits += 1 if abs(value) < 1 else 0
        digits += 1 if abs(value) < 0.1 else 0
        return f"{value:.{digits}f}"
    return f"{value:.2g}"


def count(value: float) -> str:
    """What was given or counted: whole where it is whole."""
    return f"{value:,.0f}" if value == round(value) else number(value)


def interval(value: Interval) -> str:
    """``0.52 [0.39, 0.65]``; without ends where none can be stated."""
    if value.low is None or value.high is None:
        return f"{number(value.estimate)} [no interval]"
    return f"{number(value.estimate)} [{number(value.low)}, {number(value.high)}]"


def shown(model: Model, cost: Interval) -> str:
    """A cost in the unit of the tables: percent of a core, or million instructions a second."""
    return interval(cost.times(1e-7 if model.is_time else 1e-6))


def cores(cost: Interval, nodes: float = 1000) -> Interval:
    """Nanoseconds a second on each of so many nodes as cores."""
    return cost.times(1e-9 * nodes)


def unit(model: Model) -> str:
    """What a table's numbers are."""
    if model.is_time:
        return f"% of one core [{100 * model.confidence:g} %]"
    return "million instructions a second [range]"


def measured_where(model: Model) -> list[str]:
    """Whose costs these are, and whose model failed where it was tested."""
    if model.here:
        where = f"costs as calibrated on this machine: {model.machine} (run {model.run})"
    else:
        where = f"costs as measured on another machine: {model.machine} (run {model.run})"
    off = [
        f"{100 * arm.error:.0f} % for {arm.title}"
        for arm in model.arms
        if arm.error is not None and arm.error > ERROR_LIMIT
    ]
    said = [where] if model.is_time else [where, NO_TIME]
    if off:
        said.append(
            "less sure than the intervals say: at points that it was not fitted to the model is off"
            f" by {', '.join(off)} (median; at most {100 * ERROR_LIMIT:.0f} % is asked for)"
        )
    return said


def beyond(model: Model, intervals: Iterable[float]) -> list[str]:
    """Collectors that were not measured at an interval at which others were, a line each."""
    low, high = model.region["interval_s"]
    made = []
    for arm in model.arms:
        gone = [v for v in intervals if low <= v <= high and not arm.measured_every(v)]
        if arm.interval_s and gone:
            made.append(
                f"{arm.title} was measured every {count(arm.interval_s[0])} to"
                f" {count(arm.interval_s[1])} s: every {', '.join(map(count, gone))} s its cost is"
                " the model's word alone"
            )
    return made


def outside(beyond: Sequence[Outside]) -> str:
    """Which factors were not measured, and what was."""
    return ", ".join(_outside(o) for o in beyond)


def _outside(o: Outside) -> str:
    if o.factor == COMBINATION:
        return (
            f"{FACTORS[o.factor]} lies further than a factor of {count(o.value)} from all that was"
            " measured together"
        )
    return f"{count(o.value)} {FACTORS[o.factor]} (measured: {count(o.low)} to {count(o.high)})"


def machine(model: Model, answers: Sequence[Answer]) -> list[str]:
    """The table of collectors by intervals, then a line or two on each interval."""
    inside = [answer for answer in answers if not answer.outside]
    lines = _table(model, inside) if inside else []
    lines += beyond(model, [answer.point.interval_s for answer in inside])
    for answer in answers:
        lines += _about(model, answer)
    return lines


def _table(model: Model, answers: Sequence[Answer]) -> list[str]:
    order = [collector.arm for collector in answers[0].collectors]
    titles = {collector.arm: collector.title for collector in answers[0].collectors}
    rows = [[unit(model), *(f"  every {count(a.point.interval_s)} s" for a in answers)]]
    for arm in order:
        row = [titles[arm]]
        for answer in answers:
            (found,) = [collector for collector in answer.collectors if collector.arm == arm]
            row.append(f"{MARKS[found.verdict]} {shown(model, found.cost)}")
        rows.append(row)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    made = ["  ".join(f"{c:<{w}}" for c, w in zip(row, widths)).rstrip() for row in rows]
    return ["", *made, LEGEND, ""]


def _about(model: Model, answer: Answer) -> list[str]:
    every = f"every {count(answer.point.interval_s)} s"
    if answer.outside:
        return [f"{every}: not measured, so no number: {outside(answer.outside)}"]
    least, others = answer.collectors[0], answer.collectors[1:]
    cost = f"{shown(model, least.cost)} {unit(model).split(' [')[0]}"
    if model.is_time:
        cost += f", {interval(cores(least.cost))} cores per 1,000 nodes"
    same = [c.title for c in others if c.verdict == INDISTINGUISHABLE]
    unclear = [c.title for c in others if c.verdict == UNDETERMINED]
    if not others:
        sure = "no other was measured"
    elif answer.verdict == CHEAPER:
        times = others[0].times
        sure = "every other is dearer" + (f", {number(times)} times and more" if times else "")
    else:
        parts = [f"no difference that matters from {', '.join(same)}"] if same else []
        parts += [f"not told apart from {', '.join(unclear)}"] if unclear else []
        sure = "; ".join(parts)
    low, high = answer.point.active
    ran = count(low) if low == high else f"{count(low)} to {count(high)}"
    lines = [f"{every}, {ran} tasks running in it: {least.title} costs least", f"  {cost}; {sure}"]
    return lines + [f"  {part}" for part in _break_even(model, answer)]


def _break_even(model: Model, answer: Answer) -> list[str]:
    parts = []
    for line, what, ends in (
        (answer.switches, "switch rate", model.region["switches_per_s"]),
        (answer.interval, "interval", model.region["interval_s"]),
    ):
        of = "a second" if what == "switch rate" else "s"
        if line is None:
            parts.append(
                f"break-even: at no {what} measured, {count(ends[0])} to {count(ends[1])} {of}"
            )
        else:
            parts.append(
                f"break-even: at {number(line.factor)} times the {what}, {_value(line)} {of},"
                f" {line.title} becomes cheaper"
            )
    return parts


def _value(line: BreakEven) -> str:
    """The value with its band; an end that the region cuts off is open."""
    low = "…" if line.low is None else number(line.low)
    high = "…" if line.high is None else number(line.high)
    return f"{number(line.value)} [{low}, {high}]"
