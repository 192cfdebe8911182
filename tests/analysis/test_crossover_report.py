"""Everything that follows from a crossover run, and that no table mixes its points."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import synthetic_crossover as made

from analysis import report
from analysis.claims import judge

Made = tuple[dict[str, Any], Path]
OF_LEVELS = {"arms", "cost_parts", "methods", "scaling", "article", "crosscheck"}


@pytest.fixture(scope="module")
def processed(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Tables and summary of a live run; no figures."""
    folder = tmp_path_factory.mktemp("crossover")
    run = made.write(folder / "raw" / "crossover" / "20270101T000000Z-x-0", noise=0.03)
    return report.process(run, folder / "out", draw=False), folder / "out"


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The same of an exact run."""
    folder = tmp_path_factory.mktemp("counted")
    run = made.write(folder / "raw" / "crossover" / "20270101T000000Z-x-1", made.plan(exact=True))
    return report.process(run, folder / "out", draw=False), folder / "out"


def rows(out: Path, name: str) -> list[dict[str, str]]:
    with open(out / "tables" / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def tables(summary: dict[str, Any]) -> set[str]:
    return {Path(name).stem for name in summary["files"] if name.endswith(".csv")}


def test_tables_of_levels_are_left_out_and_those_of_points_are_there(processed: Made) -> None:
    summary, out = processed
    assert not tables(summary) & OF_LEVELS
    assert {"model", "points", "held_out", "point_verdicts", "break_even", "fleet"} <= tables(
        summary
    )
    assert {"verdicts", "calibration", "noise", "harness", "fidelity"} <= tables(summary)
    assert (summary["cells"], summary["levels"], summary["scaling"]) == ([], [], [])
    assert json.loads((out / "summary.json").read_text()) == summary


def test_contrasts_and_the_a_a_pair_name_their_point(processed: Made) -> None:
    summary, out = processed
    assert [row["point"] for row in rows(out, "verdicts")] == ["2", "2"]
    assert "point 2" in (out / "tables" / "verdicts.md").read_text()
    assert summary["a_a"]["point"] == 2 and summary["a_a"]["blocks"] == 3
    ratio = summary["contrasts"][0]["ratio"]["estimate"]
    assert ratio == pytest.approx((150_000 + 12e6 + 24_000) / (240_600 + 600 * 90), rel=0.1)


def test_every_point_and_arm_stands_with_its_residual_and_second_account(processed: Made) -> None:
    found = rows(processed[1], "points")
    assert len(found) == 14 * len(made.TRUTH)
    hook = [r for r in found if r["arm"] == "sched_switch_published" and r["switches_target"] > "0"]
    for row in hook:
        assert float(row["load_ns_per_switch"]) == pytest.approx(600, rel=0.01)
        assert float(row["calibrated_ns_per_switch"]) == pytest.approx(600, rel=0.01)
    assert {row["held_out"] for row in found if row["point"] == "12"} == {"True"}
    assert all(abs(float(row["residual"])) < 0.2 for row in found)
    polling = next(row for row in found if row["arm"] == "proc_stat")
    assert polling["load_ns_per_switch"] == polling["calibrated_ns_per_switch"] == ""


def test_the_calibration_is_by_pause(processed: Made) -> None:
    found = rows(processed[1], "calibration")
    assert {row["pause_us"] for row in found} == {"0", "100", "1000", "10000"}
    assert {row["arm"] for row in found} == {"null_agent", "sched_switch_published", "sched_switch"}


def test_an_exact_run_has_ranges_and_no_generic_cells(counted: Made) -> None:
    summary, out = counted
    assert not tables(summary) & (OF_LEVELS | {"instructions_per_scrape", "fleet"})
    assert rows(out, "exact_contrasts")[0]["point"] == "2"
    assert "no confidence interval" in (out / "tables" / "model.md").read_text()
    assert summary["exact"]["cells"] == [] and summary["crossover"]["exact"]
    assert summary["sentence"].startswith("As published, at 600 processes")


def verdicts(*summaries: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for entry in judge({"runs": list(summaries), "sessions": []})}


def test_the_claims_are_answered_from_the_map(processed: Made) -> None:
    summary, out = processed
    found = verdicts(summary)
    assert found["PROC-4"]["verdict"] == "contradicted"
    assert "proc_stat against sched_switch_published at" in found["PROC-4"]["reason"]
    assert "proc_stat_tuned against sched_switch at" in found["PROC-4"]["reason"]
    assert (
        found["PROC-5"]["verdict"] == "holds" and "by the cost model" in found["PROC-5"]["reason"]
    )
    assert found["PROC-6"]["verdict"] == "holds"
    assert found["PROC-8"]["verdict"] == "holds when…"
    assert "600 processes" in found["PROC-8"]["condition"] and "−" in found["PROC-8"]["reason"]
    assert found["PROC-10"]["verdict"] == "holds when…"
    assert "fewer than" in found["PROC-10"]["condition"]
    assert "node-exporter" in found["PROC-10"]["reason"]
    for name in ("PROC-4", "PROC-5", "PROC-6", "PROC-8", "PROC-10"):
        place, measured = found[name]["place"], found[name]["measured"]
        table = rows(out, Path(place["table"]).stem)
        wanted = {key: str(value) for key, value in place["row"].items()}
        (row,) = [r for r in table if same(r, wanted)]
        assert float(row[place["column"]]) * place["scale"] == pytest.approx(
            measured["estimate"], rel=1e-5
        )


def same(row: dict[str, str], wanted: dict[str, str]) -> bool:
    return all(row[key] == value for key, value in wanted.items())


def test_a_run_without_a_counterexample_lets_the_bound_hold(tmp_path: Path) -> None:
    """The other outcome: hooks that cost next to nothing in other tasks."""

    def cheap(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "external":
            row["work_ns"] = row["unattached_ns"] + trial["events"] * 2

    run = made.write(
        tmp_path / "raw" / "crossover" / "20270101T000000Z-x-2", change=cheap, noise=0.03
    )
    found = verdicts(report.process(run, tmp_path / "out", draw=False))
    assert found["PROC-4"]["verdict"] == "holds"
    assert "measured points hold no counterexample" in found["PROC-4"]["reason"]
    assert found["PROC-10"]["verdict"] in ("holds", "holds when…")


def test_without_a_live_run_the_claims_wait(counted: Made) -> None:
    for summaries in ((), (counted[0],)):
        found = verdicts(*summaries)
        assert {found[f"PROC-{n}"]["verdict"] for n in (4, 6, 10)} == {"not yet measured"}
