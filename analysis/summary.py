"""A run's outcome as one JSON value."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from analysis import levels
from analysis.contrasts import Comparison, compare
from analysis.crossover import summary as crossover
from analysis.exact import Digits
from analysis.fidelity import failed
from analysis.figures.kinds import machine
from analysis.levels import LEFT_ALONE
from analysis.published import article_of, claim_at
from analysis.results import Results
from analysis.sentence import sentence
from analysis.statistics.intervals import Interval
from analysis.statistics.permutation import ALPHA, blocks_needed, smallest_p

COSTS = ("headline", "headline_net", "headline_hot", "agent", "others", "switches_per_s")
CROSSCHECKED = ("headline", "published", "residual", "per_run", "per_run_gap")
# What tells machines apart, and one boot of a machine from another.
IDENTITY = ("cpu_model", "release", "cpus_online", "architecture", "boot")
GENERALISES = "over blocks of this run on this machine, not over machines or boots"


def _interval(value: Interval | None) -> dict[str, Any] | None:
    if value is None:
        return None
    made: dict[str, Any] = {"estimate": value.estimate, "low": value.low, "high": value.high}
    return {**made, "n": value.n, **({"note": value.note} if value.note else {})}


def _plain(value: Any) -> Any:
    """The same with every Interval and range as a JSON object."""
    if isinstance(value, Interval):
        return _interval(value)
    if isinstance(value, Digits):
        return asdict(value)
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return value


def _at_level(entry: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = _plain({k: v for k, v in entry.items() if k != "level"})
    return {**plain, **levels.at(entry["level"])}


def _comparison(c: Comparison | None) -> dict[str, Any]:
    if c is None:
        return {}
    return {
        "numerator_cost": _interval(c.numerator),
        "denominator_cost": _interval(c.denominator),
        "difference": _interval(c.difference),
        "ratio": _interval(c.ratio),
        "blocks": len(c.blocks),
        "dropped_blocks": c.dropped,
        "p": c.p,
        "detectable_percent_core": c.detectable,
    }


def _cells(r: Results) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for level in [] if r.has_points else r.levels:
        for arm in r.arms:
            published = r.measures.get("published", arm, level).to_numpy(dtype=np.float64)
            entry: dict[str, Any] = {
                "arm": arm,
                "title": r.run.title(arm),
                **levels.at(level),
                "published": {
                    "mean": float(published.mean()) if len(published) else None,
                    "sd": float(published.std(ddof=0)) if len(published) else None,
                    "n": len(published),
                },
            }
            for measure in COSTS:
                entry[measure] = _interval(r.interval(measure, arm, level))
            entry["reason"] = r.measures.reason("headline", arm, level)
            entry["reason_published"] = r.measures.reason("published", arm, level)
            made.append(entry)
    return made


def _main(r: Results) -> dict[str, Any] | None:
    """The pair of the article, at its process count, by the best method that both arms have."""
    source = article_of(r.run.study)
    if source is None or not {source["proc"], source["ebpf"]} <= set(r.arms):
        return None
    pair = (source["proc"], source["ebpf"])
    wanted = source["headline_processes"]
    wanted = LEFT_ALONE if wanted is None else wanted
    candidates = sorted(r.levels, key=lambda level: (abs(level - wanted), -level))

    def both(measure: str, level: int) -> bool:
        return all(len(r.measures.get(measure, arm, level)) for arm in pair)

    chosen = [(m, lv) for lv in candidates for m in ("headline", "published") if both(m, lv)]
    measure, level = chosen[0] if chosen else ("headline", candidates[0])
    x, y = (r.measures.get(measure, arm, level) for arm in pair)
    if not chosen and r.main_measure() == "published":
        measure = "published"
        x, y = (r.measures.get(measure, arm, level) for arm in pair)
    claim = claim_at(r.run.study, level)
    c = compare(x, y) if chosen else None
    wrong = [text for arm, text in failed(r.fidelity).items() if arm in pair]
    sides = {}
    for n, (side, arm) in enumerate(zip(("proc", "ebpf"), pair, strict=True)):
        # The means of the ratio's own blocks, so that the sentence's numbers fit each other.
        paired = (c.numerator, c.denominator)[n] if c and c.blocks else None
        sides[side] = {
            "arm": arm,
            "title": r.run.title(arm),
            **(_interval(paired or r.interval(measure, arm, level)) or {}),
            "reason": r.measures.reason(measure, arm, level),
        }
    return {
        **sides,
        "processes": levels.processes_of(level),
        "interval_ms": r.run.plan.get("interval_ms"),
        "measure": measure,
        "ratio": _interval(c.ratio) if c and c.blocks and not wrong else None,
        "failed": "; ".join(wrong) or None,
        "article_ratio": claim["ratio"] if claim else None,
        "article_processes": claim["processes"] if claim else None,
    }


def summarise(r: Results) -> dict[str, Any]:
    """The summary of a run; every number in it can be None, none is NaN."""
    run, family = r.run, len(r.contrasts)
    blocks = int(run.plan.get("blocks") or 0)
    a_a = r.a_a and {
        **{key: r.a_a[key] for key in ("arm", "statistics", "verdict", "why")},
        **levels.at(r.a_a["level"]),
        **_comparison(r.a_a["comparison"]),
    }
    summary: dict[str, Any] = {
        "schema": run.manifest["schema"],
        "study": run.study,
        "run": run.name,
        "preset": run.manifest["preset"],
        "finished": run.finished,
        "started_utc": run.manifest["started_utc"],
        "machine": machine(run),
        "fingerprint": {key: run.manifest["fingerprint"].get(key) for key in IDENTITY},
        "instrument": run.manifest["instrument"],
        "seed": run.plan.get("seed"),
        "interval_ms": run.plan.get("interval_ms"),
        "blocks": blocks,
        "levels": [levels.processes_of(level) for level in ([] if r.has_points else r.levels)],
        "main": _main(r),
        "cells": _cells(r),
        "contrasts": [
            {
                **{key: e[key] for key in ("id", "numerator", "denominator", "statistics")},
                **levels.at(e["level"]),
                "measure": e["measure"],
                **_comparison(e["comparison"]),
                "p_adjusted": e["p_adjusted"],
                "verdict": e["verdict"],
                "why": e["why"],
                "beside": {name: _comparison(c) for name, c in e["others"].items()},
            }
            for e in r.contrasts
        ],
        "generalises": GENERALISES,
        "exclusion": run.plan.get("exclusion"),
        "excluded_blocks": [{"block": e.block, "reason": e.reason} for e in run.excluded],
        "reach": {
            "smallest_adjusted_p": min(1.0, smallest_p(blocks) * max(family, 1)),
            "alpha": ALPHA,
            "blocks_needed": blocks_needed(max(family, 1)),
        },
        "a_a": a_a,
        "drift_percent_per_block": _interval(r.drift["slope"]),
        "noise": _noise(r),
        "calibration": [{**e, "interval": _interval(e["interval"])} for e in r.calibration],
        "crosscheck": [
            {
                "arm": e["arm"],
                **levels.at(e["level"]),
                **{k: _interval(e[k]) for k in CROSSCHECKED},
                "outcome": e["text"],
            }
            for e in r.crosscheck
        ],
        "fidelity": _plain(r.fidelity),
        "fidelity_answers": _plain(r.answers),
        "accounts": _plain(r.accounts),
        "of_nothing": _plain(r.of_nothing),
        "sources": {arm: about.get("source") for arm, about in run.arms.items()},
        "backend": str(run.plan.get("backend") or "here"),
        "exact": {
            "cells": [_at_level(e) for e in r.exact],
            "slopes": _plain(r.exact_slopes),
            "contrasts": [_at_level(e) for e in r.exact_contrasts],
        },
        "harness": {**r.harness, "percent_core": _interval(r.harness["percent_core"])},
        "scaling": [
            {
                "arm": line.arm,
                "measure": line.measure,
                "ns_per_process_and_scrape": _interval(line.ns_per_process),
                "intercept_percent_core": _interval(line.intercept),
                "largest_relative_misfit": line.misfit,
            }
            for line in r.lines
        ]
        + [
            {
                "arm": line["arm"],
                "measure": "headline",
                "ns_per_thread_and_scrape": _interval(line["per_thread"]),
                "intercept_percent_core": _interval(line["intercept"]),
                "largest_relative_misfit": line["misfit"],
            }
            for line in r.thread_lines
        ],
        "warnings": r.warnings,
    }
    if r.own or r.core_accuracy:
        summary["cores"] = {
            "own": [_at_level(e) for e in r.own],
            "ratios": [
                {
                    **_at_level({k: v for k, v in e.items() if k != "comparison"}),
                    **_comparison(e["comparison"]),
                }
                for e in r.own_ratios
            ],
            "accuracy": _plain(r.core_accuracy),
            "compared": _plain(r.core_contrasts),
        }
    if r.sensor is not None:
        summary["sensor"] = _plain(vars(r.sensor)) | {
            "ratios": [
                {k: _plain(v) for k, v in e.items() if k != "comparison"}
                | _comparison(e["comparison"])
                for e in r.sensor.ratios
            ]
        }
    if r.crossover is not None:
        summary["crossover"] = crossover.summary(r.crossover)
    return {**summary, "sentence": sentence(summary)}


def _noise(r: Results) -> dict[str, Any]:
    """What sessions are pooled from, and what a plan is forecast from."""
    place = {key: _interval(r.position[key]) for key in ("last_against_first", "after_change")}
    return {
        "variance": [
            {
                "arm": e["arm"],
                "statistics": e["statistics"],
                **levels.at(e["level"]),
                **asdict(e["split"]),
                "block": e["split"].block,
                "best_scrapes": e["best_scrapes"],
            }
            for e in r.variance
        ],
        "contrasts": [
            {
                **{key: value for key, value in e.items() if key not in ("level", "replica")},
                **levels.at(e["level"]),
                "autocorrelation": _interval(e["autocorrelation"]),
            }
            for e in r.noise
        ],
        "position_percent": place,
    }
