"""The same answers for machines: ``--json``."""

from __future__ import annotations

from typing import Any

from cli.advise.coefficients import Model
from cli.advise.forms import Interval
from cli.advise.model import Answer, BreakEven
from cli.advise.point import COMBINATION, Outside
from cli.advise.survey import NodeAnswer, Survey

SCHEMA = 2


def about(model: Model) -> dict[str, Any]:
    """Whose costs these are, in which unit, and what was measured."""
    return {
        "schema": SCHEMA,
        "model": {
            "run": model.run,
            "machine": model.machine,
            "this_machine": model.here,
            "backend": model.backend,
            "unit": "percent_core" if model.is_time else "instructions_per_s",
            "is_time": model.is_time,
            "confidence": model.confidence,
            "region": {name: list(ends) for name, ends in model.region.items()},
            "half_cold_switches_per_s": model.half,
        },
    }


def answer(model: Model, found: Answer) -> dict[str, Any]:
    """A machine at one interval; outside of what was measured there are no numbers."""
    point = found.point
    least = found.collectors[0] if found.collectors else None
    errors = {arm.name: arm.error for arm in model.arms}
    measured = {arm.name: arm.measured_every(point.interval_s) for arm in model.arms}
    return {
        "interval_s": point.interval_s,
        "processes": point.processes,
        "threads_beyond_first": point.threads,
        "switches_per_s": point.switches_per_s,
        "active_tasks": list(point.active),
        "outside": [_outside(beyond) for beyond in found.outside],
        "least": None if least is None else least.arm,
        "verdict": found.verdict or None,
        "collectors": [
            {
                "arm": collector.arm,
                "title": collector.title,
                "cost": cost(model, collector.cost),
                "cores_per_1000_nodes": _ends(collector.cost, 1e-6) if model.is_time else None,
                "held_out_median_error": errors[collector.arm],
                "interval_measured": measured[collector.arm],
                "least_against_it": collector.verdict or None,
                "times_the_least": collector.times,
            }
            for collector in found.collectors
        ],
        "break_even": {
            "switches_per_s": _break_even(found.switches),
            "interval_s": _break_even(found.interval),
        },
    }


def fleet(model: Model, found: Survey) -> dict[str, Any]:
    """A fleet at one interval: totals in cores, or instructions a second."""
    scale = 1e-9 if model.is_time else 1.0
    return {
        "interval_s": found.interval_s,
        "nodes": len(found.nodes),
        "inside": found.inside,
        "outside_by": found.left_out,
        "unit": "cores" if model.is_time else "instructions_per_s",
        "collectors": [
            {
                "arm": total.arm,
                "title": total.title,
                "total": _ends(total.cost, scale),
                "least_on_nodes": total.least,
            }
            for total in found.totals
        ],
        "each_its_cheapest": None if found.best is None else _ends(found.best, scale),
        "now": found.now,
        "saving": None if found.saving is None else _ends(found.saving, scale),
        "verdicts": found.verdicts,
        "saves_most": [_node(model, one) for one in found.saves_most],
        "fits_least": [_node(model, one) for one, _ in found.fits_least],
    }


def cost(model: Model, value: Interval) -> dict[str, float | None]:
    """In the unit of the model's answers."""
    return _ends(value, 1e-7 if model.is_time else 1.0)


def _ends(value: Interval, scale: float) -> dict[str, float | None]:
    return vars(value.times(scale))


def _outside(beyond: Outside) -> dict[str, Any]:
    if beyond.factor == COMBINATION:
        return {"factor": COMBINATION, "further_than_times": beyond.value}
    return {"factor": beyond.factor, "value": beyond.value, "measured": [beyond.low, beyond.high]}


def _break_even(line: BreakEven | None) -> dict[str, Any] | None:
    return None if line is None else vars(line)


def _node(model: Model, found: NodeAnswer) -> dict[str, Any]:
    return {
        "node": found.node.name,
        "interval_s": found.interval_s,
        "least": found.least,
        "verdict": found.verdict,
        "cost": found.cost * (1e-7 if model.is_time else 1.0),
    }
