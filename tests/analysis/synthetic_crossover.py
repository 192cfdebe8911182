"""A made-up crossover run whose cost model is known. Nothing in it was measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import synthetic

#: title, source, context; ns per scrape: fixed, per process, per thread, per active task; ns per
#: switch.  `COLD` adds what a machine that has gone cold costs more.
TRUTH: Mapping[str, tuple[str, str, str, tuple[float, ...]]] = {
    "null_agent": ("sleeping only", "none", "none", (60_000, 0, 0, 0, 0)),
    "proc_stat": ("/proc polling", "proc", "none", (150_000, 20_000, 300, 0, 0)),
    "proc_stat_tuned": ("/proc polling, tuned", "proc", "none", (100_000, 9_000, 0, 0, 0)),
    "sched_switch_published": ("eBPF as published", "ebpf", "others", (240_000, 0, 0, 300, 600)),
    "sched_switch": ("eBPF, corrected", "ebpf", "others", (80_000, 0, 0, 150, 200)),
    "task_iter": ("task iterator", "ebpf", "none", (120_000, 900, 800, 0, 0)),
}
#: ns more per cold scrape, and per cold switch.
COLD: Mapping[str, tuple[float, float]] = {
    "null_agent": (40_000, 0),
    "proc_stat": (120_000, 0),
    "proc_stat_tuned": (100_000, 0),
    "sched_switch_published": (50_000, 3_000),
    "sched_switch": (40_000, 700),
    "task_iter": (80_000, 0),
}
OWN_THREADS = 80.0  # threads of the machine beyond the first of each process
IDLE_RATE = 90.0  # switches a second of the machine itself
PAUSES = (0, 100, 1_000, 10_000)  # us
EVENTS = {0: 40_000, 100: 8_000, 1_000: 1_000, 10_000: 120}  # by pause, as a plan has them


def points(held_out: Sequence[int] = (12, 13)) -> list[dict[str, Any]]:
    """Fourteen design points in the shape of the planner's."""
    made = [  # processes, threads per process, switches/s, switching tasks, interval in ms
        *((n, 1, 0, 0, 1000) for n in (60, 600, 5000)),
        *((600, 1, rate, 2, 1000) for rate in (1_000, 20_000, 100_000)),
        *((60, 1, rate, 2, 100) for rate in (1_000, 100_000)),
        (5000, 1, 20_000, 2, 10_000),
        (600, 1, 20_000, 64, 1000),
        (600, 4, 1_000, 2, 1000),
        (600, 1, 5_000, 2, 1000),
        (2000, 1, 5_000, 2, 1000),
        (600, 1, 0, 0, 10_000),
    ]
    keys = ("processes", "threads_per_process", "switches_per_s", "switching_tasks", "interval_ms")
    return [
        {"point": n, **dict(zip(keys, values, strict=True))}
        | {"window_s": 5.0 * max(1.0, values[4] / 1000), "held_out": n in held_out}
        | {"arms": list(TRUTH)}
        for n, values in enumerate(made, 1)
    ]


