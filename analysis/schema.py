"""data/schema.json as pandera schemas, and the data dictionary made from it."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandera.pandas as pa

DTYPES = {"integer": "Int64", "number": "Float64", "string": "string"}
SCHEMA_JSON = Path(__file__).resolve().parents[1] / "data" / "schema.json"


@functools.cache
def schema() -> dict[str, Any]:
    """The raw data's schema: {"schema": 6, "tables": {name: {file, columns}}, "manifest": {}}."""
    loaded: dict[str, Any] = json.loads(SCHEMA_JSON.read_text(encoding="utf-8"))
    return loaded


def versions() -> range:
    """Versions of the schema that can be read."""
    return range(1, int(schema()["schema"]) + 1)


def columns(table: str, version: int | None = None) -> list[dict[str, Any]]:
    """The columns of `trials` or `scrapes`, in the order of the file.

    With ``version`` those that a run of that version of the schema has: a column that came later
    says so by its key ``since``.
    """
    found: list[dict[str, Any]] = schema()["tables"][table]["columns"]
    return [c for c in found if version is None or c.get("since", 1) <= version]


def file_of(table: str) -> str:
    """File name of a table inside a run's folder."""
    return str(schema()["tables"][table]["file"])


@functools.cache
def frame_schema(table: str) -> pa.DataFrameSchema:
    """Pandera schema of a table: types that know missing values, order and names strict."""
    import pandera.pandas as pa  # see `holds`

    made = {}
    for column in columns(table):
        checks = []
        if "values" in column:
            checks.append(pa.Check.isin(column["values"], error=f"one of {column['values']}"))
        if "minimum" in column:
            checks.append(pa.Check.ge(column["minimum"], error=f"at least {column['minimum']}"))
        made[column["name"]] = pa.Column(
            DTYPES[column["type"]],
            checks,
            nullable=not column["required"],
            unique=table == "trials" and column["name"] == "trial",
        )
    return pa.DataFrameSchema(made, strict=True, ordered=True)


def holds(
    column: Mapping[str, Any], present: Sequence[Any] | npt.NDArray[Any], missing: bool
) -> bool:
    """True if a column keeps the schema, told without pandera's cost of 60 ms a table.

    present: its values, in any order; missing: whether a field is empty. A table with a column that
    does not is given to `frame_schema`, which names the row and the check.
    """
    if missing and column["required"]:
        return False
    if "values" in column and not set(present) <= set(column["values"]):
        return False
    return "minimum" not in column or not len(present) or bool(np.min(present) >= column["minimum"])


def _row(name: str, entry: dict[str, Any], with_kinds: bool) -> str:
    allowed = ", ".join(f"`{value}`" for value in entry.get("values", []))
    empty = "never" if entry["required"] else "possible"
    meaning = entry["meaning"] + (f" Since schema {entry['since']}." if "since" in entry else "")
    cells = [f"`{name}`", entry["type"], entry.get("unit") or "", empty, allowed, meaning]
    if with_kinds:
        cells.insert(4, ", ".join(entry.get("kinds", [])) or "all")
    return "| " + " | ".join(cells) + " |"


def dictionary() -> str:
    """The data dictionary as Markdown; data/README.md is this text."""
    version = schema()["schema"]
    text = [
        "# Data dictionary",
        "",
        f"Made from `schema.json` (schema {version}) by `python -m analysis.schema`; change that "
        "file, not this one.",
        "",
        "`raw/<study>/<UTC time>-<host>-<hash of the plan>/` is one run, written once and never "
        "edited. `processed/` is made from it and can be deleted. Data and figures: CC BY 4.0.",
        "",
        "Units are in the column names. An empty field is missing or does not apply; never 0.",
    ]
    for name, table in schema()["tables"].items():
        text += ["", f"## `{table['file']}`", ""]
        kinds = name == "trials"
        head = ["column", "type", "unit", "empty", "values", "meaning"]
        if kinds:
            head.insert(4, "kind")
        text += ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
        text += [_row(column["name"], column, kinds) for column in table["columns"]]
    text += ["", "## `manifest.json`", "", "| key | type | unit | empty | values | meaning |"]
    text += ["|" + " --- |" * 6]
    text += [_row(key, entry, False) for key, entry in schema()["manifest"].items()]
    text += [
        "",
        "`log/<trial>-<arm>.stderr` is what a collector wrote to stderr, where it wrote any.",
        "",
    ]
    return "\n".join(text)


if __name__ == "__main__":
    sys.stdout.write(dictionary())
