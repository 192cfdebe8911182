"""What fidelity trials and slopes say of two published claims, as facts for the ledger of claims.

CORE-13, "per-core active time from sched_switch is more accurate than polling tools": the time of
processes, not of cores, is what the trials know.  Per workload the absolute errors of the
collectors on sched_switch are set against those of the polling ones, paired by block:
difference = mean |error| of the former - mean |error| of the latter. Over the loads, each such
collector is held against the polling ones by the sign test (exact binomial, two-sided).

PROC-7, "sleeping processes cost the eBPF collector nothing": fidelity trials see no cost.  What
they do decide is whose cost counts; the cost of one more sleeping process is the slope of the
headline over process counts, where a run has several.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analysis.cores import accuracy as core_accuracy
from analysis.external import HOOK, paired_difference
from analysis.fidelity import errors, failed
from analysis.load import Run
from analysis.scaling import Line
from analysis.statistics.intervals import Interval
from analysis.text import interval, p_text
from analysis.workloads import in_words, ranked

Entry = dict[str, Any]
NOTHING_SEEN = {None: "undetermined", True: "not told from nothing", False: "not nothing"}
NOT_CORES = "time per process; per-core time is not measured"


def _groups(run: Run) -> dict[str, list[str]]:
    """Collectors on sched_switch, and those that poll /proc."""
    return {
        "sched_switch": [a for a, about in run.arms.items() if about.get("hook") == HOOK],
        "polling": [a for a, about in run.arms.items() if about.get("source") == "proc"],
    }


def accuracy(run: Run) -> Entry | None:
    """CORE-13 as far as fidelity trials reach. None where only one kind of collector was tried.

    Keys about, workloads, arms, text. Of a workload: its name; for sched_switch and polling
    {median_absolute, n, arms: {arm: median}}; difference (Interval, a share); closer: sched_switch,
    polling or undetermined. Of an arm on sched_switch: title, and over how many loads its mean
    |error| is the smaller, with the two-sided p of the sign test: {closer_on, loads, p}.
    """
    each, groups = errors(run), _groups(run)
    each = each.assign(absolute=each["error"].abs())
    rows = [
        row
        for workload in ranked(set(each["workload"]))
        if (row := _of_load(run, each[each["workload"] == workload], groups)) is not None
    ]
    if not rows:
        return None
    arms = [_of_arm(run, each, arm, groups["polling"]) for arm in groups["sched_switch"]]
    arms = [entry for entry in arms if entry["loads"]]
    made: Entry = {"about": NOT_CORES, "workloads": rows, "arms": arms}
    return {**made, "text": _said(rows, arms)}


def _of_load(run: Run, here: pd.DataFrame, groups: dict[str, list[str]]) -> Entry | None:
    sides = {name: here[here["arm"].isin(arms)] for name, arms in groups.items()}
    if any(side.empty for side in sides.values()):
        return None
    means = [side.groupby("block")["absolute"].mean() for side in sides.values()]
    difference = paired_difference(*means)
    row: Entry = {"workload": str(here["workload"].iloc[0])}
    for name, side in sides.items():
        medians = side.groupby("arm")["absolute"].median()
        row[name] = {
            "median_absolute": float(np.median(side["absolute"])),
            "n": len(side),
            "arms": {arm: float(medians[arm]) for arm in run.arms if arm in medians.index},
        }
    return {**row, "difference": difference, "closer": _closer(difference)}


def _of_arm(run: Run, each: pd.DataFrame, arm: str, polling: list[str]) -> Entry:
    """The loads are the unit here: how often one is closer is what few blocks can still say."""
    mine = each[each["arm"] == arm].groupby("workload")["absolute"].mean()
    theirs = each[each["arm"].isin(polling)].groupby("workload")["absolute"].mean()
    apart = (mine - theirs).dropna()
    apart = apart[apart != 0]
    wins, loads = int((apart < 0).sum()), len(apart)
    p = float(stats.binomtest(wins, loads).pvalue) if loads else None
    return {"arm": arm, "title": run.title(arm), "closer_on": wins, "loads": loads, "p": p}


def _closer(difference: Interval) -> str:
    if difference.low is None or difference.high is None:
        return "undetermined"
    if difference.high < 0:
        return "sched_switch"
    return "polling" if difference.low > 0 else "undetermined"


def _said(rows: list[Entry], arms: list[Entry]) -> str:
    parts = [
        f"{e['title']} on {e['closer_on']} of {e['loads']} loads (sign test, p = {p_text(e['p'])})"
        for e in arms
    ]
    worst = max(rows, key=lambda row: abs(row["difference"].estimate or 0.0))
    sides = [
        f"{100 * worst[name]['median_absolute']:.2g} %" for name in ("sched_switch", "polling")
    ]
    return (
        f"Closer to known CPU time than polling: {'; '.join(parts)}. Furthest apart on "
        f"{in_words(worst['workload'])}: median absolute error {sides[0]} by sched_switch, "
        f"{sides[1]} by polling. This is {NOT_CORES}."
    )


def sleeping(run: Run, lines: list[Line], fidelity: list[Entry]) -> Entry | None:
    """PROC-7: what one more sleeping process costs each collector on sched_switch, in ns a scrape.

    Keys slopes [{arm, title, ns_per_process_and_scrape (Interval), nothing}], text; `nothing` is
    False where the interval lies above zero, None where it cannot tell, True where it holds zero.
    None for a run without such a collector.
    """
    arms = _groups(run)["sched_switch"]
    if not arms:
        return None
    wrong = failed(fidelity)
    slopes: list[Entry] = []
    for line in lines:
        if line.arm not in arms or line.measure != "headline" or line.arm in wrong:
            continue
        found = line.ns_per_process
        known = found.low is not None and found.high is not None
        nothing = found.low <= 0 if known and found.low is not None else None
        slope: Entry = {"arm": line.arm, "title": run.title(line.arm)}
        slopes.append({**slope, "ns_per_process_and_scrape": found, "nothing": nothing})
    said = [
        f"{s['title']} {interval(s['ns_per_process_and_scrape'])} ns, " + NOTHING_SEEN[s["nothing"]]
        for s in slopes
    ]
    text = (
        f"One more sleeping process costs a scrape: {'; '.join(said)}."
        if said
        else "Fidelity trials see no cost, and this run has no headline at two process counts."
    )
    return {"slopes": slopes, "text": text}


def answers(run: Run, lines: list[Line], fidelity: list[Entry]) -> dict[str, Entry]:
    """By claim; a claim that the run does not speak to is left out."""
    found = {
        "CORE-13": core_accuracy.answer(run) or accuracy(run),
        "PROC-7": sleeping(run, lines, fidelity),
    }
    return {claim: entry for claim, entry in found.items() if entry is not None}
