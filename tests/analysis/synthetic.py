"""SYNTHETIC runs for tests: made by a generator, nothing in them was measured on any machine."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from analysis.schema import columns

NS = 1_000_000_000
REFUSED = "program refused: Operation not permitted (EPERM)"

# title, source, context, cost in percent of a core: fixed, per process; ns per switch
ARMS: dict[str, tuple[str, str, str, float, float, float]] = {
    "null_agent": ("sleeping only", "none", "none", 0.011, 0.0, 0.0),
    "proc_stat": ("/proc polling", "proc", "none", 0.015, 7e-4, 0.0),
    "sched_switch_published": ("eBPF, published", "ebpf", "others", 0.03, 0.0, 98.0),
    "sched_switch": ("eBPF, corrected", "ebpf", "others", 0.04, 1e-6, 110.0),
    "psutil_processes": ("psutil (Python)", "proc", "none", 0.05, 6e-3, 0.0),
    "bcc_sched_switch": ("BCC (Python)", "ebpf", "others", 0.12, 1e-6, 120.0),
    "proc_files": ("/proc files", "proc", "none", 0.028, 0.0, 0.0),
    "bpf_timer": ("BPF timer", "ebpf", "others", 0.02, 0.0, 90.0),
    "bpf_on_demand": ("BPF on demand", "ebpf", "own", 0.02, 0.0, 0.0),
    "spare_a": ("spare collector A", "proc", "none", 0.2, 1e-4, 0.0),
    "spare_b": ("spare collector B", "ebpf", "others", 0.05, 0.0, 60.0),
}


def arm_yaml(name: str) -> dict[str, Any]:
    title, source, context, *_ = ARMS[name]
    hook = "sched_switch" if context == "others" else None
    return {
        "name": name,
        "title": title,
        "source": source,
        "context": context,
        "hook": "bpf_timer" if name == "bpf_timer" else hook,
        "summary": "synthetic",
        "language": "Python" if "Python" in title else "C",
        "fields": [] if source == "none" else ["pid", "cpu_time"],
        "programs": 1 if source == "ebpf" else 0,
    }


def contrast(
    numerator: str, denominator: str, level: int | None, statistics: str = "off"
) -> dict[str, Any]:
    return {
        "id": f"{numerator}_vs_{denominator}_{level}_{statistics}",
        "numerator": numerator,
        "denominator": denominator,
        "statistics": statistics,
        "processes": level,
    }


def make_plan(
    arms: Sequence[str],
    levels: Sequence[int | None],
    blocks: int,
    *,
    study: str = "processes",
    statistics: Sequence[str] = ("off", "on"),
    contrasts: Sequence[dict[str, Any]] = (),
    a_a: tuple[str, str, int | None] | None = None,
    external: bool = True,
    rounds: int = 1,
    seed: int = 1,
) -> dict[str, Any]:
    """A plan in the shape of the runner's: randomised complete blocks, block 0 the warm-up."""
    random = np.random.default_rng(seed)
    trials: list[dict[str, Any]] = []
    for block in range(blocks + 1):
        cells: list[dict[str, Any]] = [
            {"kind": "cost", "arm": arm, "replica": 1, "statistics": state, "processes": level}
            for arm in arms
            for level in levels
            for state in statistics
        ]
        if a_a:
            cells.append(
                {
                    "kind": "cost",
                    "arm": a_a[0],
                    "replica": 2,
                    "statistics": a_a[1],
                    "processes": a_a[2],
                }
            )
        hooked = [arm for arm in arms if arm_yaml(arm)["hook"] == "sched_switch"]
        if external and hooked:
            cells += [
                {
                    "kind": "external",
                    "arm": arm,
                    "replica": 1,
                    "statistics": "off",
                    "processes": levels[-1],
                    "workload": "switch",
                    "pace": pace,
                    "events": events,
                }
                for _ in range(rounds)
                for arm in ["null_agent", *hooked]
                for pace, events in (("hot", 50_000), ("paced", 1500))
            ]
        order = random.permutation(len(cells))
        trials += [
            {"block": block, "position": n, "interval_ms": 1000, "window_s": 2.0, **cells[i]}
            for n, i in enumerate(order)
        ]
    trials += [
        {
            "block": blocks + 1,
            "position": n,
            "interval_ms": 1000,
            "window_s": 3.0,
            "kind": "fidelity",
            "arm": arm,
            "replica": 1,
            "statistics": "off",
            "processes": levels[-1],
            "workload": "steady",
        }
        for n, arm in enumerate(a for a in arms if a != "null_agent")
    ]
    for number, trial in enumerate(trials):
        trial["trial"] = number
    return {
        "schema": 4,
        "study": study,
        "preset": "synthetic",
        "backend": "here",
        "seed": seed,
        "interval_ms": 1000,
        "blocks": blocks,
        "warm_up_blocks": 1,
        "arms": {arm: arm_yaml(arm) for arm in dict.fromkeys([*arms, "null_agent"])},
        "contrasts": list(contrasts),
        "a_a": {"arm": a_a[0], "statistics": a_a[1], "processes": a_a[2]} if a_a else None,
        "trials": trials,
    }


Change = Callable[[dict[str, Any], dict[str, Any]], None]


