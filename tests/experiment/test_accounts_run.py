"""The study of the accounts, run briefly: each kind of row holds what it is there for."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from experiment import doctor
from experiment.needs import unmet
from experiment.plan import build

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
LOADS = {"children", "busy", "exits"}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[Any]]:
    """Plan and rows of the smoke preset's external and fidelity trials, thinned out."""
    folder = tmp_path_factory.mktemp("accounts")
    subprocess.run(["make", "--silent", "-j2", "-C", str(ROOT / "bpf")], check=True)
    plan = build("accounts", "smoke", root=ROOT, python=sys.executable, system_python=PYTHON)
    plan["trials"] = [trial for trial in plan["trials"] if wanted(trial)]
    for trial in plan["trials"]:
        if trial["kind"] == "fidelity":
            trial["window_s"] = 0.4
    (folder / "plan.json").write_text(json.dumps(plan))
    words = [PYTHON, "-I", "-S", str(ROOT / "experiment")]
    done = subprocess.run(
        [*words, str(folder / "plan.json"), str(folder / "run")],
        text=True,
        capture_output=True,
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    with open(folder / "run" / "trials.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(plan["trials"])
    assert not list((folder / "run" / "log").glob("*.records")), "records are no raw data"
    return plan, rows


def wanted(trial: dict[str, Any]) -> bool:
    """Some external trials in both states, and the loads that are measured in a way of their own.

    That every program runs at its event and every load tells the truth is tested in tests/bpf.
    """
    if trial["kind"] == "external":
        once = (trial["pace"] == "hot") is (trial["statistics"] == "on")
        return once and trial["workload"] in ("switch", "exec")
    if trial["kind"] == "fidelity" and trial["arm"] == "sched_switch":
        return trial["workload"] in LOADS
    return trial["kind"] == "fidelity" and trial["workload"] == "exits"


def usable(plan: dict[str, Any], row: Any) -> bool:
    """Whether the row is ok; what is unavailable must be so by the doctor's word too."""
    if row["status"] == "unavailable":
        possible = doctor.report({})["arms_possible"]
        reasons = unmet(plan["arms"][row["arm"]], possible)
        assert reasons or row["statistics"] == "on" and not possible["bpf"]["possible"], row
        return False
    assert row["status"] == "ok", row
    return True


def test_external_rows_hold_the_work_and_what_the_programs_said_of_themselves(
    measured: tuple[dict[str, Any], list[Any]],
) -> None:
    plan, rows = measured
    planned = {str(trial["trial"]): trial for trial in plan["trials"]}
    for row in rows:
        if row["kind"] != "external" or not usable(plan, row):
            continue
        trial = planned[row["trial"]]
        assert (row["workload"], row["pace"]) == (trial["workload"], trial["pace"])
        assert int(row["events"]) >= 2 * trial["events"] and int(row["work_ns"]) > 0
        assert 0.2 < int(row["unattached_ns"]) / int(row["work_ns"]) < 3  # as much work as attached
        attached = row["arm"] != "null_agent"
        assert row["bpf_programs"] == str(int(attached)) or os.geteuid()
        if row["statistics"] == "off":
            assert row["bpf_run_count"] == row["bpf_run_ns"] == ""
        elif attached:
            # in the window of the work alone, whose events are all among them
            runs, ns = int(row["bpf_run_count"]), int(row["bpf_run_ns"])
            assert 2 * trial["events"] <= runs < 10 * trial["events"] + 2000
            assert 10 < ns / runs < 50_000


def test_fidelity_rows_hold_what_is_known_and_what_was_reported(
    measured: tuple[dict[str, Any], list[Any]],
) -> None:
    plan, rows = measured
    found = {}
    for row in rows:
        if row["kind"] == "fidelity" and usable(plan, row):
            found[row["arm"], row["workload"]] = int(row["reported_ns"]) / int(row["known_ns"])
    # who polls does not see what begins and ends between two polls; that is no failure
    assert found.pop(("proc_stat", "exits")) < 0.95
    assert all(abs(ratio - 1) < 0.03 for ratio in found.values()), found
    assert set(found) in (set(), {("sched_switch", load) for load in LOADS})
