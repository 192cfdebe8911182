"""Both sides are at their floor: the shipped exact rows hold the collectors to their budgets.

Out of the raw rows, without our analysis code.
"""

import csv
import json
from pathlib import Path
from statistics import median

RAW = Path(__file__).resolve().parents[2] / "data" / "raw"
NS_PER_INSTRUCTION = 2  # of the guest's clock, by -icount shift=1


def newest_exact(study):
    """Valid rows of the analysed blocks of the study's newest exact run on x86-64."""
    for folder in sorted((RAW / study).iterdir(), reverse=True):
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        plan = manifest["plan"]
        if manifest["preset"] == "exact" and plan["guest"].endswith("x86_64"):
            with (folder / "trials.csv").open(newline="", encoding="utf-8") as file:
                rows = [row for row in csv.DictReader(file) if row["status"] == "ok"]
            return [row for row in rows if row["block"] != "0"]
    raise AssertionError(f"no exact run of {study} is shipped")


def per_scrape(rows, arm):
    """Instructions a scrape at 600 processes: in the reader's cgroup, and in its programs."""
    found = [
        (
            int(row["agent_ns"]) / NS_PER_INSTRUCTION / int(row["scrapes"]),
            int(row["bpf_instructions"]) / int(row["scrapes"]),
        )
        for row in rows
        if (row["kind"], row["arm"], row["processes_target"]) == ("cost", arm, "600")
    ]
    assert len(found) >= 8, arm
    return median(reader + programs for reader, programs in found)


def test_a_scrape_of_the_hooks_reader_and_programs_takes_at_most_20_000_instructions():
    rows = newest_exact("processes")
    assert per_scrape(rows, "sched_switch") <= 20_000 < per_scrape(rows, "sched_switch_published")


def test_tuned_polling_takes_at_most_60_percent_of_polling():
    rows = newest_exact("processes")
    assert per_scrape(rows, "proc_stat_tuned") <= 0.6 * per_scrape(rows, "proc_stat")


def test_a_switch_takes_at_most_a_tenth_more_than_with_an_empty_program_on_the_hook():
    rows = newest_exact("accounts")

    def per_switch(arm):
        found = [
            int(row["work_ns"]) / int(row["events"])
            for row in rows
            if (row["kind"], row["arm"], row["workload"]) == ("external", arm, "switch")
            and (row["pace"], row["statistics"]) == ("hot", "off")
        ]
        assert len(found) >= 8, arm
        return median(found)

    assert per_switch("sched_switch") <= 1.1 * per_switch("empty_switch")
