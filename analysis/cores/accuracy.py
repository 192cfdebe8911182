"""What each tool says of CPUs whose activity is known: error and bias, and who is closer.

Trials of kind cores: a load keeps each CPU busy for a part of the time, in bursts of one length; a
row of cores.csv.gz is one report on one CPU, known and reported in percent of that CPU.

    bias    mean of reported - known over a trial's reports (percentage points)
    error   mean of |reported - known|

One value of each a trial, hence a block.  Tools are set against each other in the same block and
under the same load: difference = the monitor's error - the other one's.  `sched_switch` or
`polling` is the closer one where the 95 % interval of the difference lies on its side of 0.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.external import HOOK, paired_difference
from analysis.load import Run
from analysis.rows import valid
from analysis.statistics.intervals import Interval, mean_interval

KIND = "cores"
MONITOR = "sched_switch_cores"
ALL_CPUS = -1  # cpu of a report that knows all CPUs together alone
Entry = dict[str, Any]


def load_name(duty: int, burst_us: int) -> str:
    """A load as the ledger names it: "20 % in bursts of 0.5 ms"."""
    return f"{duty} % in bursts of {burst_us / 1000:g} ms"


def by_trial(run: Run) -> pd.DataFrame:
    """Columns trial, arm, block, load, bias, error, worst (points), reports, each_cpu."""
    trials = run.trials[valid(run.trials, KIND)].set_index("trial")
    reports = run.cores[run.cores["trial"].isin(trials.index)]
    apart = (reports["reported_percent"] - reports["known_percent"]).astype(float)
    each = pd.DataFrame(
        {
            "trial": reports["trial"].astype(int),
            "apart": apart,
            "size": apart.abs(),
            "each_cpu": (reports["cpu"] != ALL_CPUS).astype(bool),
        }
    )
    made = each.groupby("trial").agg(
        bias=("apart", "mean"),
        error=("size", "mean"),
        worst=("size", "max"),
        reports=("size", "count"),
        each_cpu=("each_cpu", "all"),
    )
    about = trials.loc[made.index]
    loads = zip(about["duty_percent"].astype(int), about["burst_us"].astype(int), strict=True)
    return made.assign(
        arm=about["arm"].astype(str),
        block=about["block"].astype(int),
        load=[load_name(duty, burst) for duty, burst in loads],
    ).reset_index()


def cells(run: Run) -> list[Entry]:
    """Each arm under each load, those that failed with their reason.

    Keys arm, title, duty, burst_us, load, n (trials), bias and error (Interval, points), worst,
    each_cpu (False: it reports all CPUs together alone), reason.
    """
    each = by_trial(run)
    tried = run.trials[(run.trials["kind"] == KIND) & (run.trials["block"] > 0)]
    pairs = zip(tried["duty_percent"].astype(int), tried["burst_us"].astype(int), strict=True)
    loads = sorted(set(pairs), key=_rank)
    made: list[Entry] = []
    for arm in run.arms:
        for duty, burst in loads:
            here = each[(each["arm"] == arm) & (each["load"] == load_name(duty, burst))]
            rows = tried[(tried["arm"] == arm) & (tried["duty_percent"] == duty)]
            rows = rows[rows["burst_us"] == burst]
            if rows.empty:
                continue
            bad = rows[rows["status"] != "ok"]
            reason = ""
            if here.empty and len(bad):
                reason = f"{bad['status'].iloc[0]}: {bad['reason'].iloc[0]}"
            made.append(
                {
                    "arm": arm,
                    "title": run.title(arm),
                    "duty": duty,
                    "burst_us": burst,
                    "load": load_name(duty, burst),
                    "n": len(here),
                    "bias": mean_interval(here["bias"].to_numpy(dtype=float)),
                    "error": mean_interval(here["error"].to_numpy(dtype=float)),
                    "worst": float(here["worst"].max()) if len(here) else None,
                    "each_cpu": bool(here["each_cpu"].all()) if len(here) else None,
                    "reason": reason,
                }
            )
    return made


def _rank(load: tuple[int, int]) -> tuple[bool, int, int]:
    """Bursts as long as the duty cycle of 100 ms gives them first, by duty; then the short ones."""
    duty, burst = load
    return burst != 1000 * duty, duty, -burst


def compared(run: Run) -> list[Entry]:
    """The monitor against each polling tool, load by load.

    Keys arm, title (of the other one), load, difference (Interval, points), closer: sched_switch,
    polling or undetermined.
    """
    each = by_trial(run)
    made: list[Entry] = []
    for cell in cells(run):
        if run.arms[cell["arm"]].get("source") != "proc":
            continue
        here = each[each["load"] == cell["load"]]
        sides = [
            here[here["arm"] == arm].groupby("block")["error"].mean()
            for arm in (MONITOR, cell["arm"])
        ]
        if any(side.empty for side in sides):
            continue
        difference = paired_difference(*sides)
        entry = {key: cell[key] for key in ("arm", "title", "load")}
        made.append({**entry, "difference": difference, "closer": closer(difference)})
    return made


def closer(difference: Interval) -> str:
    """Whose errors are the smaller ones at 95 %."""
    if difference.low is None or difference.high is None:
        return "undetermined"
    if difference.high < 0:
        return "sched_switch"
    return "polling" if difference.low > 0 else "undetermined"


def answer(run: Run) -> Entry | None:
    """CORE-13 as the ledger reads it: see `analysis.answers.accuracy`. None without such trials.

    Per load the mean error of the collectors on sched_switch, less that of the polling tools, in
    each block.
    """
    each = by_trial(run)
    polling = [arm for arm, about in run.arms.items() if about.get("source") == "proc"]
    hooked = [arm for arm, about in run.arms.items() if about.get("hook") == HOOK]
    rows: list[Entry] = []
    for name in dict.fromkeys(cell["load"] for cell in cells(run)):
        here = each[each["load"] == name]
        mine = here[here["arm"].isin(hooked)].groupby("block")["error"].mean()
        theirs = here[here["arm"].isin(polling)].groupby("block")["error"].mean()
        if mine.empty or theirs.empty:
            continue
        difference = paired_difference(mine, theirs)
        entry = {"workload": name, "difference": difference.scaled(0.01)}  # of a CPU, not points
        rows.append({**entry, "closer": closer(difference)})
    return {"workloads": rows} if rows else None
