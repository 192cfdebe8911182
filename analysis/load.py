"""Reads one run from data/raw and checks it against data/schema.json and its own plan."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis import exclusion
from analysis.order import in_order
from analysis.schema import DTYPES, columns, file_of, frame_schema, holds, schema, versions

# What a row repeats from its planned trial: a difference means that the two do not belong together.
PLANNED = ["block", "position", "kind", "arm", "replica", "statistics", "pace", "workload"]
# What the analysis looks up in the plan's entries.
NEEDED: dict[str, dict[str, type]] = {
    "trials": {"trial": int, "block": int, "kind": str, "arm": str},
    "contrasts": dict.fromkeys(("id", "numerator", "denominator", "statistics"), str),
    "a_a": {"arm": str, "statistics": str},
}
PACED: dict[str, type] = {"pace": str}
AGAIN = "measure the run again, or take the folder out of data/raw"
RESUME = "resume the run (./study run), or take the folder out of data/raw"


class RunError(Exception):
    """A run that cannot be used; the message is one line: file, place, cause and cure."""


@dataclass(frozen=True)
class Run:
    """One run as measured. `finished` is False while planned trials have no row yet.

    `trials` lack the blocks that the plan's own limits leave out; `excluded` says which and why,
    and `disturbances` are the warnings about them.
    """

    path: Path
    manifest: dict[str, Any]
    trials: pd.DataFrame
    scrapes: pd.DataFrame
    finished: bool
    excluded: tuple[exclusion.Excluded, ...] = ()
    disturbances: tuple[str, ...] = ()
    cores: pd.DataFrame = field(default_factory=lambda: _empty("cores"))

    @property
    def name(self) -> str:
        return str(self.manifest["run"])

    @property
    def study(self) -> str:
        return str(self.manifest["study"])

    @property
    def plan(self) -> dict[str, Any]:
        plan: dict[str, Any] = self.manifest["plan"]
        return plan

    @property
    def arms(self) -> dict[str, dict[str, Any]]:
        """Arms of the plan by name, as in their YAML files, in the order of tables and figures."""
        arms: dict[str, dict[str, Any]] = self.plan["arms"]
        return {arm: arms[arm] for arm in in_order(arms)}

    def title(self, arm: str) -> str:
        """The arm's label in tables and figures."""
        return str(self.arms.get(arm, {}).get("title") or arm)


def find_runs(raw: Path) -> list[Path]:
    """Folders of runs under data/raw/<study>/, oldest first. None is not an error."""
    return sorted(
        {
            p.parent
            for name in ("manifest.json", file_of("trials"))
            for p in Path(raw).glob(f"*/*/{name}")
        }
    )


def _fail(path: Path, line: int | None, cause: str, cure: str) -> RunError:
    place = f"{path}, line {line}" if line else str(path)
    return RunError(" ".join(f"{place}: {cause}; {cure}".split()))


def _manifest(path: Path) -> dict[str, Any]:
    file = path / "manifest.json"
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _fail(file, None, "no such file", "is this the folder of a run?") from None
    except json.JSONDecodeError as error:
        raise _fail(file, error.lineno, f"not JSON ({error.msg})", AGAIN) from None
    except (OSError, UnicodeDecodeError) as error:
        raise _fail(file, None, f"unreadable ({error})", AGAIN) from None
    if not isinstance(manifest, dict):
        raise _fail(file, 1, "not a JSON object", AGAIN)
    if type(manifest.get("schema")) is not int or manifest["schema"] not in versions():
        cause = (
            f"schema {manifest.get('schema')!r}, this version reads schemas 1 to {versions()[-1]}"
        )
        raise _fail(file, None, cause, "use the version of the package that made the run")
    for key, entry in schema()["manifest"].items():
        kind = {"integer": int, "string": str, "object": dict, "array": list}[entry["type"]]
        # null says the same as absence: earlier versions wrote it where a value could not be known
        if manifest.get(key) is None and entry["required"]:
            raise _fail(file, None, f"key {key!r} is missing", AGAIN)
        if manifest.get(key) is not None and not isinstance(manifest[key], kind):
            raise _fail(file, None, f"{key!r} is not of type {entry['type']}", AGAIN)
    _check_plan(file, manifest["plan"])
    return manifest


def _check_plan(file: Path, plan: dict[str, Any]) -> None:
    """Everything the analysis looks up in a plan is there and of its type."""
    for key in ("arms", "trials"):
        if not plan.get(key):
            raise _fail(file, None, f"the plan has no {key}", AGAIN)
    arms = plan["arms"]
    if not isinstance(arms, dict) or not all(isinstance(arm, dict) for arm in arms.values()):
        raise _fail(file, None, "the plan's arms are not objects by name", AGAIN)
    pair = plan.get("a_a")
    parts = {"trials": plan["trials"], "contrasts": plan.get("contrasts") or []}
    for part, entries in {**parts, "a_a": [pair] if pair else []}.items():
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            raise _fail(file, None, f"the plan's {part} are not objects in a list", AGAIN)
        for number, entry in enumerate(entries):
            needed = {**NEEDED[part], **(PACED if entry.get("kind") == "external" else {})}
            for key, kind in needed.items():
                if not isinstance(entry.get(key), kind):
                    state = "of another type" if key in entry else "missing"
                    cause = f"entry {number} of the plan's {part}: {key!r} is {state}"
                    raise _fail(file, None, cause, AGAIN)
            if not isinstance(entry.get("processes"), int | None):
                cause = f"entry {number} of the plan's {part}: 'processes' is no whole number"
                raise _fail(file, None, cause, AGAIN)


