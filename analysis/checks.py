"""What would make a reader doubt a run, in one list: fidelity and the warnings of its rows."""

from __future__ import annotations

import pandas as pd

from analysis.fidelity import fidelity, percent
from analysis.load import Run
from analysis.workloads import STEADY, in_words

HARNESS_LIMIT = 0.05  # percent of a core
STEAL_LIMIT = 1.0  # percent of a core
TARGET_LIMIT = 0.03  # processes may differ from their target by this share, and by five


def _counted(rows: pd.DataFrame, column: str, text: str, title: str) -> list[str]:
    hit = rows[(rows[column] > 0).fillna(False)]
    if hit.empty:
        return []
    return [f"{title}: {text} in {len(hit)} of {len(rows)} trials (most {int(hit[column].max())})"]


def _of_arm(run: Run, arm: str) -> list[str]:
    t = run.trials[(run.trials["arm"] == arm) & (run.trials["block"] > 0)]
    cost = t[(t["kind"] == "cost") & (t["status"] == "ok")]
    title, found = run.title(arm), []
    for status, cure in (("failed", "see log/"), ("invalid", "see the reasons in trials.csv")):
        bad = t[t["status"] == status]
        if len(bad):
            reason = bad["reason"].iloc[0]
            found.append(f"{title}: {len(bad)} trials {status}, first: {reason} ({cure})")
    found += _counted(cost, "lost", "updates lost: the map was too small", title)
    found += _counted(cost, "missed", "switches the kernel did not report to the program", title)
    found += _counted(cost, "clamped", "impossible counters kept as they were", title)
    found += _counted(cost, "late", "scrapes skipped for being late", title)
    found += _counted(cost, "denied", "reads refused", title)
    found += _counted(cost, "bpf_recursion_misses", "program runs skipped by the kernel", title)
    expected = run.arms[arm].get("programs")
    programs = cost["bpf_programs"].dropna()
    if expected is not None and len(programs) and bool((programs != expected).any()):
        seen = sorted({int(v) for v in programs})
        found.append(f"{title}: {expected} BPF programs expected, {seen} found")
    target = cost["processes_target"].astype("Float64")
    allowed = (target * TARGET_LIMIT).clip(lower=5)
    off = ((cost["processes"].astype("Float64") - target).abs() > allowed).fillna(False)
    if off.any():
        found.append(
            f"{title}: the number of processes missed its target in {int(off.sum())} trials"
        )
    return found


def warnings(run: Run) -> list[str]:
    """One line per doubt, over the whole run; empty if there is none."""
    found = [] if run.finished else ["the run is unfinished: planned trials have no row yet"]
    if run.manifest["fingerprint"].get("synthetic"):
        found.append("SYNTHETIC data: nothing here was measured")
    found += run.disturbances
    for entry in fidelity(run):
        if entry["verdict"] == "wrong":
            steady = entry["workload"] == STEADY
            where = "" if steady else f" ({in_words(entry['workload'])})"
            found.append(
                f"{entry['title']}: reports {percent(entry['worst'])} of a known CPU use{where}, "
                f"beyond {100 * entry['allowed']:.2g} %: a collector that is wrong is a "
                "failed arm, whatever it costs"
            )
    for arm in run.arms:
        found += _of_arm(run, arm)
    rows = run.trials[(run.trials["kind"] == "cost") & (run.trials["status"] == "ok")]
    window = rows["window_ns"].astype("Float64")
    harness = (100 * rows["harness_ns"].astype("Float64") / window).dropna()
    if len(harness) and float(harness.mean()) > HARNESS_LIMIT:
        found.append(f"the harness itself took {float(harness.mean()):.3f} % of a core")
    woken = int((rows["harness_wakeups"] > 0).fillna(False).sum())
    if woken:
        found.append(f"the harness woke up inside {woken} of {len(rows)} windows")
    steal = (100 * rows["steal_ns"].astype("Float64") / window > STEAL_LIMIT).fillna(False)
    if steal.any():
        found.append(
            f"the hypervisor took more than {STEAL_LIMIT:g} % of a core in {int(steal.sum())} of "
            f"{len(rows)} windows"
        )
    return found
