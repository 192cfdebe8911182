"""What a collector reports against what is known, from its ``--dump`` records.

A collector that is cheap because it is wrong is a failed arm. For per-process collectors the known
value is the CPU time of all processes of a load, by their own clocks or by the kernel's account of
them when they are dead; for gauges it is CPUs times elapsed time, which the states of the machine's
CPU time must add up to.
"""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any


def compare(dump: Path, known: dict[str, Any]) -> tuple[int, int]:
    """(known, reported) CPU time in ns.

    Args:
        dump: what the collector wrote.
        known: a generator's report: ``cpu_ns`` of the processes in ``processes`` ([pid, ns] each),
            or of ``pid`` alone. With ``notes`` ([CLOCK_MONOTONIC, CPU time] each) the process went
            on when the last record was made: what it had used by then is known.

    Raises ValueError if the file holds no record or one that is not of the protocol, or if the last
    one was made when the process did not burn.
    """
    records = read(dump)
    if "processes" not in records[0]:
        return of_machine(records)
    pids = {int(pid) for pid, _ in known.get("processes", [(known["pid"], None)])}
    reported = of_processes(records, pids)
    if "notes" in known:
        return used_at(known["notes"], int(records[-1]["at_ns"])), reported
    return int(known["cpu_ns"]), reported


def used_at(notes: list[list[int]], at_ns: int) -> int:
    """CPU time that a process had used at a moment, in ns, between two of its own notes of it."""
    for (before, used), (after, later) in itertools.pairwise(notes):
        if before <= at_ns <= after:
            return used + (later - used) * (at_ns - before) // (after - before)
    raise ValueError("the load was not at work when the collector read for the last time")


def read(dump: Path) -> list[dict[str, Any]]:
    """All records, one JSON object per scrape."""
    with open(dump, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    if not records or not all(isinstance(record, dict) for record in records):
        raise ValueError("the collector wrote no record although --dump was given")
    return records


def of_processes(records: list[dict[str, Any]], pids: set[int]) -> int:
    """CPU time in ns that the records attribute to these processes."""
    return sum(
        int(entry[2]) for record in records for entry in record["processes"] if entry[0] in pids
    )


def of_machine(records: list[dict[str, Any]]) -> tuple[int, int]:
    """(CPUs x elapsed, sum over the states) between the first and the last record, in ns."""
    first, last = records[0], records[-1]
    if first is last:
        raise ValueError("two records are needed to compare gauges")
    elapsed = int(last["at_ns"]) - int(first["at_ns"])
    reported = sum(
        int(value) - int(first["cpu_ns"][state])
        for state, value in last["cpu_ns"].items()
        if value is not None and first["cpu_ns"].get(state) is not None
    )
    return elapsed * (os.cpu_count() or 1), reported
