"""The loads that external and fidelity trials are measured under: their names, in words."""

from __future__ import annotations

from typing import Any

import pandas as pd

# Rows of schema 1 name none: they had one workload a kind.
DEFAULT = {"external": "switch", "fidelity": "steady"}
STEADY = DEFAULT["fidelity"]

EVENTS = {"switch": "context switch", "exec": "exec", "open": "open", "send": "send"}
USES = {
    "steady": "one process, steady",
    "bursty": "one process, in bursts",
    "children": "short-lived children",
    "busy": "a loop without a pause",
    "threads": "many threads",
    "exits": "gone between scrapes",
    "leader_exits": "first thread exits",
}
CHILDREN = 200  # processes of the load `children` where the plan does not say


def of_planned(trial: dict[str, Any]) -> str:
    """Workload of a planned trial, the default filled in."""
    return str(trial.get("workload") or DEFAULT.get(str(trial["kind"]), ""))


def processes(trial: dict[str, Any]) -> int:
    """Over how many processes a planned load spreads the CPU time that is known."""
    workload = of_planned(trial)
    if workload == "children":
        return int(trial.get("children") or CHILDREN)
    if workload == "exits":  # one in each interval of the window but the first
        return max(1, int(1000 * trial["window_s"]) // int(trial["interval_ms"]) - 1)
    return 1


def of_rows(rows: pd.DataFrame) -> pd.Series[str]:
    """Workload of each row of trials, defaults filled in."""
    default = rows["kind"].astype(str).map(DEFAULT).fillna("")
    if "workload" not in rows:
        return default
    return rows["workload"].astype(object).where(rows["workload"].notna(), default).astype(str)


def in_words(name: str) -> str:
    """A workload in words; an unknown one by its name."""
    return EVENTS.get(name) or USES.get(name) or name.replace("_", " ")


def ranked(names: set[str]) -> list[str]:
    """Workloads in the order of tables and figures; unknown ones follow by name."""
    known = [name for name in (*EVENTS, *USES) if name in names]
    return known + sorted(names - set(known))
