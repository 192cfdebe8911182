"""What `perf stat` counts of a tool's own processes, from its start to its end: the source's table.

Trials of kind from_start, statistics on; a value a block, for a window as long as the plan's:

    task_clock        own_task_clock_ns / 1e6 (ms)
    cpu_usage         100 own_task_clock_ns / window_ns (% of a core)
    context_switches  own_switches
    system_time, user_time   own_system_ns, own_user_ns / 1e6 (ms); split by ticks, see the schema
    instructions      own_instructions / 1e6 (millions): a hardware counter's, where there is one.
                      In the exact machine own_task_clock_ns / 2 / 1e6: its scheduler's clock
                      takes 2 ns for each instruction
    with_program      task_clock + bpf_run_ns / 1e6 (ms): what its program takes of other tasks'
                      time added, which the source's method leaves out
    instructions_whole   the same of instructions, in the exact machine alone: (user + kernel + BPF
                      of the window - those of the block's empty window) / 1e6

Every ratio is `top`'s over a monitor's, paired by block as every contrast is, and judged by its
own 95 % interval: these are the source's numbers, each with an error of its own, and no family of
ours. Equivalence: the interval inside 0.9 to 1.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis import exact, levels
from analysis.contrasts import RATIO_MARGIN, Comparison, compare
from analysis.external import in_other_tasks
from analysis.load import Run
from analysis.rows import valid
from analysis.statistics.intervals import Interval, mean_interval

KIND = "from_start"


class Measure(NamedTuple):
    """Its name for a reader, and its unit."""

    title: str
    unit: str


MEASURES = {
    "task_clock": Measure("task-clock", "ms"),
    "cpu_usage": Measure("CPU usage", "% of a core"),
    "instructions": Measure("instructions", "million"),
    "instructions_whole": Measure("instructions of the whole machine", "million"),
    "context_switches": Measure("context switches", ""),
    "system_time": Measure("system time", "ms"),
    "user_time": Measure("user time", "ms"),
    "with_program": Measure("task-clock and program", "ms"),
}
#: What stands beside a measure of the process alone: its program's share in other tasks added.
WHOLE = {
    "task_clock": "with_program",
    "cpu_usage": "with_program",
    "instructions": "instructions_whole",
}
#: All that is told of the exact machine: its clock is no time.
COUNTED = ("instructions", "instructions_whole")
TOP = "top"  # numerator of every ratio
#: Denominators: the source's program, and the one that puts its faults right.
PUBLISHED, CORRECTED = "sched_switch_cores_published", "sched_switch_cores"
RANGE = "median and range over perturbations"
COLUMNS = ["arm", "block", "stress_threads", "processes_target", "statistics", "window_ns"]
COLUMNS += ["own_task_clock_ns", "own_user_ns", "own_system_ns", "own_switches", "bpf_run_ns"]
COLUMNS += ["own_instructions", *exact.COLUMNS]


def by_block(run: Run) -> pd.DataFrame:
    """Columns arm, level, block and every measure; NaN where the rows have none."""
    trials = run.trials
    rows = trials[COLUMNS][valid(trials, KIND)]

    def column(name: str) -> pd.Series[float]:
        return pd.Series(rows[name].to_numpy(dtype=np.float64, na_value=np.nan), index=rows.index)

    clock, window = column("own_task_clock_ns"), column("window_ns")
    arms = rows["arm"].astype(str)
    outside = arms.map(lambda arm: in_other_tasks(run, arm)).to_numpy(dtype=bool)
    made = pd.DataFrame(
        {
            "arm": arms,
            "level": levels.of_rows(rows),
            "block": rows["block"].astype(int),
            "task_clock": clock / 1e6,
            "cpu_usage": 100 * clock / window,
            "instructions": column("own_instructions") / 1e6,
            "instructions_whole": np.nan,
            "context_switches": column("own_switches"),
            "system_time": column("own_system_ns") / 1e6,
            "user_time": column("own_user_ns") / 1e6,
            "with_program": (clock + column("bpf_run_ns").where(outside, 0.0)) / 1e6,
        }
    )
    if exact.counted(run):
        made["instructions"] = clock / exact.NS_PER_INSTRUCTION / 1e6
        made["instructions_whole"] = _of_the_guest(run, rows, made) / 1e6
    return made.sort_values(["level", "arm", "block"], ascending=[False, True, True])


def _of_the_guest(run: Run, rows: pd.DataFrame, made: pd.DataFrame) -> pd.Series[float]:
    """Instructions of each window, less those of as long an empty one in the same block."""
    trials = run.trials
    empty = trials[valid(trials, "empty")]
    empty = empty.assign(level=levels.of_rows(empty)).set_index(["block", "level"])
    places = pd.MultiIndex.from_frame(made[["block", "level"]])

    def total(frame: pd.DataFrame) -> pd.Series[float]:
        return frame[exact.COLUMNS].astype("Float64").sum(axis=1, skipna=False).astype(float)

    beside = (total(empty) / empty["window_ns"].astype(float)).reindex(places).to_numpy(float)
    net = total(rows).to_numpy(float) - rows["window_ns"].to_numpy(float) * beside
    return pd.Series(net, index=rows.index)


def cells(run: Run) -> list[dict[str, Any]]:
    """Each arm at each level. Keys arm, title, level, blocks, window_s, and MEASURES (Interval)."""
    each = by_block(run)
    if each.empty:
        return []
    window = run.trials[valid(run.trials, KIND)]["window_ns"].astype(float).median() / 1e9
    made: list[dict[str, Any]] = []
    for level in sorted(set(each["level"]), key=abs):
        for arm in run.arms:
            here = each[(each["level"] == level) & (each["arm"] == arm)]
            if here.empty:
                continue
            entry = {"arm": arm, "title": run.title(arm), "level": int(level), "blocks": len(here)}
            found = {m: mean_interval(here[m].dropna().to_numpy(dtype=float)) for m in MEASURES}
            made.append({**entry, "window_s": float(window), **found})
    return made


def ratios(run: Run) -> list[dict[str, Any]]:
    """The source's ratios, `top` over each monitor.

    Keys id, measure, numerator, denominator, statistics, level, comparison (in the measure's unit),
    verdict, why. Empty for a run without both.
    """
    each = by_block(run)
    made: list[dict[str, Any]] = []
    counted = exact.counted(run)
    for level in sorted(set(each["level"]), key=abs):
        here = each[each["level"] == level]
        for measure in COUNTED if counted else MEASURES:
            for arm in (PUBLISHED, CORRECTED):
                pair = {"numerator": TOP, "denominator": arm}
                x, y = (
                    here[here["arm"] == side].set_index("block")[measure].dropna()
                    for side in pair.values()
                )
                if x.empty or y.empty:
                    continue
                threads = levels.stress_of(int(level))
                entry: dict[str, Any] = {"id": f"{measure}_over_{arm}_at_{threads}"}
                entry |= {"measure": measure, **pair, "statistics": "on", "level": int(level)}
                made.append({**entry, "series": (x, y)})
    if counted:
        return [_in_digits(entry) for entry in made]
    for entry in made:
        compared = compare(*entry.pop("series"))
        word, why = verdict(compared.ratio)
        entry |= {"comparison": compared, "verdict": word, "why": why}
    return made


def _in_digits(entry: dict[str, Any]) -> dict[str, Any]:
    """The same of the exact machine: median and range over perturbations, which is no interval."""
    x, y = entry.pop("series")
    blocks = tuple(sorted(set(x.index) & set(y.index)))
    compared, word, why = exact.against(x.loc[list(blocks)], y.loc[list(blocks)])
    found = [exact.digits(x), exact.digits(y), compared]
    over, under, ratio = (Interval(d.median, d.low, d.high, d.n, RANGE) for d in found)
    nothing = Interval(None, None, None, 0, RANGE)
    c = Comparison(blocks, 0, over, under, nothing, ratio, None, None)
    return {**entry, "comparison": c, "verdict": word, "why": why}


def verdict(ratio: Interval) -> tuple[str, str]:
    """(verdict, why) about the numerator, by the ratio's interval alone."""
    if ratio.inside(*RATIO_MARGIN):
        return "indistinguishable", "the interval of the ratio lies inside 0.9 to 1.1"
    if ratio.low is not None and ratio.low > 1:
        return "dearer", "the interval of the ratio lies above 1"
    if ratio.high is not None and ratio.high < 1:
        return "cheaper", "the interval of the ratio lies below 1"
    if ratio.low is None and ratio.high is None:
        return "undetermined", ratio.note.removeprefix("undetermined: ")
    return "undetermined", "the interval of the ratio holds 1"
