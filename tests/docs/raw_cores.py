"""Study `cores` from raw rows, written anew in plain Python: what its tables must agree with."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from pathlib import Path
from statistics import mean, median

from raw_rows import Raw, Row, weighted_slope

INSTRUCTIONS = ("user_instructions", "kernel_instructions", "bpf_instructions")


def _whole(row: Row) -> int:
    return sum(int(row[name]) for name in INSTRUCTIONS)


def life(found: Raw, row: Row, measure: str) -> float:
    """A measure of the source's of one row of kind from_start."""
    clock = int(row["own_task_clock_ns"])
    if measure == "instructions_whole":
        same = {"kind": "empty", "block": row["block"], "stress_threads": row["stress_threads"]}
        (empty,) = (r for r in found.rows if all(r[k] == v for k, v in same.items()))
        share = int(row["window_ns"]) / int(empty["window_ns"])
        return (_whole(row) - share * _whole(empty)) / 1e6
    return {
        "task_clock": lambda: clock / 1e6,
        "cpu_usage": lambda: 100 * clock / int(row["window_ns"]),
        "instructions": lambda: clock / 2 / 1e6,  # of the exact machine: 2 ns each
        "context_switches": lambda: float(row["own_switches"]),
        "system_time": lambda: int(row["own_system_ns"]) / 1e6,
        "user_time": lambda: int(row["own_user_ns"]) / 1e6,
    }[measure]()


def source(found: Raw, row: dict[str, str], column: str) -> float:
    """A value of the source's table: means over blocks; of the exact machine medians."""
    sides: dict[str, dict[str, float]] = {}
    for side in ("numerator", "denominator"):
        keys = {"kind": "from_start", "arm": row[side], "stress_threads": row["stress_threads"]}
        sides[side] = {
            r["block"]: life(found, r, row["measure"])
            for r in found.rows
            if all(r[k] == v for k, v in keys.items())
        }
    x, y = sides.values()
    exact = row["measure"].startswith("instructions")
    middle = median if exact else mean
    if column != "ratio":
        return middle(sides[column.removesuffix("_value")].values())
    if exact:
        return median(x[block] / y[block] for block in x.keys() & y.keys())
    blocks = x.keys() & y.keys()
    return mean(x[block] for block in blocks) / mean(y[block] for block in blocks)


def per_thread(found: Raw, arm: str) -> float:
    """ns that a thread adds to a scrape of an arm without a hook: a line in each block, each level
    weighted by 1 / mean²."""
    assert found.plan["arms"][arm]["hook"] is None and found.plan["interval_ms"] == 1000
    keys = {"kind": "cost", "arm": arm, "statistics": "off", "replica": "1"}
    levels: dict[int, dict[str, float]] = defaultdict(dict)
    for row in found.rows:
        if all(row[k] == v for k, v in keys.items()):
            share = int(row["agent_ns"]) / int(row["window_ns"])
            levels[int(row["stress_threads"])][row["block"]] = share
    blocks: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for threads, shares in levels.items():
        for block, share in shares.items():
            blocks[block].append((threads, share, 1 / mean(shares.values()) ** 2))
    return mean(weighted_slope(points) for points in blocks.values()) * 1e9


def error(folder: Path, found: Raw, arm: str, load: str) -> float:
    """Mean over blocks of how far reports are off the known activity, in points of a CPU."""
    with gzip.open(folder / "cores.csv.gz", "rt", encoding="utf-8", newline="") as file:
        apart: dict[str, list[float]] = defaultdict(list)
        for report in csv.DictReader(file):
            off = float(report["reported_percent"]) - float(report["known_percent"])
            apart[report["trial"]].append(abs(off))
    blocks: dict[str, list[float]] = defaultdict(list)
    for row in found.rows:
        if (row["kind"], row["arm"]) == ("cores", arm):
            name = f"{row['duty_percent']} % in bursts of {int(row['burst_us']) / 1000:g} ms"
            if name == load:
                blocks[row["block"]].append(mean(apart[row["trial"]]))
    return mean(mean(values) for values in blocks.values())
