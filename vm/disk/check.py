"""Whether a machine with systemd did everything: judged by the files that its job left."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ARMS = ("null_agent", "proc_stat", "sched_switch_published", "bcc_sched_switch")


def problems(results: Path) -> list[str]:
    """What is not as it should be, one line each; none if all is well."""
    return [
        *_text(results / "failed.txt").splitlines(),
        *_provisioned(results),
        *_counted(results),
        *_run(results / "root", ARMS),
        *_run(results / "plain", ("null_agent", "proc_stat")),
        *_left(results),
    ]


def _provisioned(results: Path) -> Iterator[str]:
    again = _text(results / "again.txt")
    for what in ("Debian packages to install: none", "Python packages to install: none"):
        if what not in again:
            yield f"after provision.sh, a dry run does not say '{what}'"
    if "to build:" in again:
        yield "after provision.sh, collectors are still to be built"
    if "systemd is PID 1" not in _text(results / "provision.txt"):
        yield "provision.sh did not end with the doctor, or not on a machine with systemd"
    doctor = _text(results / "doctor.txt")
    missing = [line for line in doctor.splitlines() if line.startswith("missing")]
    yield from (f"doctor: {line}" for line in missing)
    for arm in ARMS:
        if not any(arm in line and "can be measured" in line for line in doctor.splitlines()):
            yield f"doctor: {arm} is not said to be measurable"


def _counted(results: Path) -> Iterator[str]:
    numbers = _text(results / "counter.txt").split()
    if len(numbers) != 2 or numbers[0] != numbers[1]:
        yield f"a scope's counter and systemd's figure are not the same: {' and '.join(numbers)}"


def _run(output: Path, arms: tuple[str, ...]) -> Iterator[str]:
    name = output.name
    manifests = sorted(output.glob("raw/processes/*/manifest.json"))
    if len(manifests) != 1:
        yield f"{name}: {len(manifests)} runs, not one"
        return
    manifest: dict[str, Any] = json.loads(manifests[0].read_text())
    if manifest["instrument"] != "systemd":
        yield f"{name}: measured by {manifest['instrument']}, not by systemd scopes"
    with open(manifests[0].with_name("trials.csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    if len(rows) != len(manifest["plan"]["trials"]):
        yield f"{name}: {len(rows)} rows of {len(manifest['plan']['trials'])} trials"
    yield from (f"{name}: {_shown(row)}" for row in rows if row["status"] != "ok")
    costs = [row for row in rows if row["kind"] == "cost" and row["status"] == "ok"]
    for arm in arms:
        if not any(row["arm"] == arm and int(row["agent_ns"] or 0) > 0 for row in costs):
            yield f"{name}: no cost of {arm}"
    if not list(output.glob("processed/processes/*/tables/*.md")):
        yield f"{name}: no tables"


def _left(results: Path) -> Iterator[str]:
    yield from (f"left behind: {line}" for line in _text(results / "scopes.txt").splitlines())


def _shown(row: Mapping[str, str]) -> str:
    return f"trial {row['trial']}, {row['kind']} of {row['arm']}: {row['status']}: {row['reason']}"


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
