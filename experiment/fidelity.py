"""What a collector reports against what is known, from its ``--dump`` records.

A collector that is cheap because it is wrong is a failed arm. For per-process collectors the known
value is the CPU time of one process by its own clock; for gauges it is CPUs times elapsed time,
which the states of the machine's CPU time must add up to.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def compare(dump: Path, known: dict[str, Any]) -> tuple[int, int]:
    """(known, reported) CPU time in ns. ``known`` is the report of the ``spin`` generator.

    Raises ValueError if the file holds no record or one that is not of the protocol.
    """
    records = read(dump)
    if "processes" in records[0]:
        return int(known["cpu_ns"]), of_process(records, int(known["pid"]))
    return of_machine(records)


def read(dump: Path) -> list[dict[str, Any]]:
    """All records, one JSON object per scrape."""
    with open(dump, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    if not records or not all(isinstance(record, dict) for record in records):
        raise ValueError("the collector wrote no record although --dump was given")
    return records


def of_process(records: list[dict[str, Any]], pid: int) -> int:
    """CPU time in ns that the records attribute to a process."""
    return sum(
        int(entry[2]) for record in records for entry in record["processes"] if entry[0] == pid
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
