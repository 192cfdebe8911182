"""Coefficients made for these tests: nobody measured them, and no machine has them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NAMES = ("fixed", "per_process", "per_thread", "per_active", "per_cold_scrape", "per_switch",
         "per_cold_switch")  # fmt: skip
HALF = 1000.0
#: ns per scrape, process, thread and active task, more when cold; per switch, and more when cold.
MADE = {
    "null_agent": ("sleeping only", (30_000.0, 0.0, 0.0, 0.0, 40_000.0, 0.0, 0.0)),
    "proc_stat": ("/proc polling", (110_000.0, 20_000.0, 900.0, 0.0, 90_000.0, 0.0, 0.0)),
    "proc_stat_tuned": ("/proc polling, tuned", (80_000.0, 9_000.0, 850.0, 0.0, 8e4, 0.0, 0.0)),
    "sched_switch_published": ("eBPF as published", (200_000.0, 0.0, 0.0, 600.0, 50_000.0, 800.0,
                                                     2_000.0)),
    "sched_switch": ("eBPF, corrected", (60_000.0, 0.0, 0.0, 400.0, 40_000.0, 280.0, 400.0)),
    "task_iter": ("eBPF iterator", (80_000.0, 1_400.0, 700.0, 0.0, 60_000.0, 0.0, 0.0)),
}  # fmt: skip
BLOCKS, SPREAD = 8, 0.06


def made(blocks: int = BLOCKS, spread: float = SPREAD, unit: str = "ns") -> dict[str, Any]:
    """A file's content: blocks share part of their noise, as those of a measurement do."""
    draw = random.Random(5)
    common = [draw.gauss(0, spread) for _ in range(blocks)]
    arms: dict[str, Any] = {}
    for name, (title, means) in MADE.items():
        rows = [
            {
                key: max(0.0, mean * (1 + both + draw.gauss(0, spread / 3)))
                for key, mean in zip(NAMES, means, strict=True)
            }
            for both in common
        ]
        arms[name] = {"title": title, "answers": "processes", "blocks": rows,
                      "held_out_median_error": 0.04}  # fmt: skip
    other = dict.fromkeys(NAMES, 1.0)
    arms["cgroup_cpu_stat"] = {"title": "cpu.stat", "answers": "containers", "blocks": [other]}
    arms["another"] = {"answers": "gauges"}  # whatever it holds is not ours
    return {
        "schema": 2,
        "models": [
            {
                "run": "crossover/made-for-a-test",
                "backend": "here" if unit == "ns" else "exact",
                "unit": unit,
                "machine": "2 CPUs, made for a test, Linux 0.0",
                "cpus": 2,
                "confidence": 0.95,
                "region": {
                    "processes": [60, 5000],
                    "threads": [40, 20000],
                    "switches_per_s": [80, 200000],
                    "active_tasks": [0, 1000],
                    "interval_s": [0.1, 60],
                },
                "together": {"factor": 2.0, "planes": []},
                "half_cold_switches_per_s": HALF,
                "arms": arms,
            }
        ],
    }


@pytest.fixture
def content() -> Callable[..., dict[str, Any]]:
    """Makes a file's content anew; a test may spoil it."""
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of made coefficients."""
    path = tmp_path / "advice.json"
    path.write_text(json.dumps(made()))
    return path
