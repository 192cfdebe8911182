"""The shipped ledger: fresh, whole, and each measured number can be followed down to raw rows."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from analysis.claims import VERDICTS, ledger
from cli import claims

sys.path.insert(0, str(Path(__file__).parent))

import raw_cores
from raw_points import TERMS, Points
from raw_rows import Raw

ROOT = Path(__file__).resolve().parents[2]
PROCESSED = ROOT / "data" / "processed"
README = (ROOT / "README.md").read_text(encoding="utf-8")
CLAIMS = json.loads((PROCESSED / "claims.json").read_text(encoding="utf-8"))["claims"]
MEASURED = [entry for entry in CLAIMS if entry["measured"] is not None]


def tracked() -> set[str]:
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return set(listed.stdout.decode().split("\0"))


def rows_of(path: str) -> list[dict[str, str]]:
    with open(PROCESSED / path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def the_row(path: str, where: dict[str, Any]) -> dict[str, str]:
    """The one row of a table with these values; an empty field is None."""
    wanted = {key: "" if value is None else str(value) for key, value in where.items()}
    found = [row for row in rows_of(path) if all(row[k] == v for k, v in wanted.items())]
    assert len(found) == 1, (path, where)
    return found[0]


def raw(run: str) -> Raw:
    folders = [path.parent for path in (ROOT / "data" / "raw").glob(f"*/{run}/trials.csv")]
    assert len(folders) == 1, run
    return Raw(folders[0])


def test_readme_and_ledger_are_what_the_shipped_runs_give() -> None:
    """If this fails: ./study figures, then ./study claims, and commit what they wrote."""
    assert claims.command(["--check"]) == 0


def test_the_ledger_is_shipped() -> None:
    assert {f"data/processed/claims.{kind}" for kind in ("csv", "json", "md")} <= tracked()


def test_all_34_claims_are_in_each_file_exactly_once_with_one_of_six_verdicts() -> None:
    ids = [claim.id for claim in ledger().claims]
    assert len(ids) == len(set(ids)) == 34 and len(VERDICTS) == 6
    assert [entry["id"] for entry in CLAIMS] == ids
    assert [row["id"] for row in rows_of("claims.csv")] == ids
    assert {entry["verdict"] for entry in CLAIMS} <= set(VERDICTS)
    page = (PROCESSED / "claims.md").read_text(encoding="utf-8")
    for name in ids:
        assert len(re.findall(rf"^\| {name}: ", page, re.M)) == 1


def test_each_verdict_but_not_yet_measured_names_a_shipped_run() -> None:
    shipped = tracked()
    for entry in CLAIMS:
        assert entry["reason"]
        if entry["verdict"] == "not yet measured":
            assert entry["measured"] is None
            continue
        for run in entry["runs"]:
            assert any(name.endswith(f"/{run}/trials.csv") for name in shipped), (entry["id"], run)
        for kind in ("table", "figure"):
            if entry[kind] is not None:
                assert f"data/processed/{entry[kind]}" in shipped, (entry["id"], kind)


def test_the_readme_names_every_claim() -> None:
    block = README.split("<!-- claims -->")[1].split("<!-- /claims -->")[0]
    for entry in CLAIMS:
        if entry["verdict"] != "not yet measured":
            assert f"| {entry['id']}: " in block
        else:
            source = entry["source"]
            spans = re.findall(rf"{source}-(\d+) to {source}-(\d+)", block)
            number = int(entry["id"].rpartition("-")[2])
            inside = any(int(low) <= number <= int(high) for low, high in spans)
            assert inside or re.search(rf"\b{entry['id']}\b", block), entry["id"]


def test_some_claims_are_measured() -> None:
    assert len(MEASURED) >= 6


@pytest.mark.parametrize("entry", MEASURED, ids=[entry["id"] for entry in MEASURED])
def test_a_measured_number_is_followed_to_its_table_and_to_raw_rows(entry: dict[str, Any]) -> None:
    place, measured = entry["place"], entry["measured"]
    row = the_row(place["table"], place["row"])
    column, scale = place["column"], place["scale"]
    assert float(row[column]) * scale == pytest.approx(measured["estimate"], rel=1e-5)
    for end in ("low", "high"):
        if measured[end] is not None:
            assert float(row[f"{column}_{end}"]) * scale == pytest.approx(measured[end], rel=1e-4)

    follow = {
        "verdicts": follow_contrast,
        "sessions": follow_sessions,
        "arms": follow_cell,
        "scaling": follow_line,
        "fidelity": follow_fidelity,
        "point_verdicts": follow_point,
        "model": follow_term,
        "fleet": follow_fleet,
        "break_even": follow_break_even,
        "source": follow_source,
        "threads": follow_threads,
        "core_accuracy": follow_core_accuracy,
    }
    assert follow[Path(place["table"]).stem](entry, row) == pytest.approx(
        float(row[column]), rel=1e-5
    )


def follow_contrast(entry: dict[str, Any], row: dict[str, str]) -> float:
    x, y = raw(entry["run"]).pair(row)
    return x / y if entry["place"]["column"] == "ratio" else x - y


def follow_sessions(entry: dict[str, Any], row: dict[str, str]) -> float:
    """The pooled ratio or difference of the sessions' mean costs, each from its own raw rows."""
    pairs = []
    for run in entry["runs"]:
        (summary,) = PROCESSED.glob(f"*/{run}/summary.json")
        table = summary.parent.relative_to(PROCESSED) / "tables" / "verdicts.csv"
        pairs.append(raw(run).pair(the_row(str(table), {"id": row["id"]})))
    x, y = (sum(costs) / len(pairs) for costs in zip(*pairs, strict=True))
    return x / y if entry["place"]["column"] == "ratio" else x - y


