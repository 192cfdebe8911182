"""Do the collectors say the truth: reported against known CPU time, per arm and workload.

What a collector may be off is derived, not chosen cell by cell.  Every collector: 2 % of the known
time.  Through /proc: user and system time are printed in ticks of 10 ms, each rounded down, so that
a process can be short by two ticks, 20 ms; a workload of n processes by n times that.

    allowed = max(2 %, n x 20 ms / known)

Verdict of a cell, over its trials:

    true         all trials within what is allowed, or all but a quarter at most: one slice that a
                 hypervisor stole makes one trial wrong, not a collector; those are named
    misses       beyond it, too little, and the arm's YAML lists the workload under `blind_to`: what
                 a source cannot see is a listed difference, not an error
    wrong        beyond it otherwise
    unavailable  no usable row
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.load import Run
from analysis.statistics.intervals import mean_interval
from analysis.statistics.types import Array
from analysis.workloads import STEADY, in_words, of_rows, processes, ranked

LIMIT = 0.02  # collectors must agree with a known CPU use within 2 %
TICKS_NS = 20_000_000  # /proc counts user and system time in ticks of 10 ms, each rounded down
FORGIVEN = 0.25  # share of trials beyond what is allowed that one bad moment explains


def _trials(run: Run) -> pd.DataFrame:
    """Rows of kind fidelity outside the warm-up, with the workload's default filled in."""
    names = ["trial", "block", "arm", "status", "reason", "known_ns", "reported_ns", "workload"]
    own = run.trials["kind"].to_numpy(dtype=object) == "fidelity"
    t: pd.DataFrame = run.trials[[*names, "kind"]][
        own & (run.trials["block"].to_numpy(dtype=np.int64) > 0)
    ]
    return t.assign(arm=t["arm"].astype(str), workload=of_rows(t))


def _by_cell(frame: pd.DataFrame) -> dict[tuple[str, str], list[int]]:
    """Places of the rows of each arm and workload."""
    places: dict[tuple[str, str], list[int]] = {}
    for n, key in enumerate(zip(frame["arm"].tolist(), frame["workload"].tolist(), strict=True)):
        places.setdefault(key, []).append(n)
    return places


def errors(run: Run, trials: pd.DataFrame | None = None) -> pd.DataFrame:
    """Columns arm, workload, block, error (reported/known − 1), allowed; a row a usable trial."""
    t = _trials(run) if trials is None else trials
    ok = t[t["status"] == "ok"].dropna(subset=["known_ns", "reported_ns"])
    ok = ok[ok["known_ns"] > 0]
    known = ok["known_ns"].to_numpy(float)
    planned = {int(t["trial"]): t for t in run.plan["trials"] if t["kind"] == "fidelity"}
    polled = ok["arm"].map(lambda arm: run.arms.get(arm, {}).get("source") == "proc")
    many = ok["trial"].map(lambda number: processes(planned[int(number)])).to_numpy(float)
    ticks = np.where(polled.to_numpy(bool), many * TICKS_NS, 0.0)
    return pd.DataFrame(
        {
            "arm": ok["arm"].astype(str),
            "workload": ok["workload"],
            "block": ok["block"].astype(int),
            "error": ok["reported_ns"].to_numpy(float) / known - 1,
            "allowed": np.maximum(LIMIT, ticks / known),
        }
    )


def _verdict(about: dict[str, Any], workload: str, error: Array, allowed: Array) -> tuple[str, str]:
    beyond = np.abs(error) > allowed
    count, n = int(beyond.sum()), len(error)
    if not count:
        return "true", ""
    most = error[beyond][np.argmax(np.abs(error[beyond]))]
    named = f"{count} of {n} trials beyond, most {percent(float(most))}"
    if count <= FORGIVEN * n:
        return "true", named
    blind = about.get("blind_to") or {}
    if workload in blind and bool((error[beyond] < 0).all()):
        return "misses", str(blind[workload])
    return "wrong", named if n > 1 else ""


def percent(share: float, places: int = 1) -> str:
    """A share as signed percent: −5.0 %."""
    return f"{100 * share:+.{places}f} %".replace("-", "−")


def fidelity(run: Run) -> list[dict[str, Any]]:
    """Reported over known CPU time, minus one, per arm and workload that was put to the test.

    Keys arm, title, workload, n (trials), error (Interval over blocks, a share: 0.01 is 1 % too
    much), median_absolute, worst and the share allowed there, verdict, reason.
    """
    trials = _trials(run)
    each = errors(run, trials)
    tried, usable = _by_cell(trials), _by_cell(each)
    errors_, limits = each["error"].to_numpy(float), each["allowed"].to_numpy(float)
    blocks = each["block"].to_numpy(int)
    made: list[dict[str, Any]] = []
    for arm in run.arms:
        for workload in ranked({name for other, name in tried if other == arm}):
            places = usable.get((arm, workload), [])
            error, allowed = errors_[places], limits[places]
            at = int(np.argmax(np.abs(error) / allowed)) if len(error) else None
            if at is None:
                rows = trials.iloc[tried[arm, workload]]
                bad = rows[rows["status"] != "ok"]
                first = None if bad.empty else bad.iloc[0]
                word = "unavailable"
                reason = (
                    "no usable row" if first is None else f"{first['status']}: {first['reason']}"
                )
            else:
                word, reason = _verdict(run.arms[arm], workload, error, allowed)
            by_block = error
            if len(set(blocks[places].tolist())) < len(places):
                by_block = pd.Series(error).groupby(blocks[places]).mean().to_numpy(float)
            made.append(
                {
                    "arm": arm,
                    "title": run.title(arm),
                    "workload": workload,
                    "n": len(error),
                    "error": mean_interval(by_block),
                    "median_absolute": float(np.median(np.abs(error))) if len(error) else None,
                    "worst": None if at is None else float(error[at]),
                    "allowed": LIMIT if at is None else float(allowed[at]),
                    "verdict": word,
                    "reason": reason,
                }
            )
    return made


def failed(entries: list[dict[str, Any]]) -> dict[str, str]:
    """Arms whose cost gets no verdict, with the reason: cheap because wrong is a failed arm.

    An arm fails by being `wrong` on any workload of the run: an error that it does not declare
    means that it holds other facts than the arm it is set against, whichever load brought it to
    light. `misses` does not fail it, since a listed difference is there for the reader to weigh,
    except on `steady`: one process that lives all along is the question itself, and no blind spot
    excuses from that. An arm that could not be tried is not failed; it has no cost either.
    """
    found: dict[str, str] = {}
    for e in entries:
        steady = e["workload"] == STEADY
        if e["verdict"] == "wrong" or (steady and e["verdict"] == "misses"):
            where = "" if steady else f" ({in_words(e['workload'])})"
            text = f"{e['title']} fails its fidelity trial{where}: reported/known − 1 = "
            found.setdefault(e["arm"], text + percent(e["worst"]))
    return found
