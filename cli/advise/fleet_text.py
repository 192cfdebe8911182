"""What a terminal shows of a fleet, and the CSV of every node's answer."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from cli.advise.coefficients import Model
from cli.advise.fleet import shown as shown_name
from cli.advise.forms import Interval
from cli.advise.model import CHEAPER, INDISTINGUISHABLE, UNDETERMINED
from cli.advise.survey import NodeAnswer, Survey
from cli.advise.text import FACTORS, count, interval, number, shown, unit

COLUMNS = (
    "node", "interval_s", "processes", "switches_per_s", "outside", "least", "verdict", "cost",
    "cost_now", "unit", "break_even_switches_per_s",
)  # fmt: skip


def lines(model: Model, survey: Survey) -> list[str]:
    """One interval's totals, how sure they are, and the nodes that stand out."""
    every = "at each node's own interval"
    if survey.interval_s is not None:
        every = f"every {count(survey.interval_s)} s"
    left = len(survey.nodes) - survey.inside
    head = f"{every}: {survey.inside:,} nodes"
    if left:
        by = ", ".join(f"{n:,} by {FACTORS[factor]}" for factor, n in survey.left_out.items())
        head += f"; {left:,} more lie outside of what was measured and have no number ({by})"
    if not survey.totals or survey.best is None:
        return ["", head]
    return ["", head, *_table(model, survey), *_sure(survey), *_extremes(model, survey)]


def _table(model: Model, survey: Survey) -> list[str]:
    assert survey.best is not None
    what = unit(model).replace("% of one core", "cores")
    rows = [[f"  {what}", "all nodes", "per 1,000 nodes", "least on"]]
    for total in survey.totals:
        now = " (taken to run now)" if total.arm == survey.now else ""
        rows.append(_row(model, survey, total.title + now, total.cost, f"{total.least:,} nodes"))
    rows.append(_row(model, survey, "each node its cheapest", survey.best))
    if survey.saving is not None:
        rows.append(_row(model, survey, "which saves", survey.saving))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return ["  ".join(f"{c:<{w}}" for c, w in zip(row, widths)).rstrip() for row in rows]


def _row(model: Model, survey: Survey, title: str, cost: Interval, least: str = "") -> list[str]:
    whole = cost.times(1e-9 if model.is_time else 1e-6)
    return [f"  {title}", interval(whole), interval(whole.times(1000 / survey.inside)), least]


def _sure(survey: Survey) -> list[str]:
    counts = [survey.verdicts.get(word, 0) for word in (CHEAPER, INDISTINGUISHABLE, UNDETERMINED)]
    return [
        f"  the cheapest is sure on {counts[0]:,} nodes; on {counts[1]:,} the next makes no"
        f" difference that matters; {counts[2]:,} lie within the band of a break-even line"
        " (undetermined)"
    ]


def _extremes(model: Model, survey: Survey) -> list[str]:
    made = []
    if survey.saves_most and survey.now:
        told = [
            f"{_node(a)} {shown(model, _exact((a.now or 0) - a.cost))}" for a in survey.saves_most
        ]
        made.append(f"  saves most ({_percent(model)}): {'; '.join(told)}")
    if survey.fits_least:
        told = [f"{_node(a)} {shown(model, _exact(more))}" for a, more in survey.fits_least]
        made.append(
            f"  where {survey.totals[0].title} for all costs most beyond the node's cheapest"
            f" ({_percent(model)}): {'; '.join(told)}"
        )
    return [line.replace(" [no interval]", "") for line in made]


def _percent(model: Model) -> str:
    return "% of a core" if model.is_time else "million instructions a second"


def _exact(value: float) -> Interval:
    return Interval(value, None, None)


def _node(answer: NodeAnswer) -> str:
    node = answer.node
    about = f"{number(node.processes)} processes, {number(node.switches)} switches/s"
    return f"{shown_name(node.name)} ({about})"


def as_csv(model: Model, surveys: Sequence[Survey]) -> str:
    """Every node's answer at every interval; costs in percent of a core or instructions a second.

    Outside the measured region the cells of numbers are empty.
    """
    unit, scale = ("percent_core", 1e-7) if model.is_time else ("instructions_per_s", 1.0)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for survey in surveys:
        for answer in survey.nodes:
            node = answer.node
            row = [node.name, f"{answer.interval_s:g}", f"{node.processes:.12g}",
                   f"{node.switches:.12g}", " ".join(o.factor for o in answer.outside)]  # fmt: skip
            if answer.outside:
                writer.writerow([*row, "", "", "", "", unit, ""])
                continue
            now = "" if answer.now is None else f"{answer.now * scale:.6g}"
            line = "" if answer.break_even is None else f"{answer.break_even:.6g}"
            cost = f"{answer.cost * scale:.6g}"
            writer.writerow([*row, answer.least, answer.verdict, cost, now, unit, line])
    return file.getvalue()
