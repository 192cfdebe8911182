"""docs/artifact.md says what the package does: its minutes, commands, claims and files."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from cli import index, parameters, plan
from cli.review import MINUTES, table

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "artifact.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if re.match(r"\| E\d+ ", line)
]
MEASURED = [row for row in ROWS if "./study run" in row[1]]


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Process counts that this machine is beyond are left out of a plan: its minutes would tell
    what else runs here."""
    monkeypatch.setattr(plan, "processes_now", lambda: 60)


@pytest.mark.parametrize("row", MEASURED, ids=lambda row: row[0])
def test_minutes_and_disk_are_the_plans(row: list[str]) -> None:
    found = re.fullmatch(r"`./study run (\w+) --preset (\w+)`", row[1])
    assert found, row[1]
    values = parameters.resolve({"study": found[1], "preset": found[2]})
    estimate = plan.build(found[1], values)["estimate"]
    assert float(row[4]) == pytest.approx(estimate["minutes"], rel=0.2)
    assert estimate["disk_mb"] <= float(row[5])


def test_the_readme_names_the_same_minutes() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"\((\d+) min\) \| `\./study run (\w+) --preset (\w+)`", readme)
    assert len(rows) >= 3
    for minutes, study, preset in rows:
        values = parameters.resolve({"study": study, "preset": preset})
        planned = plan.build(study, values)["estimate"]["minutes"]
        assert float(minutes) == pytest.approx(planned, rel=0.2), (study, preset)


def test_every_claim_that_shipped_runs_answer_has_its_experiment() -> None:
    claims = json.loads((ROOT / "data" / "processed" / "claims.json").read_text())["claims"]
    answered = {claim["id"] for claim in claims if claim["verdict"] not in table.NO_ANSWER[:1]}
    named = {name for row in ROWS for name in re.findall(r"[A-Z]+-\d+", row[2])}
    assert answered <= named
    assert named <= {claim["id"] for claim in claims}


def test_every_command_is_one_and_every_link_leads_to_a_file() -> None:
    helped = subprocess.run([ROOT / "study", "help"], capture_output=True, text=True).stdout
    known = set(re.findall(r"^\./study (\w+)", helped, re.M))
    used = set(re.findall(r"\./study (\w+)", PAGE))
    assert {"run", "figures", "review", "report"} <= used <= known
    for link in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / link).exists(), link


def test_the_criteria_and_the_longest_review_are_the_codes() -> None:
    said = " ".join(PAGE.split())
    assert f"within a factor of {table.FACTOR}" in said and str(table.FACTOR) in table.LIVE
    assert f"Fresh run: at most {MINUTES} minutes" in said
    for outcome in (table.REPRODUCED, table.NOT, table.CANNOT):
        assert f"`{outcome}`" in said


def test_raw_data_of_a_run_is_as_small_as_it_says() -> None:
    shipped = index.shipped()
    assert shipped, "git knows none"
    for study, name in shipped:
        files = (ROOT / "data" / "raw" / study / name).rglob("*")
        assert sum(f.stat().st_size for f in files if f.is_file()) < 1_000_000, name