def plan(
    blocks: int = 3, exact: bool = False, design: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Every arm at every point in each block, calibrations at four pauses, an A/A pair."""
    wanted = points() if design is None else design
    trials: list[dict[str, Any]] = []
    for block in range(1 if exact else 0, blocks + 1):
        for point in wanted:
            about = {k: v for k, v in point.items() if k not in ("held_out", "arms")}
            cost = {"kind": "cost", "statistics": "off", "block": block, **about}
            trials += [{**cost, "arm": arm, "replica": 1} for arm in point["arms"]]
            if exact:
                trials.append({**cost, "kind": "empty", "arm": "none", "replica": 1})
            elif point["point"] == 2:
                trials.append({**cost, "arm": "proc_stat", "replica": 2})
        if not exact:
            trials += [
                {"kind": "external", "arm": arm, "replica": 1, "statistics": "off", "block": block}
                | {"processes": 600, "workload": "switch", "pace": "paced" if pause else "hot"}
                | {"pause_us": pause, "events": EVENTS[pause], "interval_ms": 1000, "window_s": 1.0}
                for arm in ("null_agent", "sched_switch_published", "sched_switch")
                for pause in PAUSES
            ]
    for number, trial in enumerate(trials):
        trial |= {"trial": number, "position": number % 97}
    arms = {
        arm: {"name": arm, "title": title, "source": source, "context": context}
        | {"hook": "sched_switch" if context == "others" else None, "summary": "synthetic"}
        | {"language": "C", "fields": [], "programs": None}
        for arm, (title, source, context, _) in TRUTH.items()
    }
    pair = {"id": "proc_vs_published", "numerator": "proc_stat", "statistics": "off"}
    pair |= {"denominator": "sched_switch_published", "point": 2, "processes": 600}
    a_a = {"arm": "proc_stat", "statistics": "off", "point": 2, "processes": 600}
    return {
        "schema": 4,
        "study": "crossover",
        "preset": "exact" if exact else "full",
        "backend": "exact" if exact else "here",
        "seed": 1,
        "interval_ms": 1000,
        "blocks": blocks,
        "warm_up_blocks": 0 if exact else 1,
        "points": wanted,
        "arms": arms,
        "contrasts": [pair],
        "a_a": None if exact else a_a,
        "trials": trials,
    }


def cost_per_s(
    arm: str, trial: Mapping[str, Any], switches: float, half: float = 0.0
) -> tuple[float, float]:
    """ns a second that the reader and that its program take, by TRUTH; half: and by COLD."""
    fixed, process, thread, active, _ = TRUTH[arm][3]
    extra = OWN_THREADS + trial["processes"] * (trial["threads_per_process"] - 1)
    a_scrape = fixed + process * trial["processes"] + thread * extra
    a_scrape += active * trial["switching_tasks"] + COLD[arm][0] * cold(switches, half)
    return a_scrape / (trial["interval_ms"] / 1e3), per_switch(arm, switches, half) * switches


def cold(switches: float, half: float) -> float:
    """Share of scrapes and switches that finds the machine cold."""
    return half / (half + switches) if half else 0.0


def per_switch(arm: str, switches: float, half: float = 0.0) -> float:
    """What a switch costs the arm at a rate, ns."""
    return TRUTH[arm][3][4] + COLD[arm][1] * cold(switches, half)


def write(
    folder: Path,
    planned: dict[str, Any] | None = None,
    *,
    noise: float = 0.0,
    seed: int = 1,
    half: float = 0.0,
    scatter: float = 0.0,
    change: synthetic.Change | None = None,
    **options: Any,
) -> Path:
    """Write a run of TRUTH. noise: sd of the logarithm of each reader's cost; half: switches a
    second at which half of COLD is added; scatter: sd of what one calibrated event takes, ns."""
    made = planned or plan()
    random = np.random.default_rng(seed)
    exact = made["backend"] == "exact"

    def fill(row: dict[str, Any], trial: dict[str, Any]) -> None:
        seconds = row["window_ns"] / synthetic.NS
        if trial["kind"] == "external":
            rate = 2e6 / (trial["pause_us"] + 5)
            row |= {"pause_us": trial["pause_us"], "window_ns": round(trial["events"] / rate * 1e9)}
            each = 2400 + per_switch(trial["arm"], rate, half)
            off = random.normal(0, scatter / np.sqrt(trial["events"])) if scatter else 0.0
            row["unattached_ns"] = trial["events"] * 2400
            row["work_ns"] = round(trial["events"] * (each + off))
        elif trial["kind"] in ("cost", "empty"):
            load = trial["switches_per_s"]
            factor = float(np.exp(random.normal(0, 0.01)))  # no load keeps its rate to the digit
            switches = (IDLE_RATE + load) * factor
            extra = OWN_THREADS + trial["processes"] * (trial["threads_per_process"] - 1)
            row |= {
                "point": trial["point"],
                "threads_per_process": trial["threads_per_process"],
                "switches_target": load,
                "switching_tasks": trial["switching_tasks"],
                "load_switches": round(load * factor * seconds),
                "processes": trial["processes"],
                "threads": round(trial["processes"] + extra),
                "switches": round(switches * seconds),
                "scrapes": round(seconds * 1e3 / trial["interval_ms"]),
                "idle_ns": 0,
                "busy_ns": row["harness_ns"],
                "bpf_programs": None,
            }
            reader, others = (
                (0.0, 0.0)
                if trial["kind"] == "empty"
                else cost_per_s(trial["arm"], trial, row["switches"] / seconds, half)
            )
            reader *= float(np.exp(random.normal(0, noise))) if noise else 1.0
            rate = row["switches"] / seconds
            each = 0.0 if trial["kind"] == "empty" else per_switch(trial["arm"], rate, half)
            row["load_ns"] = round(row["load_switches"] * (1500 + each))
            row["agent_ns"] = None if trial["kind"] == "empty" else round(reader * seconds)
            if exact:
                count = round((1e6 + reader + others) * seconds)
                for part in ("user", "kernel", "bpf"):
                    row[f"{part}_instructions"] = count // 3
                row["instrument"] = "exact" if trial["kind"] == "empty" else row["instrument"]
                row["scrapes"] = None if trial["kind"] == "empty" else row["scrapes"]
        if change:
            change(row, trial)

    synthetic.write_run(folder, made, change=fill, noise=0.0, schema=4, **options)
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    manifest["fingerprint"] |= {"cpus_online": 2}
    file.write_text(json.dumps(manifest), encoding="utf-8")
    return folder
