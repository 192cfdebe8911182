"""What a tool reports of each CPU, and what is known: the two sides of a trial of kind ``cores``.

Three forms are read: the records of a collector of this project, and what ``top -b`` and
``mpstat -P ALL`` print. Of a printed report nothing is known but when it arrived, so it speaks for
the time since the one before. A CPU is active when it neither idles nor waits for a disk, nor is
kept from running by the hypervisor.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

#: In place of a CPU's number: all of them together.
TOGETHER = -1
#: Programs whose reports are printed, by the name of the program.
PRINTED = ("top", "mpstat")
_TOP = re.compile(r"%Cpu(\d+|\(s\))\s*:\s*([^%]*)")
_TOP_VALUE = re.compile(r"(\d+[.,]\d+|\d+)\s*([a-z]{2})\b")
_NOT_ACTIVE = {"top": ("id", "wa", "st"), "mpstat": ("%idle", "%iowait", "%steal")}

Line = tuple[int, str]
Notes = Sequence[Sequence[int]]


class Report(NamedTuple):
    """Percent of the time that a CPU was active, between two moments of CLOCK_MONOTONIC."""

    since_ns: int
    at_ns: int
    active: dict[int, float]


def form(arm: Mapping[str, Any]) -> str | None:
    """How an arm's reports are read: ``records``, ``top``, ``mpstat``; None: it reports no CPU."""
    program = os.path.basename(str(arm["command"][0]))
    if program in PRINTED:
        return program
    return "records" if arm["dump"] and arm.get("study") == "cores" else None


def printed(how: str, lines: Iterable[Line]) -> list[Report]:
    """The reports that a program printed, from its lines and when each of them arrived.

    The first one is left out, since it has none before it; top's tells of the time since boot.
    """
    found = _of_top(lines) if how == "top" else _of_mpstat(lines)
    return [
        Report(before, at, active)
        for (before, _), (at, active) in itertools.pairwise(found)
        if before < at
    ]


def _of_top(lines: Iterable[Line]) -> list[tuple[int, dict[int, float]]]:
    found: list[tuple[int, dict[int, float]]] = []
    for at, line in lines:
        if line.startswith("top - "):
            found.append((at, {}))
        if not line.startswith("%Cpu") or not found:
            continue
        for cpu, values in _TOP.findall(line):
            by_name = {name: _number(value) for value, name in _TOP_VALUE.findall(values)}
            if "id" in by_name:
                number = TOGETHER if cpu == "(s)" else int(cpu)
                found[-1][1][number] = _active(by_name, "top")
    return found


def _of_mpstat(lines: Iterable[Line]) -> list[tuple[int, dict[int, float]]]:
    found: list[tuple[int, dict[int, float]]] = []
    names: list[str] = []
    place = 0
    for at, line in lines:
        words = line.split()
        if words and words[0].startswith("Average"):
            break
        if "CPU" in words and "%idle" in words:
            names, place = words, words.index("CPU")
            found.append((at, {}))
        elif names and len(words) == len(names) and words[place].isdigit():
            values = dict(zip(names[place + 1 :], map(_number, words[place + 1 :]), strict=True))
            found[-1][1][int(words[place])] = _active(values, "mpstat")
    return found


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _active(values: Mapping[str, float], how: str) -> float:
    idle = sum(values.get(name, 0.0) for name in _NOT_ACTIVE[how])
    return min(100.0, max(0.0, 100.0 - idle))


def recorded(records: Iterable[Mapping[str, Any]]) -> list[Report]:
    """The reports in a collector's records. KeyError for one without ``cores``."""
    found = []
    for record in records:
        at, lasted = int(record["at_ns"]), int(record["interval_ns"])
        active = {int(cpu): 100 * int(ns) / lasted for cpu, ns in record["cores"].items()}
        found.append(Report(at - lasted, at, active))
    return found


def read_records(text: str) -> list[Report]:
    """The same from the file. ValueError if it is not of the protocol."""
    try:
        return recorded(json.loads(line) for line in text.splitlines())
    except (KeyError, AttributeError, TypeError, ZeroDivisionError) as error:
        raise ValueError(f"a record of another form: {error!r}") from None


def used_by(notes: Notes, at_ns: int) -> float:
    """What had been used by a moment between two notes of it; nan outside them."""
    place = bisect_right(notes, at_ns, key=lambda note: note[0])
    if not notes or not notes[0][0] <= at_ns <= notes[-1][0]:
        return math.nan
    if place == len(notes):
        return float(notes[-1][1])
    (before, used), (after, later) = notes[place - 1], notes[place]
    return used + (later - used) * (at_ns - before) / (after - before)


def against(
    reports: Iterable[Report], cpus: Mapping[str, Mapping[str, Notes]]
) -> list[dict[str, Any]]:
    """Rows of ``cores.csv.gz``, less the trial: known and reported percent by report and CPU.

    Args:
        cpus: what ``duty_cores`` says of each CPU: notes of what its thread has used, ``own``, and
            of what everything else has, ``others``.

    Reports that do not lie wholly within the load's time are left out.
    """
    rows: list[dict[str, Any]] = []
    number = 0
    for report in reports:
        known = {int(cpu): _known(report, notes) for cpu, notes in cpus.items()}
        if not known or any(math.isnan(percent) for percent in known.values()):
            continue
        known[TOGETHER] = sum(known.values()) / len(known)
        rows += [
            {
                "scrape": number,
                "cpu": cpu,
                "known_percent": round(known[cpu], 3),
                "reported_percent": round(percent, 3),
            }
            for cpu, percent in sorted(report.active.items())
            if cpu in known
        ]
        number += 1
    return rows


def _known(report: Report, notes: Mapping[str, Notes]) -> float:
    used = sum(
        used_by(notes[name], report.at_ns) - used_by(notes[name], report.since_ns)
        for name in ("own", "others")
    )
    percent = 100 * used / (report.at_ns - report.since_ns)
    return 0.0 if percent < 0 else percent  # nan stays nan
