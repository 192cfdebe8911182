"""Several sessions of one preset on one machine: what holds over them, and how much they differ.

Literature
    T. Kalibera, R. Jones, "Rigorous benchmarking in reasonable time", ISMM (2013): the highest
        level that was repeated at random is the unit of inference; ratios of means with Fieller
        intervals over the means of that level.
    E. C. Fieller (1954), Student (1908): see `statistics.intervals`.

The unit is the session, one value of each arm a session: the mean over its blocks.  The pooled
ratio is Fieller's over those pairs, not a t interval over the sessions' ratios: a fleet pays the
mean cost, so the estimand is the ratio of means, over sessions the same one as over blocks.
Scatter of blocks is inside the session means already, so that k sessions have k - 1 degrees of
freedom, whatever the number of blocks: with three the t quantile is 4.30 and the interval is wide.
The exact permutation test needs six sessions to reach .05; below that p is Student's, over the
sessions' differences, which takes their means to be normal: each is a mean over blocks.

A session counts for a contrast if half its planned blocks hold both arms; which blocks do not is
decided row by row without a look at the costs.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import numpy as np

from analysis.pooled import decide, over_means
from analysis.statistics.intervals import Interval
from analysis.statistics.types import Array
from analysis.statistics.variance import between

MACHINE = ("cpu_model", "release", "cpus_online", "architecture")
HELD = 0.5  # share of the planned blocks that must hold both arms
Summary = dict[str, Any]


def machine_key(summary: Summary) -> tuple[str, ...]:
    """What makes two machines one: CPU model and number, kernel release, architecture."""
    return tuple(str(summary["fingerprint"].get(key)) for key in MACHINE)


def groups(summaries: Sequence[Summary]) -> list[dict[str, Any]]:
    """Runs of one study, preset and machine that can be pooled, where there are two or more.

    Keys study, preset, machine (8 hexadecimal digits), runs (summaries, oldest first), left_out
    [{run, reason}]: the preset's other runs, with what keeps each from being pooled. A run of
    design points is not one of them: its levels are no numbers of processes.
    """
    summaries = [s for s in summaries if not s.get("crossover")]
    made = []
    kinds = dict.fromkeys((s["study"], s["preset"], machine_key(s)) for s in summaries)
    for study, preset, machine in sorted(kinds):
        preset_runs = [s for s in summaries if (s["study"], s["preset"]) == (study, preset)]
        preset_runs.sort(key=lambda s: (s["started_utc"], s["run"]))
        here = [s for s in preset_runs if machine_key(s) == machine and s["finished"]]
        usual = Counter(s["interval_ms"] for s in here).most_common(1)
        kept = [s for s in here if s["interval_ms"] == usual[0][0]]
        if len(kept) < 2:
            continue
        left = [
            {"run": s["run"], "reason": _why_not(s, machine, usual[0][0])}
            for s in preset_runs
            if s not in kept
        ]
        digest = hashlib.sha256("\n".join(machine).encode()).hexdigest()[:8]
        made.append(
            {"study": study, "preset": preset, "machine": digest, "runs": kept, "left_out": left}
        )
    return made


def _why_not(summary: Summary, machine: tuple[str, ...], interval_ms: int) -> str:
    differs = [
        f"{name.replace('_', ' ')} {mine}, not {theirs}"
        for name, mine, theirs in zip(MACHINE, machine_key(summary), machine, strict=True)
        if mine != theirs
    ]
    if differs:
        return "another machine: " + "; ".join(differs)
    if not summary["finished"]:
        return "unfinished"
    return f"a scrape every {summary['interval_ms']} ms, not {interval_ms}"


def _session(summary: Summary, contrast_id: str, like: dict[str, Any]) -> dict[str, Any]:
    """One session's part in a contrast; `reason` says why it does not count, else it is empty."""
    entry: dict[str, Any] = {"run": summary["run"], "started_utc": summary["started_utc"]}
    found = next((c for c in summary["contrasts"] if c["id"] == contrast_id), None)
    same = ("numerator", "denominator", "statistics", "processes", "measure")
    if found is None or any(found[key] != like[key] for key in same):
        return {**entry, "reason": "its plan does not have this contrast"}
    if "ratio" not in found:
        return {**entry, "reason": found["why"]}
    keys = ("numerator_cost", "denominator_cost", "difference", "ratio", "blocks", "p_adjusted")
    entry |= {key: found[key] for key in keys} | {"verdict": found["verdict"]}
    planned = int(summary["blocks"])
    few = found["blocks"] < HELD * planned or found["blocks"] < 2
    reason = f"only {found['blocks']} of {planned} blocks hold both arms" if few else ""
    return {**entry, "reason": reason}


def _costs(sessions: list[dict[str, Any]], side: str) -> Array:
    return np.array([s[side]["estimate"] for s in sessions], dtype=np.float64)


def _spread(runs: Sequence[Summary], contrast_id: str, used: list[dict[str, Any]]) -> Any:
    """How far the sessions' ratios lie apart, beyond what their blocks explain (percent of it)."""
    noise: dict[str, dict[str, Any]] = {
        s["run"]: next((e for e in s["noise"]["contrasts"] if e["id"] == contrast_id), {})
        for s in runs
    }
    errors, logs = [], []
    for s in used:
        e = noise[s["run"]]
        ratio = s["ratio"]["estimate"]
        if e.get("cv_numerator") is None or ratio is None or ratio <= 0:
            return None
        x, y, r = e["cv_numerator"], e["cv_denominator"], e["correlation"]
        errors.append((x * x + y * y - 2 * r * x * y) / e["blocks"])
        logs.append(math.log(ratio))
    found = between(logs, errors, sum(s["blocks"] - 1 for s in used))
    if found is None:
        return None
    parts = {"sd_percent": found.observed, "expected_percent": found.expected}
    parts |= {"between_percent": max(found.variance, 0.0)}
    return {**{key: 100 * math.sqrt(v) for key, v in parts.items()}, "p": found.p}


