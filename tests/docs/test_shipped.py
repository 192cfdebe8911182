"""What the README shows is what the shipped raw data gives."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from analysis.load import load_run

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROCESSED = ROOT / "data" / "processed"


def tracked(folder):
    listed = subprocess.run(
        ["git", "ls-files", "-z", str(folder)], cwd=ROOT, capture_output=True, check=True
    )
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


RUNS = sorted({path.parent for path in tracked(ROOT / "data" / "raw") if path.name == "trials.csv"})


def main_run():
    """The run that the README's figure comes from."""
    shown = re.search(r"\]\((data/processed/processes/[^/)]+)/", README)
    assert shown, "the README shows no figure of data/processed"
    return ROOT / shown[1]


def test_article_paper_and_scaling_of_processes_are_shipped_and_finished():
    presets = {}
    for path in RUNS:
        run = load_run(path)
        assert run.finished, path
        presets.setdefault(run.manifest["study"], set()).add(run.manifest["preset"])
    assert presets["processes"] >= {"article", "paper", "scaling"}
    assert "gauges" in presets


def test_the_readme_says_the_sentence_of_its_run_word_for_word():
    summary = json.loads((main_run() / "summary.json").read_text(encoding="utf-8"))
    said = " ".join(README.split())
    assert " ".join(summary["sentence"].split()) in said


def test_every_figure_table_and_page_that_the_readme_names_is_there():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_the_readmes_tables_are_those_of_the_processed_runs():
    tables = re.findall(r"(?:^\|.*\n)+", README, re.M)
    shipped = [p.read_text(encoding="utf-8") for p in tracked(PROCESSED) if p.suffix == ".md"]
    numbers = [t for t in tables if "% of one core" in t]
    assert numbers, "the README shows no measured table"
    for table in numbers:
        for row in table.strip().splitlines()[2:]:
            assert any(row in text for text in shipped), row


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_shipped_figures_and_tables_are_what_the_shipped_data_gives(run, shipped_again):
    shipped = PROCESSED / run.parent.name / run.name
    files = [p for p in tracked(shipped) if p.suffix in (".svg", ".csv", ".md", ".txt", ".json")]
    assert files, f"nothing of {run.name} is in data/processed"
    for file in files:
        made = shipped_again / file.relative_to(PROCESSED)
        assert made.read_bytes() == file.read_bytes(), file.relative_to(ROOT)


def test_what_follows_from_several_runs_is_what_the_shipped_ones_give(shipped_again):
    shipped = [p for name in ("noise", "sessions", "beside") for p in tracked(PROCESSED / name)]
    assert any(path.name == "a_a.md" for path in shipped)
    for file in shipped:
        made = shipped_again / file.relative_to(PROCESSED)
        assert made.exists() and made.read_bytes() == file.read_bytes(), file.relative_to(ROOT)


def test_the_readmes_exact_numbers_are_those_of_the_shipped_exact_runs():
    """Written by hand, so held to the summaries, which are held to the raw data."""
    found = [json.loads(path.read_text()) for path in sorted(PROCESSED.glob("*/*/summary.json"))]
    exact = [run for run in found if run.get("backend") == "exact"]
    of = {(run["study"], run["fingerprint"]["architecture"]): run for run in exact}
    said = " ".join(README.split())
    for architecture in ("x86_64", "aarch64"):
        ratio = of["processes", architecture]["exact"]["contrasts"][0]["ratio"]
        low, middle, high = (f"{ratio[end]:.1f}" for end in ("low", "median", "high"))
        assert f"{middle} times [{low} to {high}]" in said
    accounts = {
        (e["arm"], e["workload"], e["pace"]): e for e in of["accounts", "x86_64"]["accounts"]
    }

    def instructions(arm, name):
        return round(accounts[arm, "switch", "hot"][name]["estimate"] / 2)  # 2 ns an instruction

    published = "sched_switch_published"
    shown = instructions(published, "statistics_ns")
    assert f"Of {instructions(published, 'external_off')} instructions added" in said
    assert f"`run_time_ns` shows {shown}; an empty program" in said
    assert f"leaves the same {instructions('empty_switch_perf', 'residual')} unseen" in said
    assert f"that gap is {instructions('empty_switch', 'residual')} (" in said