def _text(file: Path) -> str:
    try:
        data = file.read_bytes()
        if file.suffix == ".gz":
            data = gzip.decompress(data)
        return data.decode("utf-8")
    except FileNotFoundError:
        raise _fail(file, None, "no such file", AGAIN) from None
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        cause = f"cut off or corrupt ({error or type(error).__name__})"
        raise _fail(file, None, cause, RESUME) from None


def _records(file: Path, text: str, names: list[str]) -> tuple[list[list[str]], list[int]]:
    """Rows and the line each one ends on."""
    if text and not text.endswith("\n"):
        line = text.count("\n") + 1
        raise _fail(file, line, "half-written, the line has no end", RESUME)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for record in reader:
            rows.append(record)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise _fail(file, reader.line_num, f"not CSV ({error})", AGAIN) from None
    if not rows:
        raise _fail(file, 1, "empty, not even the header is there", RESUME)
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
        raise _fail(file, 1, cause, "use the version of the package that made the run")
    for record, line in zip(rows[1:], lines[1:], strict=True):
        if len(record) != len(names):
            raise _fail(file, line, f"{len(record)} fields instead of {len(names)}", RESUME)
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
                raise _fail(file, line, cause, AGAIN) from None
        raise
    except OverflowError:
        raise _fail(file, None, f"{name} exceeds 64 bits", AGAIN) from None
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
            raise _fail(file, line, f"{name} is {cell!r}, not a finite number", AGAIN)
    return numbers, np.array([not cell for cell in cells], dtype=bool)


def _table(path: Path, table: str, version: int) -> tuple[pd.DataFrame, list[int]]:
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
        raise _fail(file, lines[int(at)] if at is not None else None, cause, AGAIN) from None


def _against_plan(path: Path, plan: dict[str, Any], trials: pd.DataFrame, lines: list[int]) -> None:
    planned = {int(trial["trial"]): trial for trial in plan["trials"]}
    file = path / file_of("trials")
    numbers = trials["trial"].tolist()
    for number, line in zip(numbers, lines, strict=True):
        if number not in planned:
            raise _fail(file, line, f"trial {number} is not in the plan", AGAIN)
    for key in PLANNED:
        for number, value, line in zip(numbers, trials[key].tolist(), lines, strict=True):
            wanted = planned[number].get(key)
            if wanted is None or value is pd.NA or value == wanted:
                continue  # an arm that could not start has no pace to record
            cause = f"trial {number} has {key} {value}, the plan says {wanted}"
            raise _fail(file, line, cause, AGAIN)


def load_run(path: Path | str, brief: bool = False) -> Run:
    """Read and check one run; brief: without its scrapes and the warnings about its blocks.

    Raises RunError (one line: file, line, cause, cure) for a missing, corrupt or half-written file,
    another schema version, a missing column, a duplicate trial or a row that is not in the plan.
    """
    path = Path(path)
    manifest = _manifest(path)
    version = int(manifest["schema"])
    trials, lines = _table(path, "trials", version)
    _against_plan(path, manifest["plan"], trials, lines)
    finished = {int(t["trial"]) for t in manifest["plan"]["trials"]} <= set(
        trials["trial"].astype(int)
    )
    kept, left_out = exclusion.apply(manifest["plan"], trials)
    doubts = () if brief else tuple(exclusion.warnings(manifest["plan"], trials, left_out))
    if brief or (not finished and not (path / file_of("scrapes")).exists()):
        return Run(path, manifest, kept, _empty("scrapes"), finished, left_out, doubts)
    scrapes = _of_trials(path, "scrapes", version, trials, finished)
    cores = _empty("cores")
    if (trials["kind"] == "cores").any() and (path / file_of("cores")).exists():
        cores = _of_trials(path, "cores", version, trials, finished)
    return Run(path, manifest, kept, scrapes, finished, left_out, doubts, cores)


def _empty(table: str) -> pd.DataFrame:
    return pd.DataFrame({c["name"]: pd.Series(dtype=DTYPES[c["type"]]) for c in columns(table)})


def _of_trials(
    path: Path, table: str, version: int, trials: pd.DataFrame, finished: bool
) -> pd.DataFrame:
    """A table of samples, each of which has to be of a trial with a row of its own."""
    samples, lines = _table(path, table, version)
    known = samples["trial"].isin(trials["trial"]).to_numpy(dtype=bool)
    if finished and not known.all():
        at = int((~known).argmax())
        cause = f"trial {samples['trial'].iloc[at]} has no row in {file_of('trials')}"
        raise _fail(path / file_of(table), lines[at], cause, AGAIN)
    return samples
