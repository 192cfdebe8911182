"""Reads one table of a run, as CSV or packed, and checks it against data/schema.json."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.schema import DTYPES, columns, file_of, frame_schema, holds

AGAIN = "measure the run again, or take the folder out of data/raw"
RESUME = "resume the run (./study run), or take the folder out of data/raw"


class RunError(Exception):
    """A run that cannot be used; the message is one line: file, place, cause and cure."""


def fault(path: Path, line: int | None, cause: str, cure: str) -> RunError:
    place = f"{path}, line {line}" if line else str(path)
    return RunError(" ".join(f"{place}: {cause}; {cure}".split()))


def _text(file: Path) -> str:
    try:
        data = file.read_bytes()
        if file.suffix == ".gz":
            data = gzip.decompress(data)
        return data.decode("utf-8")
    except FileNotFoundError:
        raise fault(file, None, "no such file", AGAIN) from None
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        cause = f"cut off or corrupt ({error or type(error).__name__})"
        raise fault(file, None, cause, RESUME) from None


def _records(file: Path, text: str, names: list[str]) -> tuple[list[list[str]], list[int]]:
    """Rows and the line each one ends on."""
    if text and not text.endswith("\n"):
        line = text.count("\n") + 1
        raise fault(file, line, "half-written, the line has no end", RESUME)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for record in reader:
            rows.append(record)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise fault(file, reader.line_num, f"not CSV ({error})", AGAIN) from None
    if not rows:
        raise fault(file, 1, "empty, not even the header is there", RESUME)
    if rows[0] != names:
        missing = [name for name in names if name not in rows[0]]
        extra = [name for name in rows[0] if name not in names]
        cause = (
            f"column {missing[0]!r} is missing"
            if missing
            else (
                f"column {extra[0]!r} is not in the schema"
                if extra
                else "columns are in another order"
            )
        )
        raise fault(file, 1, cause, "use the version of the package that made the run")
    for record, line in zip(rows[1:], lines[1:], strict=True):
        if len(record) != len(names):
            raise fault(file, line, f"{len(record)} fields instead of {len(names)}", RESUME)
    return rows[1:], lines[1:]


def _whole(
    file: Path, name: str, cells: Sequence[str], lines: list[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Whole numbers of 64 bits, and where the field is empty."""
    if not any(cells):
        return np.zeros(len(cells), dtype=np.int64), np.ones(len(cells), dtype=bool)
    try:
        numbers = np.array([int(cell or 0) for cell in cells], dtype=np.int64)
    except ValueError:
        for cell, line in zip(cells, lines, strict=True):
            try:
                int(cell or 0)
            except ValueError:
                cause = f"{name} is {cell!r}, not a whole number"
                raise fault(file, line, cause, AGAIN) from None
        raise
    except OverflowError:
        raise fault(file, None, f"{name} exceeds 64 bits", AGAIN) from None
    return numbers, np.array([not cell for cell in cells], dtype=bool)


def _numbers(
    file: Path, name: str, cells: Sequence[str], lines: list[int]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Finite numbers, and where the field is empty."""
    numbers = np.zeros(len(cells))
    for place, (cell, line) in enumerate(zip(cells, lines, strict=True)):
        try:
            numbers[place] = float(cell or 0)
        except ValueError:
            numbers[place] = np.nan
        if not np.isfinite(numbers[place]):
            raise fault(file, line, f"{name} is {cell!r}, not a finite number", AGAIN)
    return numbers, np.array([not cell for cell in cells], dtype=bool)


def read(path: Path, table: str, version: int) -> tuple[pd.DataFrame, list[int]]:
    """The table with the columns of today's schema; those the run's version lacks are empty."""
    file = path / file_of(table)
    names = [column["name"] for column in columns(table, version)]
    rows, lines = _records(file, _text(file), names)
    found = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}
    made: dict[str, pd.Series[Any]] = {}
    sound = True
    for column in columns(table):
        cells = found.get(column["name"], ("",) * len(rows))
        if column["type"] == "integer":
            numbers, empty = _whole(file, column["name"], cells, lines)
            made[column["name"]] = pd.Series(pd.arrays.IntegerArray(numbers, empty))
            sound = sound and holds(column, numbers[~empty], bool(empty.any()))
        elif column["type"] == "number":
            reals, empty = _numbers(file, column["name"], cells, lines)
            made[column["name"]] = pd.Series(pd.arrays.FloatingArray(reals, empty))
            sound = sound and holds(column, reals[~empty], bool(empty.any()))
        else:
            made[column["name"]] = pd.Series([cell or None for cell in cells], dtype="string")
            present = set(cells) - {""}
            sound = sound and holds(column, list(present), "" in cells)
    frame = pd.DataFrame(made, copy=False)
    if sound and (table != "trials" or frame["trial"].is_unique):
        return frame, lines
    import pandera.errors  # half a second that good data need not wait for

    try:
        return frame_schema(table).validate(frame), lines
    except pandera.errors.SchemaError as error:
        failed = error.failure_cases
        at = failed["index"].dropna().iloc[-1] if isinstance(failed, pd.DataFrame) else None
        value = failed["failure_case"].iloc[-1] if isinstance(failed, pd.DataFrame) else None
        name = getattr(error.schema, "name", table)
        check = getattr(error.check, "error", None) or str(error.check)
        missing = value is None or bool(pd.isna(value))
        cause = f"{name} is {'empty' if missing else repr(value)}, breaks {check!r}"
        raise fault(file, lines[int(at)] if at is not None else None, cause, AGAIN) from None


def empty(table: str) -> pd.DataFrame:
    """The table without a row."""
    return pd.DataFrame({c["name"]: pd.Series(dtype=DTYPES[c["type"]]) for c in columns(table)})
