"""The study of the sensor, run briefly: what a row of it holds, and what makes it invalid."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from experiment.plan import build

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
EVENTS = 300
ROOM = ("--buffer-kb", "16384")


def planned(event: str, *flags: str, **more: Any) -> dict[str, Any]:
    same = {"block": 1, "replica": 1, "statistics": "off", "processes": None, "interval_ms": 200}
    load = {"variant": "-".join(flags) or "plain", "load": event, "event": event}
    sizes = {"events": EVENTS, "size": 100, "pause_us": 0}
    return {
        "kind": "sensor",
        "arm": "sensor",
        "flags": list(flags),
        **load,
        **sizes,
        **same,
        **more,
    }


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    folder = tmp_path_factory.mktemp("sensor")
    subprocess.run(["make", "--silent", "-j2", "-C", str(ROOT / "bpf")], check=True)
    plan = build("sensor", "smoke", root=ROOT, python=sys.executable, system_python=PYTHON)
    trials = [
        planned("open_inside", "--hooks", "file_open", *ROOM),
        planned("send", "--hooks", "tcp_sendmsg", "--bytes", "event", *ROOM),
        planned("send", "--hooks", "tcp_sendmsg", "--bytes", "aggregate", *ROOM),
        planned("open_outside", "--hooks", "file_open", "--filter", "user", *ROOM),
        planned(
            *("open_outside", "--hooks", "file_open", "--filter", "user", "--wakeup", "tick"),
            *("--buffer-kb", "4"),
            events=20_000,
        ),
        planned("kill", "--no-such-flag", "1"),
    ]
    plan["trials"] = [{"trial": n, "position": n, **trial} for n, trial in enumerate(trials)]
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
        found = list(csv.DictReader(file))
    assert len(found) == len(trials)
    if found[0]["status"] == "unavailable":
        pytest.skip(f"unavailable: {found[0]['reason']}")
    return found


def test_a_row_tells_the_works_time_and_the_readers(rows: list[dict[str, str]]) -> None:
    row = rows[0]
    assert row["status"] == "ok", row["reason"]
    assert int(row["events"]) == 2 * EVENTS
    for column in ("work_ns", "unattached_ns", "agent_ns", "agent_rss_bytes", "window_ns"):
        assert int(row[column]) > 0, column
    assert row["attachments"].startswith("file_open:") and row["lost"] == "0"
    assert int(row["bpf_programs"]) >= 1 and row["bpf_run_ns"] == ""


def test_what_the_load_made_was_reported(rows: list[dict[str, str]]) -> None:
    opened, each = rows[:2]
    for row in (opened, each):
        assert int(row["known_events"]) == 2 * (EVENTS + 1), "the uncounted first ones too"
        assert int(row["matching_events"]) >= int(row["known_events"])
    assert int(each["reported_bytes"]) >= int(each["known_bytes"]) == 2 * (EVENTS + 1) * 100


def test_sums_are_few_events_and_all_the_bytes(rows: list[dict[str, str]]) -> None:
    each, summed = rows[1:3]
    assert summed["status"] == "ok", summed["reason"]
    assert int(summed["reported_events"]) * 5 < int(each["reported_events"])
    assert int(summed["reported_bytes"]) >= int(summed["known_bytes"]) > 0
    assert summed["known_events"] == "", "a sum does not say how many"


def test_what_is_filtered_is_counted_where_it_is(rows: list[dict[str, str]]) -> None:
    assert int(rows[3]["filtered"]) >= 2 * (EVENTS + 1)
    assert int(rows[3]["kernel_filtered"]) == 0


def test_a_trial_with_losses_is_kept_and_not_trusted(rows: list[dict[str, str]]) -> None:
    row = rows[4]
    assert row["status"] == "invalid" and f"lost {row['lost']} events" in row["reason"]
    assert int(row["work_ns"]) > 0 and int(row["agent_ns"]) >= 0


def test_a_variant_that_the_arm_refuses_is_a_failure_in_its_words(
    rows: list[dict[str, str]],
) -> None:
    assert rows[5]["status"] == "failed" and "no-such-flag" in rows[5]["reason"]
