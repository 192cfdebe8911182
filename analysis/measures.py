"""Every measure of every cell, one value a block, in percent of one core.

A cell is arm, replica and process level; a measure fixes the state of the kernel's statistics too:

    agent         100 agent_ns / window_ns, statistics off: the reader's cgroup, gross
    others        100 (switches / window_ns) x ns per switch (paced): programs in other tasks.
                  At a design point and beside stress threads it is the ns per switch at that
                  rate: `crossover.calibration`.
                  Where no event is counted out, 100 kernel_ns / kernel_life_ns: the program's own
                  clock, over the whole life of the trial
    others_hot    the same with the back-to-back calibration
    headline      agent + others                                (gross)
    headline_hot  agent + others_hot
    headline_net  headline - agent of the null agent in the same block and level
    agent_net     agent - the same
    system        100 busy_ns / window_ns - the same of the null agent: the whole machine's change
    agent_on      100 agent_ns / window_ns, statistics on
    bpf_run       100 bpf_run_ns / window_ns, statistics on
    self_timed    100 kernel_ns / kernel_life_ns, statistics on
    published     agent_on + bpf_run: the articles' method. For a kernel timer, whose runs kernel
                  statistics do not see, agent_on + self_timed
    runs_per_s    bpf_run_count per second, statistics on (1/s, not percent)
    ns_per_run    bpf_run_ns / bpf_run_count, statistics on (ns, not percent)
    switches_per_s  context switches per second, statistics off (1/s, not percent)

Propagation.  The headline is formed inside each block from that block's own reader, switch rate and
calibration, H_b = a_b + r_b c_b, and its interval is the t interval of the H_b.  That carries the
variances of a, r and c and all their covariances without a first-order expansion: a and r are from
one trial, and before schema 3 the c of all arms share the null agent's trial of their block.
For independent parts it is the same as var(a) + r^2 var(c) + c^2 var(r), each over n.

A program that runs in the reader's own task (context none or own) is inside agent_ns already:
nothing is added for it, in either method. A part that is missing makes the sum missing, never 0.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from analysis import levels
from analysis.crossover.calibration import Curves
from analysis.external import (
    NULL_AGENT,
    calibrated,
    external_reason,
    in_other_tasks,
    ns_per_switch,
    times_itself,
)
from analysis.levels import LEFT_ALONE
from analysis.levels import text as level_text
from analysis.load import Run
from analysis.rows import valid

__all__ = ["LEFT_ALONE", "MEASURES", "NOT_PLANNED", "ON", "Measures", "level_text"]

NOT_PLANNED = "not planned at this level"

MEASURES = {
    "agent": "reader only",
    "others": "programs in other tasks",
    "headline": "headline",
    "headline_hot": "headline, hot calibration",
    "headline_net": "headline, net of the null agent",
    "published": "published method",
}

ON = ("published", "agent_on", "bpf_run", "self_timed", "runs_per_s", "ns_per_run")  # statistics


COLUMNS = ["arm", "processes_target", "point", "stress_threads", "replica", "statistics", "block"]
COLUMNS += ["processes"]
COLUMNS += ["window_ns", "agent_ns", "bpf_run_ns", "bpf_run_count", "busy_ns", "switches"]
COLUMNS += ["kernel_ns", "kernel_life_ns"]


def _cost_cells(run: Run) -> dict[tuple[str, int, int, str], pd.DataFrame]:
    """Per (arm, level, replica, statistics): a row a block; a missing number stays missing."""
    rows = run.trials[COLUMNS][valid(run.trials, "cost")]  # not all fifty columns: that takes time

    def ns(column: str) -> pd.Series[float]:
        return pd.Series(rows[column].to_numpy(dtype=float, na_value=np.nan), index=rows.index)

    window, runs = ns("window_ns"), ns("bpf_run_count")
    keys = ["arm", "level", "replica", "statistics"]
    made = pd.DataFrame(
        {
            "arm": rows["arm"].astype(str),
            "level": levels.of_rows(rows),
            "replica": rows["replica"].astype(int),
            "statistics": rows["statistics"].astype(str),
            "block": rows["block"].astype(int),
            "processes": ns("processes"),
            "agent": 100 * ns("agent_ns") / window,
            "bpf_run": 100 * ns("bpf_run_ns") / window,
            "busy": 100 * ns("busy_ns") / window,
            "switch_ratio": ns("switches") / window,  # per ns
            "self_timed": 100 * ns("kernel_ns") / ns("kernel_life_ns").replace(0, float("nan")),
            "ns_per_run": ns("bpf_run_ns") / runs.replace(0, float("nan")),
            "runs_per_s": 1e9 * runs / window,
        }
    )
    places = list(zip(*(made[key].tolist() for key in [*keys, "block"]), strict=True))
    if len(set(places)) == len(places):  # as planned: one trial a cell and block
        order = sorted(range(len(places)), key=places.__getitem__)
        by_block = made.iloc[order]
        cells = [places[n][:-1] for n in order]
    else:
        by_block = made.groupby([*keys, "block"]).mean().reset_index()
        cells = list(zip(*(by_block[key].tolist() for key in keys), strict=True))
    by_block = by_block.drop(columns=keys).set_index("block")
    ends = [n for n in range(1, len(cells) + 1) if n == len(cells) or cells[n] != cells[n - 1]]
    return {cells[a]: by_block.iloc[a:b] for a, b in zip([0, *ends], ends, strict=False)}


def _tried(
    run: Run,
) -> tuple[dict[tuple[str, int, str], set[int]], dict[tuple[str, str], set[str]]]:
    """Of the cost rows: blocks in which (arm, level, statistics) has one of any status, warm-up
    left out; and the instruments of (arm, statistics) where it was valid."""
    names = ["arm", "level", "statistics", "block", "status", "instrument"]
    rows = run.trials[run.trials["kind"] == "cost"]
    rows = rows.assign(level=levels.of_rows(rows))[names]
    blocks: dict[tuple[str, int, str], set[int]] = {}
    instruments: dict[tuple[str, str], set[str]] = {}
    for row in zip(*(rows[name].tolist() for name in names), strict=True):
        arm, level, statistics, block, status, instrument = row
        if block > 0:
            blocks.setdefault((arm, int(level), statistics), set()).add(int(block))
        if status == "ok":
            instruments.setdefault((arm, statistics), set()).add(instrument)
    return blocks, instruments


class Measures:
    """All measures of a run; `get` gives one cell as a Series by block, without missing blocks."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.external = ns_per_switch(run)
        self._added: dict[tuple[str, str], dict[int, float]] = {}
        self._curves: Curves | None = None
        self._cells = _cost_cells(run)
        self._tried, self._instruments = _tried(run)
        planned = [t for t in run.plan["trials"] if t["kind"] == "cost"]
        self.arms = [arm for arm in run.arms if any(t["arm"] == arm for t in planned)]
        self.levels = sorted({levels.of_entry(t) for t in planned}, key=abs)
        self._cache: dict[tuple[str, str, int, int], pd.Series[float]] = {}

    def column(
        self, column: str, statistics: str, arm: str, level: int, replica: int
    ) -> pd.Series[float]:
        """One quantity of one cell by block, as the rows have it (see `_cost_cells`)."""
        cell = self._cells.get((arm, level, replica, statistics))
        if cell is None:
            return pd.Series(dtype=float)
        return cell[column].dropna()

    @property
    def curves(self) -> Curves:
        """What a switch adds at any rate, from a run calibrated after several pauses."""
        self._curves = self._curves or Curves(self.run)
        return self._curves

    def _per_switch(self, arm: str, pace: str) -> pd.Series[float]:
        if not self._added:
            names = ("arm", "pace", "block", "value")
            for a, p, block, value in zip(*(self.external[n].tolist() for n in names), strict=True):
                self._added.setdefault((a, p), {})[int(block)] = float(value)
        found = self._added.get((arm, pace), {})
        return pd.Series(list(found.values()), index=np.array(list(found), dtype=int), dtype=float)

    def _others(self, arm: str, level: int, replica: int, pace: str) -> pd.Series[float]:
        rate = self.column("switch_ratio", "off", arm, level, replica)
        if not in_other_tasks(self.run, arm):
            return rate * 0.0
        if not calibrated(self.run, arm):
            return self.column("self_timed", "off", arm, level, replica)
        if levels.point_of(level) is not None or levels.stress_of(level) is not None:
            return (100 * rate * self.curves.at(arm, 1e9 * rate)).dropna()
        return (100 * rate * self._per_switch(arm, pace)).dropna()

    def _make(self, measure: str, arm: str, level: int, replica: int) -> pd.Series[float]:
        if measure == "agent":
            return self.column("agent", "off", arm, level, replica)
        if measure in ("others", "others_hot"):
            return self._others(arm, level, replica, "hot" if measure == "others_hot" else "paced")
        if measure in ("headline", "headline_hot"):
            agent = self.get("agent", arm, level, replica)
            if not in_other_tasks(self.run, arm):
                return agent  # an arm without programs elsewhere needs no switch count
            others = self.get(measure.replace("headline", "others"), arm, level, replica)
            return (agent + others).dropna()
        if arm == NULL_AGENT and measure in ("headline_net", "agent_net", "system"):
            # nothing is left of it, by definition and not by measurement
            return self.get("agent", arm, level, replica).iloc[:0]
        if measure in ("headline_net", "agent_net"):
            gross = self.get(measure.removesuffix("_net"), arm, level, replica)
            return (gross - self.get("agent", NULL_AGENT, level)).dropna()
        if measure == "system":
            null = self.column("busy", "off", NULL_AGENT, level, 1)
            return (self.column("busy", "off", arm, level, replica) - null).dropna()
        if measure == "agent_on":
            return self.column("agent", "on", arm, level, replica)
        if measure == "published":
            agent = self.get("agent_on", arm, level, replica)
            if not in_other_tasks(self.run, arm):
                return agent
            seen = "self_timed" if times_itself(self.run, arm) else "bpf_run"
            return (agent + self.column(seen, "on", arm, level, replica)).dropna()
        if measure in ("bpf_run", "self_timed", "runs_per_s", "ns_per_run"):
            return self.column(measure, "on", arm, level, replica)
        if measure == "switches_per_s":
            return 1e9 * self.column("switch_ratio", "off", arm, level, replica)
        raise KeyError(measure)

    def get(self, measure: str, arm: str, level: int, replica: int = 1) -> pd.Series[float]:
        """Values of one measure by block; empty if the cell has none (see `reason`)."""
        key = (measure, arm, level, replica)
        if key not in self._cache:
            self._cache[key] = self._make(measure, arm, level, replica)
        return self._cache[key]

    def instruments(self, arms: Iterable[str], statistics: str) -> list[str]:
        """Names of the instruments that these arms' valid cost rows were measured with."""
        return sorted(set().union(*(self._instruments.get((a, statistics), ()) for a in arms)))

    def blocks(self, arm: str, level: int, statistics: str) -> set[int]:
        """Blocks (warm-up left out) in which the cell has a row of any status."""
        return self._tried.get((arm, level, statistics), set())

    def reason(self, measure: str, arm: str, level: int) -> str:
        """Why the cell has no value, in words; empty if it has one."""
        if len(self.get(measure, arm, level)):
            return ""
        statistics = "on" if measure in ON else "off"
        t = self.run.trials
        rows = t[(t["kind"] == "cost") & (t["arm"] == arm)]
        at = levels.of_rows(rows) == level
        rows = rows[at & (rows["statistics"] == statistics)]
        if rows.empty and self.run.excluded and self._planned(arm, level, statistics):
            return "every block was left out as disturbed"
        if rows.empty:
            return f"{NOT_PLANNED} with statistics {statistics}"
        bad = rows[(rows["status"] != "ok") & (rows["block"] > 0)]
        bad = rows[rows["status"] != "ok"] if bad.empty else bad
        if not ((rows["status"] == "ok") & (rows["block"] > 0)).any():
            if bad.empty and self.run.excluded:
                return "every block was left out as disturbed"
            if bad.empty:
                return "no row yet outside the warm-up"
            detail = bad["reason"].iloc[0]
            return f"{bad['status'].iloc[0]}: {'no reason given' if pd.isna(detail) else detail}"
        if measure.startswith(("headline", "others")) and in_other_tasks(self.run, arm):
            found = external_reason(self.run, arm, "hot" if measure.endswith("hot") else "paced")
            return found or "cost and calibration share no valid block"
        if measure == "published" and times_itself(self.run, arm):
            return "its program's own time is missing from its rows"
        if measure in ON:
            return "kernel statistics are missing from its rows"
        return (
            "its rows and the null agent's share no valid block"
            if arm != NULL_AGENT
            else "no value"
        )

    def _planned(self, arm: str, level: int, statistics: str) -> bool:
        wanted = ("cost", arm, statistics, level)
        return any(
            (t["kind"], t["arm"], t.get("statistics"), levels.of_entry(t)) == wanted
            for t in self.run.plan["trials"]
        )

    def usable(self, arm: str) -> bool:
        """True if the arm has any valid cost row outside the warm-up."""
        return any(key[0] == arm for key in self._cells)
