"""What a program adds to other tasks' events, and whether two instruments agree on an arm's cost.

External instrument: a fixed count of work (`events`: billed context switches, program starts, ...)
is timed in turns of one process, without the arm, with it, with it, and without it. One value per
block, workload, pace and state of the statistics, the mean over the block's rounds of

    ns per event = (work_ns - unattached_ns) / events

so that drift cancels and the block stays the unit of inference. The null agent, which has no
program, goes through the same: what it is said to add is the instrument's own error.

Runs of schema 1 and 2 have no turns: there the null agent's trial, close by in the same block, is
what is taken off.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.load import Run
from analysis.rows import valid
from analysis.statistics.intervals import Interval, mean_interval
from analysis.workloads import DEFAULT, of_planned, of_rows

NULL_AGENT = "null_agent"
PACES = ("paced", "hot")
PAUSE_US = {"paced": 10_000, "hot": 0}  # where a row does not say how long
TURNS_SINCE = 3  # schema in which an external trial has turns without the arm
HOOK = "sched_switch"  # the event whose rate every row records
TIMER = "bpf_timer"  # kernel statistics do not count a kernel timer's runs


def has_turns(run: Run) -> bool:
    """True if each external trial has turns of its own without the arm."""
    return int(run.manifest["schema"]) >= TURNS_SINCE


def in_other_tasks(run: Run, arm: str) -> bool:
    """True if the arm's programs run in tasks other than its reader, out of its cgroup's sight."""
    return run.arms.get(arm, {}).get("context") in ("others", "both")


def _planned(run: Run) -> pd.DataFrame:
    """The plan's external trials, by number: workload, pace and round.

    Round: which repetition of its arm, workload, pace and statistics in its block a trial is.
    """
    seen: dict[tuple[Any, ...], int] = {}
    rows: list[tuple[int, str, str, int]] = []
    for trial in sorted(run.plan["trials"], key=lambda trial: int(trial["trial"])):
        if trial["kind"] == "external":
            workload, pace = of_planned(trial), str(trial["pace"])
            key = (trial["block"], workload, pace, trial.get("statistics"), trial["arm"])
            seen[key] = seen.get(key, 0) + 1
            rows.append((int(trial["trial"]), workload, pace, seen[key]))
    made = pd.DataFrame(rows, columns=["trial", "workload", "pace", "round"])
    return made.set_index("trial")


def events(run: Run) -> pd.DataFrame:
    """A row a valid external trial, the null agent's included.

    Columns arm, workload, pace, statistics, block, round, value (ns of work per event with the arm
    attached), alone (the same without it; NaN before schema 3), events, run_ns and runs (kernel
    statistics; NaN where they are off or missing), pause_us, rate (events a second while attached).
    """
    names = ["trial", "block", "arm", "statistics", "work_ns", "unattached_ns", "events"]
    names += ["pause_us", "window_ns"]
    rows = run.trials[[*names, "bpf_run_ns", "bpf_run_count"]][valid(run.trials, "external")]
    rows = rows.dropna(subset=["work_ns", "events"])
    planned = _planned(run).reindex(rows["trial"].astype(int))

    def number(column: str) -> npt.NDArray[np.float64]:
        return rows[column].to_numpy(dtype=np.float64, na_value=np.nan)

    usual = planned["pace"].map(PAUSE_US).to_numpy(dtype=np.float64)
    pause = number("pause_us")
    return pd.DataFrame(
        {
            "arm": rows["arm"].astype(str),
            "workload": planned["workload"].to_numpy(),
            "pace": planned["pace"].to_numpy(),
            "statistics": rows["statistics"].astype(str),
            "block": rows["block"].astype(int),
            "round": planned["round"].to_numpy(),
            "value": number("work_ns") / number("events"),
            "alone": number("unattached_ns") / number("events"),
            "events": number("events"),
            "run_ns": number("bpf_run_ns"),
            "runs": number("bpf_run_count"),
            "pause_us": np.where(np.isnan(pause), usual, pause),
            "rate": 1e9 * number("events") / number("window_ns"),
        }
    )


def added(each: pd.DataFrame, also: tuple[str, ...] = ()) -> pd.DataFrame:
    """Columns arm, workload, pace, statistics, block, value: added ns per event, from `events`.

    also: more columns to keep apart by.

    The null agent's rows are the instrument's own error; before schema 3 it has none. Rounds of a
    block are averaged, an invalid one is left out.
    """
    keys = ["arm", "workload", "pace", "statistics", *also, "block"]
    apart = each.assign(value=each["value"] - each["alone"].fillna(_siblings(each)))
    means = apart.dropna(subset=["value"]).groupby(keys)["value"].mean()
    return means.reset_index()


def _siblings(each: pd.DataFrame) -> pd.Series[float]:
    """What the null agent's trial took under the same load in the same round; NaN for its own."""
    keys = ["workload", "pace", "statistics", "block", "round"]
    is_null = each["arm"] == NULL_AGENT
    null = each[is_null].set_index(keys)["value"]
    wanted = pd.MultiIndex.from_frame(each[keys])
    found = pd.Series(null.reindex(wanted).to_numpy(dtype=float), index=each.index)
    return found.mask(is_null)