def pool(runs: Sequence[Summary]) -> list[dict[str, Any]]:
    """The contrasts of a group over its sessions.

    Keys id, numerator, denominator, statistics, level, measure, titles, per_session, between,
    pooled {ratio, difference, numerator, denominator (Interval), n_sessions, p, p_adjusted,
    verdict, why} or None with `reason`. Costs in percent of one core.
    """
    declared: dict[str, dict[str, Any]] = {}
    for summary in runs:
        for contrast in summary["contrasts"]:
            declared.setdefault(contrast["id"], contrast)
    titles = {cell["arm"]: cell["title"] for summary in runs for cell in summary["cells"]}
    made: list[dict[str, Any]] = []
    for name, like in declared.items():
        sessions = [_session(summary, name, like) for summary in runs]
        used = [s for s in sessions if not s["reason"]]
        entry: dict[str, Any] = {
            **{key: like[key] for key in ("id", "numerator", "denominator", "statistics")},
            "level": like["processes"],
            "measure": like["measure"],
            "titles": [titles.get(like[side], like[side]) for side in ("numerator", "denominator")],
            "per_session": sessions,
            "between": _spread(runs, name, used),
            "pooled": None,
            "reason": f"{len(used)} session counts, two are the fewest" if len(used) < 2 else "",
        }
        if len(used) > 1:
            x, y = _costs(used, "numerator_cost"), _costs(used, "denominator_cost")
            entry["pooled"] = {**over_means(x, y, len(declared)), "n_sessions": len(used)}
        made.append(entry)
    decide([e["pooled"] for e in made], "sessions")
    return made


def variance(runs: Sequence[Summary]) -> list[dict[str, Any]]:
    """Scrapes, blocks and sessions: the reader's CPU of every cell that all sessions have.

    Keys arm, title, statistics, processes, mean, sessions; scrape, block, session (variances in
    (percent of a core)^2, unbiased, None where unknown); shares {scrape, block, session}: of the
    variance of the mean over all sessions, what each level causes, 0 to 1; p of "no variance
    between sessions".
    """
    titles = {cell["arm"]: cell["title"] for summary in runs for cell in summary["cells"]}
    by_cell: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for summary in runs:
        for e in summary["noise"]["variance"]:
            by_cell.setdefault((e["arm"], e["statistics"], e["processes"]), []).append(e)
    made = []
    for (arm, state, processes), cells in by_cell.items():
        if len(cells) < len(runs) or len(cells) < 2:
            continue
        degrees = sum(e["blocks"] - 1 for e in cells)
        found = between(
            [e["mean"] for e in cells], [e["observed"] / e["blocks"] for e in cells], degrees
        )
        assert found is not None
        known = [e for e in cells if e["scrape"] is not None]
        scrape = float(np.mean([e["scrape"] for e in known])) if known else None
        block = float(np.mean([e["block"] for e in known])) if known else None
        entry = {"arm": arm, "title": titles.get(arm, arm), "statistics": state}
        entry |= {"processes": processes, "mean": float(np.mean([e["mean"] for e in cells]))}
        entry |= {"sessions": len(cells), "scrape": scrape, "block": block}
        entry |= {"session": found.variance, "p": found.p}
        made.append({**entry, "shares": _shares(known, found.variance, len(cells))})
    return made


def _shares(cells: list[dict[str, Any]], session: float, sessions: int) -> dict[str, float] | None:
    """Parts of the variance of the mean over all sessions; None without scrapes or variance."""
    if len(cells) < sessions:
        return None
    parts = {
        "scrape": float(np.mean([e["scrape"] * e["inverse"] / e["blocks"] for e in cells])),
        "block": float(np.mean([max(e["block"], 0.0) / e["blocks"] for e in cells])),
        "session": max(session, 0.0),
    }
    whole = sum(parts.values())
    return {key: part / whole for key, part in parts.items()} if whole > 0 else None


def generalises(runs: Sequence[Summary]) -> str:
    """Over what a verdict of these sessions speaks, and over what it does not."""
    boots = {s["fingerprint"].get("boot") for s in runs}
    begun = [datetime.fromisoformat(str(s["started_utc"])) for s in runs]
    hours = (max(begun) - min(begun)).total_seconds() / 3600
    within = f"begun within {hours:.1f} hours" if hours < 48 else f"over {hours / 24:.0f} days"
    if None in boots:
        where, never = "boots not recorded", "machines or boots"
    elif len(boots) == 1:
        where, never = "in one boot", "machines or boots"
    else:
        where, never = f"in {len(boots)} boots", "machines"
    return f"over {len(runs)} sessions on one machine, {where}, {within}; not over {never}"


def plain(value: Any) -> Any:
    """The same with every Interval as a mapping, for JSON."""
    if isinstance(value, Interval):
        made = asdict(value)
        return made if made["note"] else {k: v for k, v in made.items() if k != "note"}
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, list) else value
