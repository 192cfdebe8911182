"""The crossover part of a run's summary: what claims, README and advice are made from."""

from __future__ import annotations

from typing import Any

from analysis.crossover import outcome
from analysis.crossover.conditions import CONDITIONS
from analysis.crossover.model import HELD_OUT_LIMIT, TERMS, median_error
from analysis.crossover.outcome import Crossover, MeetingPoint
from analysis.crossover.region import REACH
from analysis.statistics.intervals import CONFIDENCE, Interval


def _plain(value: Interval) -> dict[str, Any]:
    made: dict[str, Any] = {"estimate": value.estimate, "low": value.low, "high": value.high}
    return {**made, "n": value.n, **({"note": value.note} if value.note else {})}


def summary(c: Crossover | None) -> dict[str, Any] | None:
    """None for a run of another kind.

    Keys unit, exact, machine, cpus, confidence, region, together (how far beyond the hull of the
    measured points, and its planes: see `region`), half_cold_switches_per_s (`warmth`), usual
    (conditions of the machine itself), intervals, held_out_limit; arms {arm: title, answers,
    hooked, blocks, terms, interval_s (least and greatest it was fitted at), held_out_error,
    held_out_half_width (median, a share of the fitted cost), held_out_points}; break_even,
    verdicts, fleet: as their tables.
    """
    if c is None:
        return None
    return {
        "unit": c.unit,
        "exact": c.exact,
        "machine": outcome.machine(c.run),
        "cpus": c.run.manifest["fingerprint"].get("cpus_online"),
        "confidence": CONFIDENCE,
        "region": {name: list(ends) for name, ends in c.region.items()},
        "together": {"factor": REACH, "planes": [list(plane) for plane in c.region.planes]},
        "half_cold_switches_per_s": c.half,
        "usual": {name: getattr(c.usual, name) for name in CONDITIONS},
        "intervals": c.intervals,
        "held_out_limit": HELD_OUT_LIMIT,
        "arms": {arm: _arm(c, arm) for arm in c.fits},
        "break_even": [_meeting(e) for e in c.break_even],
        "verdicts": [
            {
                **{key: e[key] for key in ("point", "numerator", "denominator", "blocks")},
                **{name: c.place(e["point"])[name] for name in CONDITIONS},
                "ratio": _plain(e["ratio"]),
                **{key: e[key] for key in ("p_adjusted", "verdict", "why")},
            }
            for e in c.verdicts
        ],
        "fleet": [
            {**e, "cores_per_1000_nodes": _plain(e["cores_per_1000_nodes"])} for e in c.fleet
        ],
    }


def _arm(c: Crossover, arm: str) -> dict[str, Any]:
    fit = c.fits[arm]
    found = c.errors[arm]
    held_out = found[found.index.isin(c.held_out)]["error"].dropna()
    fitted = c.cells[(c.cells["arm"] == arm) & ~c.cells["point"].isin(c.held_out)]["interval_s"]
    return {
        "title": c.run.title(arm),
        "answers": str(c.run.arms[arm].get("answers") or "processes"),
        "hooked": outcome.hooked(c, arm),
        "blocks": [
            {"block": block, **dict(zip(TERMS, map(float, row), strict=True))}
            for block, row in zip(fit.blocks, fit.coefficients, strict=True)
        ],
        "terms": {name: _plain(fit.term(name)) for name in TERMS},
        "interval_s": [float(fitted.min()), float(fitted.max())],
        "not_varied": list(fit.left_out),
        "held_out_error": c.held_out_error(arm),
        "held_out_half_width": median_error(found[found.index.isin(c.held_out)]["half_width"]),
        "held_out_points": len(held_out),
    }


def _meeting(e: MeetingPoint) -> dict[str, Any]:
    return {
        "steeper": e.found.steeper,
        "flatter": e.found.flatter,
        "processes": int(e.where.processes),
        "interval_s": e.where.interval_s,
        "switches_per_s": _plain(e.found.rate),
        "always_cheaper": e.found.always,
        "again_below": e.found.again,
        "measured": not e.beyond,
        "beyond": list(e.beyond),
    }
