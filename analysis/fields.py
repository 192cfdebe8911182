"""The fields of a run's tables as numbers, and what is wrong with a file in one line."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

AGAIN = "measure the run again, or take the folder out of data/raw"
RESUME = "resume the run (./study run), or take the folder out of data/raw"


class RunError(Exception):
    """A run that cannot be used; the message is one line: file, place, cause and cure."""


def fail(path: Path, line: int | None, cause: str, cure: str) -> RunError:
    place = f"{path}, line {line}" if line else str(path)
    return RunError(" ".join(f"{place}: {cause}; {cure}".split()))


def text_of(file: Path) -> str:
    try:
        data = file.read_bytes()
        if file.suffix == ".gz":
            data = gzip.decompress(data)
        return data.decode("utf-8")
    except FileNotFoundError:
        raise fail(file, None, "no such file", AGAIN) from None
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        cause = f"cut off or corrupt ({error or type(error).__name__})"
        raise fail(file, None, cause, RESUME) from None


def records(file: Path, text: str, names: list[str]) -> tuple[list[list[str]], list[int]]:
    """Rows and the line each one ends on."""
    if text and not text.endswith("\n"):
        line = text.count("\n") + 1
        raise fail(file, line, "half-written, the line has no end", RESUME)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for record in reader:
            rows.append(record)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise fail(file, reader.line_num, f"not CSV ({error})", AGAIN) from None
    if not rows:
        raise fail(file, 1, "empty, not even the header is there", RESUME)
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
        raise fail(file, 1, cause, "use the version of the package that made the run")
    for record, line in zip(rows[1:], lines[1:], strict=True):
        if len(record) != len(names):
            raise fail(file, line, f"{len(record)} fields instead of {len(names)}", RESUME)
    return rows[1:], lines[1:]


def whole(
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
                raise fail(file, line, cause, AGAIN) from None
        raise
    except OverflowError:
        raise fail(file, None, f"{name} exceeds 64 bits", AGAIN) from None
    return numbers, np.array([not cell for cell in cells], dtype=bool)


def numbers_of(
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
            raise fail(file, line, f"{name} is {cell!r}, not a finite number", AGAIN)
    return numbers, np.array([not cell for cell in cells], dtype=bool)