def follow_cell(entry: dict[str, Any], row: dict[str, str]) -> float:
    assert entry["place"]["column"] == "others"
    values = raw(entry["run"]).others(row["arm"], row["processes"]).values()
    return sum(values) / len(values)


def follow_line(entry: dict[str, Any], row: dict[str, str]) -> float:
    found = raw(entry["run"])
    assert (row["measure"], found.plan["interval_ms"]) == ("headline", 1000)
    return found.slope(row["arm"]) / 100 * 1e9  # percent of a core for 1 s -> ns


def points_of(entry: dict[str, Any]) -> Points:
    """The run's points, with the rate at which its model's table says that half is cold."""
    (summary,) = PROCESSED.glob(f"crossover/{entry['run']}/summary.json")
    table = summary.parent.relative_to(PROCESSED) / "tables" / "model.csv"
    (half,) = {row["half_cold_switches_per_s"] for row in rows_of(str(table))}
    return Points(raw(entry["run"]), float(half))


def follow_point(entry: dict[str, Any], row: dict[str, str]) -> float:
    found = points_of(entry)
    return found.ratio(row["numerator"], row["denominator"], int(row["point"]))


def follow_term(entry: dict[str, Any], row: dict[str, str]) -> float:
    blocks = points_of(entry).model(row["arm"]).values()
    return mean(block[TERMS.index(entry["place"]["column"])] for block in blocks)


def _apart(points: Points, first: str, second: str) -> list[Any]:
    """Coefficients of the first less those of the second, a block each."""
    one, other = points.model(first), points.model(second)
    return [one[block] - other[block] for block in sorted(set(one) & set(other))]


def follow_fleet(entry: dict[str, Any], row: dict[str, str]) -> float:
    points = points_of(entry)
    threads, tasks, idle = points.usual()
    assert float(row["switches_per_s"]) == pytest.approx(idle, rel=1e-4)
    per, count = 1 / float(row["interval_s"]), float(row["processes"])
    cold = points.cold(idle)
    where = [per, count * per, threads * per, tasks * per, cold * per, idle, cold * idle]
    apart = _apart(points, row["numerator"], row["denominator"])
    return mean(float(each @ where) for each in apart) / 1e6


def follow_break_even(entry: dict[str, Any], row: dict[str, str]) -> float:
    points = points_of(entry)
    threads, tasks, _ = points.usual()
    count = float(row["processes"])
    apart = np.mean(_apart(points, row["steeper"], row["flatter"]), axis=0)

    def dearer(rate: float) -> float:
        """What the steeper one costs more, ns a second."""
        scrape = apart[:5] @ [1, count, threads, tasks, points.cold(rate)]
        switch = apart[5:] @ [1, points.cold(rate)]
        return float(scrape / float(row["interval_s"]) + switch * rate)

    return float(brentq(dearer, 1.0, 1e8))


def follow_fidelity(entry: dict[str, Any], row: dict[str, str]) -> float:
    """Mean over blocks of reported / known - 1."""
    assert entry["place"]["column"] == "error"
    blocks: dict[str, list[float]] = {}
    for trial in raw(entry["run"]).rows:
        mine = (trial["kind"], trial["arm"]) == ("fidelity", row["arm"])
        if mine and (trial.get("workload") or "steady") == row["workload"]:
            share = int(trial["reported_ns"]) / int(trial["known_ns"]) - 1
            blocks.setdefault(trial["block"], []).append(share)
    return mean(mean(shares) for shares in blocks.values())


def follow_source(entry: dict[str, Any], row: dict[str, str]) -> float:
    return raw_cores.source(raw(entry["run"]), row, entry["place"]["column"])


def follow_threads(entry: dict[str, Any], row: dict[str, str]) -> float:
    assert entry["place"]["column"] == "ns_per_thread_and_scrape"
    return raw_cores.per_thread(raw(entry["run"]), row["arm"])


def follow_core_accuracy(entry: dict[str, Any], row: dict[str, str]) -> float:
    assert entry["place"]["column"] == "error_points"
    folder = ROOT / "data" / "raw" / "cores" / entry["run"]
    return raw_cores.error(folder, raw(entry["run"]), row["arm"], row["load"])
