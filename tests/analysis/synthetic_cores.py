"""A made-up run of study `cores` whose costs and errors are known. Not a measurement."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import synthetic

from analysis.schema import columns

ARMS = ["null_agent", "sched_switch_cores_published", "sched_switch_cores", "top", "mpstat"]
HOOKED = ARMS[1:3]
THREADS = [0, 50, 200, 500]
LIFE_S = 10.0
#: Own CPU time in ms of ten seconds at no thread, and per thread; switches; user time's share.
OWN: Mapping[str, tuple[float, float, int, float]] = {
    "sched_switch_cores_published": (12.0, 0.0, 12, 0.0),
    "sched_switch_cores": (40.0, 0.0, 12, 0.0),
    "top": (264.0, 2.0, 17, 0.25),
}
BPF_NS_PER_THREAD = 400_000  # in those ten seconds
#: Percent of a core in a window, at no thread and per thread, what the program takes left out.
COST: Mapping[str, tuple[float, float]] = {
    "null_agent": (0.002, 0.0),
    "sched_switch_cores_published": (0.03, 0.0),
    "sched_switch_cores": (0.02, 0.0),
    "top": (2.0, 0.01),
    "mpstat": (0.1, 0.0),
}
LOADS = [(20, 20_000), (20, 200), (1, 1_000)]
#: Bias in points, and how far single reports scatter around it, by tool.
ERRORS: Mapping[str, tuple[float, float]] = {
    "sched_switch_cores_published": (-0.04, 0.02),
    "sched_switch_cores": (0.02, 0.01),
    "top": (-0.5, 0.4),
    "mpstat": (0.3, 0.2),
}
SOURCES = {"top": "proc", "mpstat": "proc", "null_agent": "none"} | dict.fromkeys(HOOKED, "ebpf")

Change = Callable[[dict[str, Any], dict[str, Any]], None]


def plan(blocks: int = 7, threads: list[int] | None = None) -> dict[str, Any]:
    """In the shape of the runner's: costs, whole lives and known activity in every block."""
    levels = THREADS if threads is None else threads
    made = synthetic.make_plan(["null_agent"], [None], blocks, study="cores", external=False)
    common = {"replica": 1, "interval_ms": 1000, "processes": None}
    trials: list[dict[str, Any]] = []
    for block in range(blocks + 1):
        for level in levels:
            at = {**common, "block": block, "stress_threads": level}
            trials += [
                {**at, "kind": "cost", "arm": arm, "statistics": "off", "window_s": 2.0}
                for arm in ARMS
            ]
            trials += [
                {**at, "kind": "from_start", "arm": arm, "statistics": "on", "window_s": LIFE_S}
                for arm in OWN
            ]
        trials += [
            {**common, "block": block, "kind": "cores", "arm": arm, "statistics": "off"}
            | {"window_s": 4.0, "stress_threads": 0, "duty_percent": duty, "burst_us": burst}
            for arm in ERRORS
            for duty, burst in LOADS
        ]
    for number, trial in enumerate(trials):
        trial |= {"trial": number, "position": number}
    pair = {"numerator": "top", "denominator": "sched_switch_cores", "statistics": "off"}
    contrasts = [
        {**pair, "id": f"top_vs_cores_at_{n}", "processes": None, "stress_threads": n}
        for n in (levels[0], levels[-1])
    ]
    about = made["arms"]["null_agent"]
    arms = {arm: {**about, "name": arm, "title": arm, "source": SOURCES[arm]} for arm in ARMS}
    for arm in HOOKED:
        arms[arm] |= {"context": "both", "hook": "sched_switch"}
    return made | {"schema": 5, "arms": arms, "contrasts": contrasts, "trials": trials}


def write(
    folder: Path,
    planned: dict[str, Any] | None = None,
    *,
    change: Change | None = None,
    **options: Any,
) -> Path:
    """Write a run of OWN, COST and ERRORS."""
    made = planned or plan()
    folder = synthetic.write_run(folder, made, change=_filler(change), schema=5, **options)
    _write_reports(folder, made)
    return folder


def _filler(change: Change | None) -> Change:
    def fill(row: dict[str, Any], trial: dict[str, Any]) -> None:
        threads = trial.get("stress_threads")
        row["stress_threads"] = threads
        row["instrument"] = "fidelity" if trial["kind"] == "cores" else "cgroup2"
        wave = 1 + 0.01 * np.sin(trial["block"] + len(trial["arm"]))
        if trial["kind"] == "cost":
            fixed, slope = COST[trial["arm"]]
            row["agent_ns"] = round(row["window_ns"] * (fixed + slope * threads) * wave / 100)
        elif trial["kind"] == "from_start":
            fixed, slope, switches, user = OWN[trial["arm"]]
            clock = round(1e6 * (fixed + slope * threads) * wave)
            mine = trial["arm"] in HOOKED
            row |= {
                "own_task_clock_ns": clock,
                "own_user_ns": round(clock * user),
                "own_system_ns": round(clock * (1 - user)),
                "own_switches": switches + threads // 10 + trial["block"] % 2,
                "agent_ns": clock,
                "bpf_run_ns": round(BPF_NS_PER_THREAD * threads * wave) if mine else 0,
            }
        elif trial["kind"] == "cores":
            row |= {"duty_percent": trial["duty_percent"], "burst_us": trial["burst_us"]}
        if change:
            change(row, trial)

    return fill


def _write_reports(folder: Path, made: dict[str, Any]) -> None:
    random = np.random.default_rng(3)
    with gzip.open(folder / "cores.csv.gz", "wt", newline="", encoding="utf-8") as packed:
        writer = csv.writer(packed, lineterminator="\n")
        writer.writerow([column["name"] for column in columns("cores")])
        for trial in made["trials"]:
            if trial["kind"] != "cores":
                continue
            bias, spread = ERRORS[trial["arm"]]
            for scrape in range(3):
                for cpu in (0, 1):
                    known = trial["duty_percent"] + 0.01 * scrape
                    said = max(0.0, known + bias + float(random.normal(0, spread)))
                    writer.writerow([trial["trial"], scrape, cpu, known, round(said, 4)])
