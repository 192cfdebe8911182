"""A made-up run of study `sensor` whose costs are known. Not a measurement."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import synthetic

from analysis.sensor import factorial
from analysis.sensor.hooks import BYTES, FULL, METADATA, NINE, NONE

EVENTS = 1000
ALONE_NS = 2_000.0  # an event of any load without the sensor
REST = 50.0  # reader at rest, ns per event
HOOKS = {name: 100.0 * (n + 1) for n, name in enumerate(NINE)} | dict.fromkeys(BYTES, 1500.0)
RESIDUAL = -200.0  # the nine share so much
#: Total of the naive sensor, and what each optimisation takes off; filter and bytes overlap.
NAIVE, SAVES = 9000.0, {"filter": 4000.0, "buffer": 500.0, "bytes": 2000.0}
OVERLAP, HABIT = 800.0, 300.0  # HABIT: what a perf buffer's own wake-up adds
FILTER = {"only_file_open_user": 5000.0, "only_file_open": 1000.0}
PREFIXES, PER_DOUBLING = (1, 16, 256, 1024, 4096), 3.0
VOLUME = {"kernel_ring_event": 1.0, FULL: 0.01}
Change = Callable[[dict[str, Any], dict[str, Any]], None]


def factorial_cost(variant: str) -> float:
    wakeup = "equal" if variant.endswith("_batch") else "own"
    changed = next(
        c for c in [(), *factorial.SUBSETS] if factorial.variant(c, wakeup) == variant
    )  # fmt: skip
    cost = NAIVE - sum(SAVES[f] for f in changed)
    if {"filter", "bytes"} <= set(changed):
        cost += OVERLAP
    if "buffer" not in changed and wakeup == "own":
        cost += HABIT
    return cost


def cost(variant: str, load: str) -> float:
    """Total per event, the reader at rest included."""
    if load == "service":
        return factorial_cost(variant)
    if load == "network":
        whole = sum(HOOKS.values()) + RESIDUAL
        if variant == FULL:
            return REST + whole
        if variant == METADATA:
            return REST + whole - sum(HOOKS[h] for h in BYTES)
        if variant.startswith("only_"):
            return REST + HOOKS[variant.removeprefix("only_")]
        return REST + (whole - HOOKS[variant.removeprefix("without_")] if variant != NONE else 0)
    if variant.startswith("prefixes_"):
        return 400 + PER_DOUBLING * float(np.log2(int(variant.removeprefix("prefixes_"))))
    return FILTER.get(variant, 700.0)


def plan(blocks: int = 7) -> dict[str, Any]:
    """In the shape of the runner's, each pair once a block, and the A/A twin."""
    made = synthetic.make_plan(["null_agent"], [None], blocks, study="sensor", external=False)
    pairs = [(v, "service") for w in factorial.WAKEUPS for v in factorial.all_variants(w)]
    mixed = [NONE, FULL, METADATA, *(f"{o}_{h}" for o in ("only", "without") for h in NINE)]
    pairs += [(v, "network") for v in mixed]
    pairs += [(v, "files") for v in FILTER] + [(v, "chatty") for v in VOLUME]
    pairs += [(f"prefixes_{n}", "open_outside") for n in PREFIXES] + [("only_kill", "kill")]
    common = {"kind": "sensor", "arm": "sensor", "statistics": "off", "processes": None}
    common |= {"interval_ms": 1000, "window_s": 1.0}
    trials = list(made["trials"])
    trials = [t for t in trials if t["kind"] == "cost"]
    for block in range(blocks + 1):
        for n, (variant, load) in enumerate([*pairs, (FULL, "service")]):
            twin = {"replica": 2 if n == len(pairs) else 1, "position": 100 + n, "block": block}
            trials.append({**common, **twin, "variant": variant, "load": load, "events": EVENTS})
    for number, trial in enumerate(trials):
        trial["trial"] = number
    sides = {
        "filter": ("only_file_open_user", "only_file_open", "files"),
        "buffer": ("user_perf_event_batch", "user_ring_event_batch", "service"),
        "bytes": ("kernel_ring_event", FULL, "chatty"),
        "all_three": ("user_perf_event", FULL, "service"),
        "metadata": (FULL, METADATA, "network"),
    }
    sensor = {
        "arm": "sensor",
        "variants": {v: [] for v, _ in pairs},
        "loads": {load: {} for _, load in pairs},
        "contrasts": [
            {"name": n, "numerator": a, "denominator": b, "load": c}
            for n, (a, b, c) in sides.items()
        ],
    }
    about = {**made["arms"]["null_agent"], "name": "sensor", "title": "sensor", "source": "ebpf"}
    arms = {**made["arms"], "sensor": {**about, "context": "both", "hook": None}}
    return made | {"schema": 6, "arms": arms, "trials": trials, "sensor": sensor}


def write(folder: Path, planned: dict[str, Any] | None = None, change: Change | None = None,
          **options: Any) -> Path:  # fmt: skip
    """Write a run of these costs; a tenth of each is the reader's."""

    def fill(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] != "sensor":
            return
        wave = 1 + 0.01 * np.sin(3 * trial["block"] + len(trial["variant"]))
        total = cost(trial["variant"], trial["load"]) * wave
        row |= {"variant": trial["variant"], "load": trial["load"], "events": EVENTS}
        row |= {"unattached_ns": round(ALONE_NS * EVENTS), "agent_ns": round(0.1 * total * EVENTS)}
        row |= {"work_ns": round((ALONE_NS + 0.9 * total) * EVENTS), "window_ns": 10**9}
        row |= {"reported_events": round(EVENTS * VOLUME.get(trial["variant"], 1.0))}
        row |= {"lost": 0, "attachments": "connect:tracepoint", "instrument": "cgroup2"}
        row |= {"pace": None, "workload": None}
        if change:
            change(row, trial)

    made = planned or plan()
    return synthetic.write_run(folder, made, change=fill, schema=6, **options)
