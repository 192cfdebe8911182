"""SYNTHETIC runs of the study `accounts`: known truth, made up; nothing was measured anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import synthetic
from synthetic import NS, Change

from analysis.workloads import USES

PERF = ("sched_switch_published", "bcc_sched_switch", "empty_switch_perf")  # not BTF tracepoints
PACES = {"hot": 50_000, "paced": 240}
BASE_NS = {"switch": 2400, "exec": 400_000, "open": 900, "send": 1500}
COSTS = ["null_agent", "sched_switch_published", "sched_switch", "bcc_sched_switch"]
EMPTY = {
    "empty_switch": ("switch", "sched_switch"),
    "empty_switch_perf": ("switch", "sched_switch"),
    "empty_exec": ("exec", "sched_process_exec"),
    "empty_open": ("open", "openat"),
    "empty_send": ("send", "sendto"),
}
DUMPING = ["proc_stat", "psutil_processes", *COSTS[1:]]
BLIND = {
    "proc_stat": {"children": "never sees what starts and ends between two scrapes"},
    "psutil_processes": {"children": "never sees what starts and ends between two scrapes"},
    "sched_switch_published": {"threads": "keyed by thread id"},
}


@dataclass(frozen=True)
class Truth:
    """Ns per event: what is paid, what statistics say of it, and what statistics add to it."""

    external: float
    statistics: float
    statistics_cost: float = 35.0
    runs_per_event: float = 1.0
    noise: float = 2.0


EMPTY_TRUTH = Truth(external=60, statistics=20)
PERF_TRUTH = Truth(external=75, statistics=20)
TRUTH = {
    **dict.fromkeys(EMPTY, EMPTY_TRUTH),
    "empty_switch_perf": PERF_TRUTH,
    "sched_switch_published": Truth(external=115, statistics=60),  # all of its gap is an empty's
    "sched_switch": Truth(external=130, statistics=60),  # 30 ns more than an empty's
    "bcc_sched_switch": Truth(external=120, statistics=120),  # no gap
}


def _arm(name: str) -> dict[str, Any]:
    if name in EMPTY:
        hook = EMPTY[name][1]
        made = synthetic.arm_yaml("sched_switch") | {"name": name, "fields": [], "hook": hook}
        made["title"] = f"empty on {hook}" + (", perf" if name in PERF else "")
    else:
        made = synthetic.arm_yaml(name) | {"blind_to": BLIND.get(name, {})}
    return made | {"needs": ["bpf", "tracefs"] if name in PERF else ["bpf", "btf"]}


def plan(
    blocks: int = 6,
    *,
    rounds: int = 1,
    states: Sequence[str] = ("off", "on"),
    loads: Sequence[str] = tuple(USES),
    contrasts: Sequence[dict[str, Any]] = (),
    seed: int = 3,
) -> dict[str, Any]:
    """In the shape of the runner's; block 0 is the warm-up."""
    made = synthetic.make_plan(COSTS, [None], blocks, study="accounts", external=False, seed=seed)
    timed = [(arm, "switch") for arm in COSTS]
    timed += [("null_agent", workload) for workload in BASE_NS if workload != "switch"]
    timed += [(arm, workload) for arm, (workload, _) in EMPTY.items()]
    trials = [t for t in made["trials"] if t["kind"] == "cost"]
    common = {"replica": 1, "processes": None, "interval_ms": 1000, "window_s": 3.0}
    for block in range(blocks + 1):
        trials += [
            {"kind": "external", "arm": arm, "workload": workload, "pace": pace, "block": block}
            | {"statistics": state, "events": events, "position": 0, **common}
            for _ in range(rounds)
            for arm, workload in timed
            for pace, events in PACES.items()
            for state in states
        ]
    for block in range(1, blocks + 1):
        trials += [
            {"kind": "fidelity", "arm": arm, "workload": load, "block": block, "position": 0}
            | {"statistics": "off", **common}
            for arm in DUMPING
            for load in loads
        ]
    for number, trial in enumerate(trials):
        trial["trial"] = number
    arms = [*DUMPING, *COSTS, *EMPTY]
    made["arms"] = {arm: _arm(arm) for arm in dict.fromkeys(arms)}
    return made | {"trials": trials, "contrasts": list(contrasts)}


def _external(
    row: dict[str, Any], trial: dict[str, Any], truth: dict[str, Truth], random: np.random.Generator
) -> None:
    events, on = trial["events"], trial["statistics"] == "on"
    paid = alone = BASE_NS[trial["workload"]] + 40.0 * trial["block"]  # a drift: pairing removes it
    if trial["arm"] != "null_agent":
        t = truth[trial["arm"]]
        paid += t.external + (t.statistics_cost if on else 0) + random.normal(0, t.noise)
        if on:
            runs = round(t.runs_per_event * events)
            seen = max(0.0, t.statistics + random.normal(0, t.noise / 4))
            row |= {"bpf_run_count": runs, "bpf_run_ns": round(runs * seen)}
    row |= {"workload": trial["workload"], "pace": trial["pace"], "work_ns": round(events * paid)}
    row["unattached_ns"] = events * round(alone)


def reported(arm: str, load: str) -> float:
    """The error that is built in, as a share."""
    polling = arm in ("proc_stat", "psutil_processes")
    if load == "children" and polling:
        return -0.93
    if load == "threads" and arm == "sched_switch_published":
        return -0.75
    return -0.006 if polling else 0.002


def write(
    folder: Path,
    planned: dict[str, Any] | None = None,
    *,
    truth: dict[str, Truth] | None = None,
    change: Change | None = None,
    seed: int = 5,
    **options: Any,
) -> Path:
    """Write a run whose truth is TRUTH unless `truth` says otherwise; `change` edits rows last."""
    random, known = np.random.default_rng(seed), TRUTH | (truth or {})

    def fill(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if row["status"] == "ok":
            if trial["kind"] == "external":
                _external(row, trial, known, random)
            elif trial["kind"] == "fidelity":
                known_ns = (10 if trial["workload"] == "children" else 1) * NS
                share = 1 + reported(trial["arm"], trial["workload"]) + random.normal(0, 0.001)
                row |= {"workload": trial["workload"], "known_ns": known_ns}
                row["reported_ns"] = round(known_ns * share)
        if change:
            change(row, trial)

    return synthetic.write_run(folder, planned or plan(), change=fill, **options)


def noisy(noise: float) -> dict[str, Truth]:
    """The same truths with another spread over trials, in ns."""
    return {arm: replace(truth, noise=noise) for arm, truth in TRUTH.items()}
