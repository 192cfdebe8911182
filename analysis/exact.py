"""Instructions per scrape, as an emulator counts them: runs of the backend `exact`.

    total      (user + kernel + BPF instructions of a cost window - those of the block's empty
               window at the same process count) / whole scrapes in the window
    agent      CPU time of the collector's cgroup over whole scrapes, by the guest's clock, which is
               the emulator's count of instructions. Gross: a sleeping process has some of its own
    elsewhere  total - agent - BPF: waking it up, interrupts, what it makes other tasks do
    slope      least-squares slope of a block's totals over its process counts: instructions per
               process and scrape

Counting is free of noise: two boots from the same inputs give the same digits.  What it is not free
of is the choice of those inputs, so each block is a fresh boot under another declared perturbation
(order, start offset, extra forks) and a value is given as the median over blocks with the least and
the greatest.  A range is not a confidence interval: nothing is sampled.

Two arms are compared inside each block.  `cheaper` or `dearer` if every perturbation says so;
`indistinguishable` if they do not all agree: then the choice of the perturbation decides.

What an instruction count cannot see: caches, TLB, branch prediction, more than one CPU.  It is no
hardware counter's reading either: the emulator counts guest instructions, and each repetition of an
x86 string instruction (tests/vm/test_counter.py).  Method: Valgrind's Callgrind does the same for
one process (Weidendorfer, Kowarschik, Trinitis 2004), here it is the whole machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis import levels
from analysis.load import Run
from analysis.rows import valid

BACKEND = "exact"  # of a plan
PARTS = ("user", "kernel", "bpf")
NAMES = (*PARTS, "total", "agent", "elsewhere")
COLUMNS = [f"{part}_instructions" for part in PARTS]
#: The guest's clock goes by so much for each instruction (QEMU's -icount shift=1).
NS_PER_INSTRUCTION = 2
BLIND = "caches, TLB, branch prediction, more than one CPU"


@dataclass(frozen=True)
class Digits:
    """Median, least and greatest over n perturbations; None where there is no such number."""

    median: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def range_percent(self) -> float | None:
        """Greatest less least, in percent of the median."""
        if self.median is None or self.low is None or self.high is None or self.median == 0:
            return None
        return 100 * (self.high - self.low) / abs(self.median)


def digits(values: npt.NDArray[np.float64] | pd.Series[float]) -> Digits:
    """Median and range of the values that are there."""
    found = np.asarray(values, dtype=np.float64)
    found = found[~np.isnan(found)]
    if not len(found):
        return Digits(None, None, None, 0)
    return Digits(float(np.median(found)), float(found.min()), float(found.max()), len(found))


def counted(run: Run) -> bool:
    """True if any row of the run has instructions."""
    return bool(run.trials[COLUMNS[0]].notna().any())


def per_scrape(run: Run) -> pd.DataFrame:
    """Columns arm, replica, level, statistics, block, user, kernel, bpf, total, agent, elsewhere.

    Instructions per scrape; all but agent net of the empty window. per_s: the total a second.

    A window without a valid empty one beside it, or without a scrape, is left out.
    """
    keys = ["block", "level"]
    trials = run.trials.assign(level=levels.of_rows(run.trials))
    rows = trials[valid(trials, "cost")]
    rows = rows[
        ["arm", "replica", "statistics", *keys, "window_ns", "scrapes", "agent_ns", *COLUMNS]
    ]
    empty = trials[valid(trials, "empty")][[*keys, "window_ns", *COLUMNS]]
    both = rows.merge(empty, on=keys, suffixes=("", "_empty"), validate="many_to_one")
    length = _number(both, "window_ns") / _number(both, "window_ns_empty")
    scrapes = _number(both, "scrapes")
    made = pd.DataFrame(
        {
            "arm": both["arm"].astype(str),
            "replica": both["replica"].astype(int),
            "level": both["level"].astype(int),
            "statistics": both["statistics"].astype(str),
            "block": both["block"].astype(int),
        }
    )
    for part, column in zip(PARTS, COLUMNS, strict=True):
        net = _number(both, column) - length * _number(both, f"{column}_empty")
        made[part] = net / np.where(scrapes > 0, scrapes, np.nan)
    made["total"] = made[list(PARTS)].sum(axis=1, skipna=False)
    made["per_s"] = made["total"] * scrapes / _number(both, "window_ns") * 1e9
    agent = _number(both, "agent_ns") / NS_PER_INSTRUCTION
    made["agent"] = agent / np.where(scrapes > 0, scrapes, np.nan)
    made["elsewhere"] = made["total"] - made["agent"] - made["bpf"]
    return made.dropna(subset=["total"]).reset_index(drop=True)


def _number(frame: pd.DataFrame, column: str) -> npt.NDArray[np.float64]:
    return frame[column].to_numpy(dtype=np.float64, na_value=np.nan)


def cells(run: Run) -> list[dict[str, Any]]:
    """One entry per arm, process count and state of the statistics, in the order of the arms.

    Keys arm, title, level, statistics, and NAMES (Digits, instructions per scrape).
    """
    each = per_scrape(run)
    each = each[each["replica"] == 1]
    found = dict(list(each.groupby(["level", "arm", "statistics"])))
    return [
        {"arm": arm, "title": run.title(arm), "level": level, "statistics": state}
        | {name: digits(found[level, arm, state][name]) for name in NAMES}
        for level in sorted(set(each["level"]))
        for arm in run.arms
        for state in ("off", "on")
        if (level, arm, state) in found
    ]


def slopes(run: Run) -> list[dict[str, Any]]:
    """Instructions per process and scrape of every arm that has several process counts.

    Keys arm, title, slope, intercept (Digits; intercept in instructions per scrape), levels.
    """
    each = per_scrape(run)
    each = each[(each["replica"] == 1) & (each["statistics"] == "off") & (each["level"] >= 0)]
    made: list[dict[str, Any]] = []
    for arm in run.arms:
        lines = []
        for _, block in each[each["arm"] == arm].groupby("block"):
            if block["level"].nunique() > 1:
                lines.append(np.polyfit(block["level"], block["total"], 1))
        if lines:
            slope, intercept = np.array(lines, dtype=np.float64).T
            levels = sorted({int(level) for level in each[each["arm"] == arm]["level"]})
            entry = {"arm": arm, "title": run.title(arm), "levels": levels}
            made.append({**entry, "slope": digits(slope), "intercept": digits(intercept)})
    return made


def comparisons(run: Run) -> list[dict[str, Any]]:
    """The declared contrasts, numerator over denominator in each block.

    Keys id, name, numerator, denominator, level, ratio (Digits), verdict, text.
    """
    each = per_scrape(run)
    each = each[each["replica"] == 1]
    made: list[dict[str, Any]] = []
    for declared in run.plan.get("contrasts") or []:
        level = levels.of_entry(declared)
        of_cell = each[(each["level"] == level) & (each["statistics"] == declared["statistics"])]
        sides = [
            of_cell[of_cell["arm"] == declared[side]].set_index("block")["total"]
            for side in ("numerator", "denominator")
        ]
        blocks = sides[0].index.intersection(sides[1].index)
        found = against(*(side.loc[blocks] for side in sides))
        names = {"name": declared.get("name") or declared.get("id")}
        names |= {key: declared[key] for key in ("numerator", "denominator")}
        made.append({**names, "level": level, **found._asdict()})
    return made


class Against(NamedTuple):
    """A ratio of instructions over perturbations, the verdict on its numerator, and why."""

    ratio: Digits
    verdict: str
    text: str


def against(over: npt.ArrayLike, under: npt.ArrayLike) -> Against:
    """Set one arm's instructions against another's, perturbation by perturbation.

    The verdict is by which of the two is the larger in each. Net of an empty window a small cost
    may come out at or below 0, where there is no ratio: such a one stands above all others, so that
    the ratio then has a least value and no greatest.
    """
    x, y = (np.asarray(side, dtype=np.float64) for side in (over, under))
    there = ~(np.isnan(x) | np.isnan(y))
    x, y = x[there], y[there]
    if not len(x):
        return Against(digits(x), "not comparable", "no block has instructions of both")
    some = y > 0
    ratio = digits(np.where(some, x / np.where(some, y, 1.0), np.inf))
    said = f"in all {len(x)} perturbations"
    if not some.all():
        median = None if ratio.median == np.inf else ratio.median
        ratio = Digits(median, ratio.low if some.any() else None, None, len(x))
        said += f"; in {len(x) - some.sum()} of them the other one's net cost is not above 0"
    if len(x) == 1:
        why = "one perturbation: how far its choice matters is unknown"
        return Against(ratio, "undetermined", why)
    if (x > y).all():
        return Against(ratio, "dearer", said)
    if (x < y).all():
        return Against(ratio, "cheaper", said)
    why = "which one executes more depends on the perturbation"
    return Against(ratio, "indistinguishable", why)
