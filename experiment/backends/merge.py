"""Joins what a boot left into the run: its rows, with the instructions counted for each."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from experiment.accounting import exact

Row = dict[str, Any]
_COUNTED = ("cost", "empty", "from_start")
_SAMPLES = ("scrapes.csv.gz", "cores.csv.gz")
PLACES = ("user", "kernel", "bpf")


class MergeError(Exception):
    """What the guest left does not fit together; the text is one line."""


class Counts(NamedTuple):
    """Instructions of the whole guest."""

    value: int
    user: int
    kernel: int
    bpf: int


@dataclass(frozen=True)
class Block:
    """A boot's share of a run. ``logs`` are the collectors' words by file name."""

    manifest: dict[str, Any]
    rows: list[Row]
    scrapes: dict[int, list[Row]]
    logs: dict[str, bytes]


def block(
    files: Mapping[str, bytes],
    marks: Iterable[tuple[int, int, int, int]],
    planned: Sequence[Mapping[str, Any]],
) -> Block:
    """Read a boot's result.

    Args:
        files: the run folder that the guest made, by path.
        marks: value and cumulative counts of each mark, in the order they were made.
        planned: the trials of the block; rows of others are left out.

    Raises:
        MergeError: a row is missing, or marks and rows do not belong to each other.
    """
    try:
        rows = list(csv.DictReader(io.StringIO(files["trials.csv"].decode(), newline="")))
        manifest = json.loads(files["manifest.json"])
        samples = [
            sample
            for file in _SAMPLES
            for sample in csv.DictReader(
                io.StringIO(gzip.decompress(files.get(file, b"")).decode(), newline="")
            )
        ]
    except (KeyError, ValueError, OSError, EOFError) as error:
        raise MergeError(f"the guest's run folder is damaged: {error}") from None
    wanted = {str(trial["trial"]) for trial in planned}
    kept: list[Row] = [row for row in rows if row["trial"] in wanted]
    if len(kept) != len(wanted):
        raise MergeError(f"the guest has {len(kept)} rows of {len(wanted)} planned")
    _count(kept, windows(marks))
    scrapes: dict[int, list[Row]] = {}
    for sample in samples:
        if sample["trial"] in wanted:
            scrapes.setdefault(int(sample["trial"]), []).append(sample)
    logs = {
        name.removeprefix("log/"): text
        for name, text in sorted(files.items())
        if name.startswith("log/") and text and name[4:].split("-")[0] in wanted
    }
    return Block(manifest, kept, scrapes, logs)


def windows(marks: Iterable[tuple[int, int, int, int]]) -> dict[int, tuple[int, int, int]]:
    """Instructions between the two marks of each window, by the marks' number of its trial.

    Raises MergeError for a mark without its pair, a second pair, or counts that fall.
    """
    found: dict[int, tuple[int, int, int]] = {}
    began: Counts | None = None
    for mark in (Counts(*numbers) for numbers in marks):
        trial, edge = mark.value >> 1, mark.value & 1
        if edge == 0 and began is None:
            began = mark
            continue
        if edge == 0 or began is None or began.value >> 1 != trial or trial in found:
            raise MergeError(f"a mark of trial {trial} has no pair, or is one too many")
        counted = tuple(after - before for before, after in zip(began[1:], mark[1:], strict=True))
        if min(counted) < 0:
            raise MergeError(f"the counts of trial {trial} fall")
        found[trial] = (counted[0], counted[1], counted[2])
        began = None
    if began is not None:
        raise MergeError(f"a mark of trial {began.value >> 1} has no pair, or is one too many")
    return found


def _count(rows: Sequence[Row], counted: Mapping[int, tuple[int, int, int]]) -> None:
    """Put the counts into the rows that have a window."""
    for row in rows:
        if row["kind"] not in _COUNTED or row["window_ns"] == "":
            continue
        number = exact.value(int(row["trial"]), 0) >> 1
        if number not in counted:
            raise MergeError(f"trial {row['trial']} has a window and no marks")
        for place, count in zip(PLACES, counted[number], strict=True):
            row[f"{place}_instructions"] = str(count)