def ns_per_switch(run: Run) -> pd.DataFrame:
    """Columns arm, pace, block, value: added ns per context switch, statistics off."""
    each = events(run)
    found = added(each[each["pause_us"] == each["pace"].map(PAUSE_US)])
    switch = (found["workload"] == DEFAULT["external"]) & (found["statistics"] == "off")
    return found[switch & (found["arm"] != NULL_AGENT)][
        ["arm", "pace", "block", "value"]
    ].reset_index(drop=True)


def calibrated(run: Run, arm: str) -> bool:
    """True if the rate of the event that drives the arm's programs is in every row."""
    return run.arms.get(arm, {}).get("hook") == HOOK


def times_itself(run: Run, arm: str) -> bool:
    """True if only the arm's own clock (kernel_ns) sees its programs: kernel timers."""
    return run.arms.get(arm, {}).get("hook") == TIMER


def external_reason(run: Run, arm: str, pace: str = "paced") -> str:
    """Why the arm has no added cost per switch; empty if nothing stands against it."""
    if not calibrated(run, arm):
        event = run.arms.get(arm, {}).get("hook") or "no named event"
        return (
            f"its programs run outside its reader, on {event}, which no workload counts out, and "
            "no row has a time that they took themselves"
        )
    trials = run.trials[(run.trials["kind"] == "external") & (run.trials["pace"] == pace)]
    switch = (of_rows(trials) == DEFAULT["external"]) & (trials["statistics"] == "off")
    trials = trials[switch]
    for name in (arm,) if has_turns(run) else (arm, NULL_AGENT):
        rows = trials[trials["arm"] == name]
        if rows.empty:
            return f"the run has no {pace} calibration of {name}"
        if not ((rows["status"] == "ok") & (rows["block"] > 0)).any():
            bad = rows[rows["status"] != "ok"]
            detail = (
                "" if bad.empty or pd.isna(bad["reason"].iloc[0]) else f": {bad['reason'].iloc[0]}"
            )
            return f"no valid {pace} calibration of {name}{detail}"
    return ""


def calibration(run: Run) -> list[dict[str, Any]]:
    """Per arm and pace the mean added ns per switch (keys arm, pace, interval, reason)."""
    values = ns_per_switch(run)
    made: list[dict[str, Any]] = []
    for arm in run.arms:
        if not (in_other_tasks(run, arm) and calibrated(run, arm)):
            continue
        for pace in PACES:
            found = values[(values["arm"] == arm) & (values["pace"] == pace)]["value"]
            interval = mean_interval(found.to_numpy(dtype=float))
            reason = "" if interval.n else external_reason(run, arm, pace)
            made.append({"arm": arm, "pace": pace, "interval": interval, "reason": reason})
    return made


def agreement(residual: Interval) -> str:
    """Verdict of the cross-check on the residual (published method minus headline, % of a core)."""
    if residual.low is None or residual.high is None or residual.estimate is None:
        return f"not comparable: {residual.note}"
    half = (residual.high - residual.low) / 2
    if residual.low <= 0 <= residual.high:
        return f"agree within the joint interval, ±{half:.3g} % of a core"
    side = "above" if residual.estimate > 0 else "below"
    return f"gap: kernel statistics {abs(residual.estimate):.3g} % of a core {side} the headline"


def paired_difference(x: pd.Series[float], y: pd.Series[float]) -> Interval:
    """Interval of x - y over the blocks both have."""
    both = x.index.intersection(y.index)
    return mean_interval(np.asarray(x.loc[both] - y.loc[both], dtype=np.float64))
