"""Which blocks a run leaves out, by steal and foreign host load, whatever arm they hit.

Literature
    ICH E9, "Statistical principles for clinical trials" (1998), sections 5.2 and 7.1: what is left
        out is decided by criteria written down beforehand, and blind to the treatment.

Foreign load of a window is busy time less what the trial itself can account for (agent, harness,
run time of its BPF programs while statistics are on), in percent of one core; from it the median
over all cost windows of the same level is taken off, since the load that the plan itself sets up
(600 waiting processes take 2 % of a core, 5,000 take 48 %) is the same for every arm.  A block is
left out if any of its cost windows, of whatever arm, is above a limit of the plan.  The rule reads
neither the arm nor its cost.  The warm-up is never analysed and is not judged.

Limits come from the plan (`exclusion`); runs planned without it keep all blocks, and a warning says
how many the present limits would have hit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis import levels
from analysis.rows import valid

COLUMNS = ["block", "processes_target", "point", "window_ns", "agent_ns", "harness_ns"]
COLUMNS += ["bpf_run_ns", "busy_ns", "steal_ns", "load_ns"]
WORDS = {"steal_percent_core": "steal", "foreign_percent_core": "foreign load"}
# As in experiment/presets.yaml, which plans copy; a test holds the two together.
LIMITS: Mapping[str, float] = {"steal_percent_core": 5.0, "foreign_percent_core": 25.0}


@dataclass(frozen=True)
class Excluded:
    """A block that is left out, and the worst of its windows in words."""

    block: int
    reason: str


def windows(trials: pd.DataFrame) -> pd.DataFrame:
    """Per valid cost window after the warm-up: block, and both loads in percent of one core."""
    rows = trials[COLUMNS][valid(trials, "cost")]

    def ns(column: str) -> pd.Series[float]:
        return pd.Series(rows[column].to_numpy(dtype=float, na_value=np.nan), index=rows.index)

    accounted = ns("agent_ns")
    for column in ("harness_ns", "bpf_run_ns", "load_ns"):
        accounted += ns(column).fillna(0.0)
    foreign = 100 * (ns("busy_ns") - accounted) / ns("window_ns")
    level = levels.of_rows(rows)
    return pd.DataFrame(
        {
            "block": rows["block"].astype(int),
            "steal_percent_core": 100 * ns("steal_ns") / ns("window_ns"),
            "foreign_percent_core": foreign - foreign.groupby(level).transform("median"),
        }
    )


def disturbed(trials: pd.DataFrame, limits: Mapping[str, Any]) -> tuple[Excluded, ...]:
    """Blocks with a window above any of the limits; a limit that is null or absent holds none."""
    if trials.empty or not any(limits.get(key) is not None for key in WORDS):
        return ()
    loads = windows(trials)
    found: list[Excluded] = []
    for block, rows in loads.groupby("block"):
        reasons = []
        for key, word in WORDS.items():
            limit, worst = limits.get(key), rows[key].max()
            if limit is not None and pd.notna(worst) and worst > float(limit):
                reasons.append(f"{word} {worst:.0f} % of a core (limit {limit:g})")
        if reasons:
            found.append(Excluded(int(str(block)), ", ".join(reasons)))
    return tuple(found)


def apply(
    plan: Mapping[str, Any], trials: pd.DataFrame
) -> tuple[pd.DataFrame, tuple[Excluded, ...]]:
    """The trials without the blocks that the plan's own limits leave out, and those blocks."""
    found = disturbed(trials, plan.get("exclusion") or {})
    gone = [entry.block for entry in found]
    return (trials[~trials["block"].isin(gone)] if gone else trials), found


def warnings(
    plan: Mapping[str, Any], trials: pd.DataFrame, found: tuple[Excluded, ...]
) -> list[str]:
    """What was left out, or would have been under the present limits."""
    if plan.get("exclusion"):
        if not found:
            return []
        listed = "; ".join(f"block {e.block}: {e.reason}" for e in found)
        return [f"{counted(len(found), plan)} left out as declared, blind to the arm: {listed}"]
    if "exclusion" in plan:
        return []
    hit = disturbed(trials, LIMITS)
    if not hit:
        return []
    return [
        f"planned before disturbed blocks were left out: the present limits "
        f"({limits_text(LIMITS)}) would have left out {counted(len(hit), plan)}"
    ]


def limits_text(limits: Mapping[str, Any]) -> str:
    """The limits in force, in words."""
    held = {key: float(limits[key]) for key in WORDS if limits.get(key) is not None}
    return " or ".join(f"{limit:g} % of a core of {WORDS[key]}" for key, limit in held.items())


def counted(n: int, plan: Mapping[str, Any]) -> str:
    """So many of the plan's blocks, in words."""
    return f"{n} of {plan.get('blocks', 'the')} blocks"
