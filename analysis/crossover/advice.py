"""The fitted models of the newest runs as one file: what `./study advise` reckons with.

It is read without any package, by standard-library JSON: the region's hull comes as its planes, and
there is one set of coefficients per block, with its number: whoever reads it can form the interval
of any difference by itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.crossover.model import TERMS
from analysis.exact import BACKEND

SCHEMA = 2
PRESETS = ("full", "paper", "exact", "quick")  # the weightiest first; others come last
DIGITS = 9  # of a coefficient: the same text on every platform
Summary = Mapping[str, Any]


def newest(summaries: Sequence[Summary], backend: str = "here") -> Summary | None:
    """The finished crossover run with a model that speaks for a backend; None without one."""
    found = [
        s
        for s in summaries
        if s.get("crossover")
        and s["crossover"]["arms"]
        and s["finished"]
        and (s.get("backend") or "here") == backend
    ]
    return max(found, key=lambda s: (-_rank(str(s["preset"])), str(s["run"])), default=None)


def _rank(preset: str) -> int:
    return PRESETS.index(preset) if preset in PRESETS else len(PRESETS)


def models(summaries: Sequence[Summary]) -> dict[str, Any]:
    """{"schema": 2, "models": [...]}: the live model, then the exact one, as far as there are."""
    found = [newest(summaries, backend) for backend in ("here", BACKEND)]
    return {"schema": SCHEMA, "models": [_model(run) for run in found if run is not None]}


def text(summaries: Sequence[Summary]) -> str:
    """The file's content."""
    made = json.dumps(models(summaries), indent=1, ensure_ascii=False, allow_nan=False)
    return made + "\n"


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def _model(run: Summary) -> dict[str, Any]:
    c = run["crossover"]
    return {
        "run": f"{run['study']}/{run['run']}",
        "backend": run.get("backend") or "here",
        "unit": c["unit"],
        "machine": c["machine"],
        "cpus": c["cpus"],
        "confidence": c["confidence"],
        "region": {name: [_rounded(end) for end in ends] for name, ends in c["region"].items()},
        "together": c["together"],
        "half_cold_switches_per_s": c["half_cold_switches_per_s"],
        "arms": {
            arm: {
                "title": about["title"],
                "answers": about["answers"],
                # a run that was processed before there was this key goes without
                **(
                    {"interval_s": [_rounded(end) for end in about["interval_s"]]}
                    if "interval_s" in about
                    else {}
                ),
                "blocks": [
                    {"block": block["block"], **{term: _rounded(block[term]) for term in TERMS}}
                    for block in about["blocks"]
                ],
                "held_out_median_error": _rounded(about["held_out_error"]),
            }
            for arm, about in c["arms"].items()
        },
    }