def _row(
    trial: dict[str, Any],
    plan: dict[str, Any],
    random: np.random.Generator,
    noise: float,
    unavailable: Sequence[str],
) -> dict[str, Any]:
    arm, kind = trial["arm"], trial["kind"]
    *_, fixed, slope, ns = ARMS.get(arm, ARMS["spare_b"])  # others: what `change` makes of them
    level = trial["processes"]
    n = 90 if level is None else level
    window = round(trial["window_s"] * NS)
    jitter = float(np.exp(random.normal(0, noise)))
    block_effect = 1 + 0.02 * np.sin(trial["block"])
    row: dict[str, Any] = {
        "trial": trial["trial"],
        "block": trial["block"],
        "position": trial["position"],
        "kind": kind,
        "study": plan["study"],
        "arm": arm,
        "replica": trial["replica"],
        "statistics": trial["statistics"],
        "instrument": kind if kind != "cost" else "cgroup2",
        "status": "ok",
        "processes_target": level,
        "processes": n + int(random.integers(0, 3)),
        "processes_end": n,
        "threads": n + 80,
        "started_utc": f"2024-06-01T10:{trial['trial'] // 60 % 60:02d}:{trial['trial'] % 60:02d}Z",
        "setup_ns": 31_000_000,
        "interval_ms": trial["interval_ms"],
        "window_ns": window,
        "scrapes": 2,
        "switches": round((900 + 0.4 * n) * window / NS * float(np.exp(random.normal(0, 0.05)))),
        "forks": 2,
        "busy_ns": round(0.03 * window),
        "idle_ns": round(1.97 * window),
        "steal_ns": 0,
        "irq_ns": 90_000,
        "harness_ns": 200_000 + int(random.integers(0, 9000)),
        "harness_wakeups": 0,
        "lost": 0,
        "recursion_misses": 0,
        "vanished": 0,
        "denied": 0,
        "late": 0,
        "agent_rss_bytes": 4_500_000,
        "agent_tasks": 1,
        "bpf_programs": 1 if ns else 0,
    }
    if arm in unavailable:
        return {key: row[key] for key in list(row)[:10] if key in row} | {
            "status": "unavailable",
            "reason": REFUSED,
            "started_utc": row["started_utc"],
            "processes_target": level,
        }
    if kind == "cost":
        percent = (fixed + slope * n) * jitter * block_effect
        row["agent_ns"] = round(percent / 100 * window)
        row["busy_ns"] += row["agent_ns"] + round(row["switches"] * ns)
        if trial["statistics"] == "on":
            count = row["switches"] if ns else 0
            row |= {
                "bpf_run_count": count,
                "bpf_run_ns": round(count * ns * 0.9),
                "bpf_recursion_misses": 0,
            }
    elif kind == "external":
        events = trial["events"]
        base = 2400 if trial["pace"] == "hot" else 6000
        row |= {
            "pace": trial["pace"],
            "workload": trial["workload"],
            "events": events,
            "work_ns": round(events * (base * block_effect + ns + random.normal(0, 10))),
            "unattached_ns": round(events * base * block_effect),
        }
    elif kind == "fidelity":
        row["workload"] = trial["workload"]
        row |= {"known_ns": 2 * NS, "reported_ns": round(2 * NS * (1 + random.normal(0, 0.002)))}
    return row


def write_run(
    folder: Path,
    plan: dict[str, Any],
    *,
    seed: int = 1,
    noise: float = 0.08,
    unavailable: Sequence[str] = (),
    upto: int | None = None,
    change: Change | None = None,
    schema: int = 4,
) -> Path:
    """Write a run from a plan. `change(row, trial)` edits rows; `upto` leaves it unfinished.

    With an older `schema` it is one of that version: without the columns that came later.
    """
    random = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    names = [c["name"] for c in columns("trials", schema)]
    rows = []
    for trial in plan["trials"][:upto]:
        row = _row(trial, plan, random, noise, unavailable)
        if change:
            change(row, trial)
        rows.append(row)
    with open(folder / "trials.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    scrape_names = [c["name"] for c in columns("scrapes")]
    with gzip.open(folder / "scrapes.csv.gz", "wt", newline="", encoding="utf-8") as packed:
        scrapes = csv.writer(packed, lineterminator="\n")
        scrapes.writerow(scrape_names)
        for row in rows:
            if row["status"] == "ok" and row["kind"] == "cost":
                for k in (1, 2):
                    scrapes.writerow([row["trial"], k, k * NS - NS // 2, row["agent_ns"] // 2, 1])
    manifest = {
        "schema": schema,
        "run": folder.name,
        "study": plan["study"],
        "preset": plan["preset"],
        "plan": plan,
        "plan_hash": "0" * 64,
        "instrument": "cgroup2",
        "programs_loaded_before": [],
        "started_utc": "2024-06-01T10:00:00Z",
        "fingerprint": {
            "synthetic": True,
            "release": "6.1.0-synthetic",
            "architecture": "x86_64",
            "cpu_model": "synthetic CPU",
            "hostname": "synthetic",
        },
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    return folder


PROCESSES = ["null_agent", "proc_stat", "sched_switch_published", "sched_switch"]


def quick(folder: Path, blocks: int = 6, **options: Any) -> Path:
    """A run like the quick preset's: two levels, both statistics, one contrast."""
    plan = make_plan(
        PROCESSES,
        [100, 600],
        blocks,
        a_a=("proc_stat", "off", 600),
        contrasts=[contrast("proc_stat", "sched_switch_published", 600)],
    )
    return write_run(folder, plan, **options)
