"""The kernel matrix: what is tried, and the page and table that are made of it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from cli import kernels, paths, runner
from cli.problem import Failed
from experiment import arms as arm_files
from experiment import backends

ARMS = arm_files.load_all(paths.ROOT)
REASON = "load: ESRCH: extern 'total_pages' (strong) *not* resolved"


def tried(guest: str, **failed: str) -> kernels.Tried:
    rows = {
        name: {"status": failed.get(name, "ok"), "reason": REASON if name in failed else ""}
        for name in ARMS
    }
    return kernels.Tried(guest, f"release-of-{guest}", rows)


@pytest.mark.parametrize("guest", backends.GUESTS)
def test_a_plan_tries_every_arm_once_in_one_boot(guest: str) -> None:
    made = kernels.smoke_plan(guest, ARMS)
    assert made["guest"] == guest and made["backend"] == backends.EXACT
    assert [trial["arm"] for trial in made["trials"]] == list(ARMS) == list(made["arms"])
    assert {trial["block"] for trial in made["trials"]} == {1}
    assert [entry["block"] for entry in made["perturbations"]] == [1]
    assert made["estimate"]["minutes"] < 1


def test_the_page_has_a_line_for_each_arm_and_the_reason_once() -> None:
    both = [
        tried("6.1-x86_64"),
        tried("6.12-aarch64", bpf_timer="unavailable", sched_switch="failed"),
    ]
    page = kernels.as_page(both, kernels.records(both, ARMS))
    lines = {line.split("|")[2].strip(): line for line in page.splitlines() if line.count("|") == 5}
    assert {f"`{name}`" for name in ARMS} <= set(lines)
    assert (
        "release-of-6.1-x86_64 (x86_64) | release-of-6.12-aarch64 (aarch64)" in lines["collector"]
    )
    assert lines["`bpf_timer`"].endswith("| yes | no [1] |")
    assert lines["`sched_switch`"].endswith("| yes | no [1] |")
    assert lines["`proc_stat`"].endswith("| yes | yes |")
    assert page.count("1. load: ESRCH: extern 'total\\_pages' (strong) \\*not\\* resolved") == 1


def test_a_window_that_is_not_trusted_was_attached_all_the_same() -> None:
    found = kernels.records([tried("6.1-x86_64", proc_stat="invalid")], ARMS)
    (row,) = [row for row in found if row["arm"] == "proc_stat"]
    assert (row["loads"], row["status"], row["reason"]) == ("yes", "invalid", REASON)


def test_a_kernel_on_which_all_load_has_no_reasons() -> None:
    one = [tried("6.1-x86_64")]
    assert "Why not" not in kernels.as_page(one, kernels.records(one, ARMS))


def fake_run(plan: Any, out: Path, resume: bool, tell: Any, left_out: str = "") -> None:
    out.mkdir()
    (out / "manifest.json").write_text(json.dumps({"fingerprint": {"release": plan["guest"]}}))
    with open(out / "trials.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, ("arm", "status", "reason"))
        writer.writeheader()
        for name in plan["arms"]:
            if name != left_out:
                writer.writerow({"arm": name, "status": "ok", "reason": ""})


def test_page_and_table_are_written_once_all_guests_are_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "run", fake_run)
    page, table = tmp_path / "kernels.md", tmp_path / "kernels.csv"
    assert kernels.command(backends.GUESTS, page, table, lambda text: None) == 0
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(backends.GUESTS) * len(ARMS)
    assert {row["loads"] for row in rows} == {"yes"}
    assert "made by" in page.read_text().lower()


def test_a_guest_that_fails_leaves_both_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(plan: Any, out: Path, resume: bool, tell: Any) -> None:
        fake_run(plan, out, resume, tell, "proc_stat" if "6.12" in plan["guest"] else "")

    monkeypatch.setattr(runner, "run", run)
    page, table = tmp_path / "kernels.md", tmp_path / "kernels.csv"
    with pytest.raises(Failed, match="no row of proc_stat"):
        kernels.command(backends.GUESTS, page, table, lambda text: None)
    assert not page.exists() and not table.exists()


def test_the_shipped_page_is_made_from_the_shipped_table() -> None:
    assert kernels.PAGE.exists() == kernels.TABLE.exists()
    if not kernels.TABLE.exists():
        return  # none is shipped
    with open(kernels.TABLE, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["guest"] for row in rows} == set(backends.GUESTS)
    assert {row["arm"] for row in rows} == set(ARMS), f"run {kernels.COMMAND}"
    releases = dict.fromkeys((row["guest"], row["release"]) for row in rows)
    both = [kernels.Tried(guest, release, {}) for guest, release in releases]
    assert kernels.PAGE.read_text(encoding="utf-8") == kernels.as_page(both, rows)
