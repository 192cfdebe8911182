"""Sessions: what is pooled, what is left out and why, and that the interval covers."""

from __future__ import annotations

import copy
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic

from analysis import report, sessions
from analysis.across import across
from analysis.statistics.intervals import fieller


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Summaries of three sessions of one plan; in the second most trials of one arm failed."""
    folder = tmp_path_factory.mktemp("sessions")
    plan = synthetic.make_plan(
        synthetic.PROCESSES[1:],
        [100, 600],
        8,
        statistics=("off",),
        a_a=("proc_stat", "off", 600),
        contrasts=[
            synthetic.contrast("proc_stat", "sched_switch_published", 600),
            synthetic.contrast("proc_stat", "sched_switch", 100),
        ],
    )
    made = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report.kinds, "make", lambda results, out: ([], {}))
        for k in range(3):

            def change(row: dict[str, Any], trial: dict[str, Any], k: int = k) -> None:
                if k == 1 and (trial["arm"], trial["processes"]) == ("sched_switch", 100):
                    if trial["block"] > 2:
                        row |= {"status": "failed", "reason": "no"}
                if "agent_ns" in row:
                    row["agent_ns"] = round(row["agent_ns"] * (1 + 0.05 * k))

            run = synthetic.write_run(folder / f"run{k}", plan, seed=k + 1, change=change)
            summary = report.process(run, folder / "out" / str(k))
            summary["started_utc"] = f"2024-06-01T{10 + k}:00:00Z"
            summary["fingerprint"]["boot"] = "b00t"
            made.append(summary)
    return made


def changed(summary: dict[str, Any], **values: Any) -> dict[str, Any]:
    made = copy.deepcopy(summary)
    made["fingerprint"] |= values.pop("fingerprint", {})
    return made | values


def test_sessions_of_one_machine_form_a_group(runs: list[dict[str, Any]]) -> None:
    (group,) = sessions.groups(runs)
    assert [s["run"] for s in group["runs"]] == ["run0", "run1", "run2"]
    assert group["left_out"] == [] and len(group["machine"]) == 8


def test_what_cannot_be_pooled_is_listed_with_its_reason(runs: list[dict[str, Any]]) -> None:
    others = [
        changed(runs[0], run="kernel", fingerprint={"release": "5.10"}),
        changed(runs[0], run="open", finished=False),
        changed(runs[0], run="slow", interval_ms=15_000),
        changed(runs[0], run="other", preset="quick"),
    ]
    (group,) = sessions.groups([*others, *runs])
    reasons = {e["run"]: e["reason"] for e in group["left_out"]}
    assert set(reasons) == {"kernel", "open", "slow"}
    assert "release 5.10, not 6.1.0-synthetic" in reasons["kernel"]
    assert reasons["open"] == "unfinished" and "15000 ms" in reasons["slow"]


def test_one_session_is_nothing_to_pool(runs: list[dict[str, Any]]) -> None:
    assert sessions.groups(runs[:1]) == [] and sessions.groups([]) == []


def test_the_pooled_ratio_is_fiellers_over_session_means(runs: list[dict[str, Any]]) -> None:
    first = sessions.pool(runs)[0]
    x, y = (
        np.array([s[side]["estimate"] for s in first["per_session"]])
        for side in ("numerator_cost", "denominator_cost")
    )
    assert first["pooled"]["ratio"] == fieller(x, y, skewed=False)
    assert first["pooled"]["n_sessions"] == 3 and first["pooled"]["verdict"] == "dearer"
    assert first["pooled"]["ratio"].low > 5
    assert first["between"]["p"] is not None and first["between"]["expected_percent"] > 0


def test_a_session_that_lost_most_blocks_does_not_count(runs: list[dict[str, Any]]) -> None:
    second = sessions.pool(runs)[1]
    assert [bool(s["reason"]) for s in second["per_session"]] == [False, True, False]
    assert "only 2 of 8 blocks" in second["per_session"][1]["reason"]
    assert second["pooled"]["n_sessions"] == 2


def test_a_session_without_the_contrast_does_not_count(runs: list[dict[str, Any]]) -> None:
    bare = changed(runs[2], contrasts=[])
    pooled = sessions.pool([*runs[:2], bare])
    assert pooled[0]["per_session"][2]["reason"] == "its plan does not have this contrast"
    alone = sessions.pool([runs[0], bare])
    assert alone[0]["pooled"] is None and "two are the fewest" in alone[0]["reason"]


def test_three_sessions_cover_the_true_ratio_nineteen_times_in_twenty() -> None:
    """Sessions that differ by 10 % and block scatter of 40 %: 2,000 simulations."""
    random = np.random.default_rng(5)
    covered, total = 0, 2000
    for _ in range(total):
        shift = random.normal(0, 0.1, size=(2, 3, 1))
        blocks = random.normal(1 + shift, 0.4, size=(2, 3, 12))
        found = fieller(*(side.mean(axis=1) for side in blocks), skewed=False)
        if found.low is None or found.high is None:
            covered += found.low is None or found.low <= 1
        else:
            covered += found.low <= 1 <= found.high
    assert 0.93 <= covered / total <= 0.975


@pytest.mark.parametrize(
    ("boots", "hours", "words"),
    [
        (("a", "a"), 3, "in one boot, begun within 3.0 hours; not over machines or boots"),
        (("a", "b"), 3, "in 2 boots, begun within 3.0 hours; not over machines"),
        (("a", None), 3, "boots not recorded, "),
        (("a", "b"), 72, "in 2 boots, over 3 days"),
    ],
)
def test_a_verdict_says_over_what_it_generalises(
    runs: list[dict[str, Any]], boots: tuple[Any, ...], hours: int, words: str
) -> None:
    days, hour = divmod(10 + hours, 24)
    later = f"2024-06-{1 + days:02d}T{hour:02d}:00:00Z"
    pair = [
        changed(runs[0], started_utc="2024-06-01T10:00:00Z", fingerprint={"boot": boots[0]}),
        changed(runs[1], started_utc=later, fingerprint={"boot": boots[1]}),
    ]
    text = sessions.generalises(pair)
    assert text.startswith("over 2 sessions on one machine, ") and words in text


def test_constant_sessions_are_undetermined_and_never_nan(runs: list[dict[str, Any]]) -> None:
    same = [changed(runs[0], run=f"r{k}") for k in range(3)]
    for entry in sessions.pool(same):
        assert entry["pooled"]["verdict"] == "undetermined"
        assert "no spread" in entry["pooled"]["why"] and entry["pooled"]["p"] is None
    json.dumps(sessions.plain(sessions.pool(same)), allow_nan=False)


def test_variance_is_split_over_three_levels(runs: list[dict[str, Any]]) -> None:
    cells = {(e["arm"], e["statistics"], e["processes"]): e for e in sessions.variance(runs)}
    cell = cells["proc_stat", "off", 600]
    assert cell["sessions"] == 3 and sum(cell["shares"].values()) == pytest.approx(1)
    assert all(value >= 0 for value in cell["shares"].values())


def test_everything_is_written_and_what_is_gone_is_removed(
    runs: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = across(runs, tmp_path)
    (group,) = made["sessions"]
    folder = tmp_path / "sessions" / group["folder"]
    assert json.loads((folder / "summary.json").read_text()) == group
    assert all((folder / name).is_file() for name in group["files"])
    assert "figures/sessions-7in.svg" in group["files"]
    caption = (folder / "figures" / "sessions.caption.txt").read_text()
    assert "1: run0, 2: run1, 3: run2" in caption and group["generalises"] in caption
    with open(folder / "tables" / "sessions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [r["session"] for r in rows] == ["run0", "run1", "run2", "pooled"] * 2
    assert "not counted: only 2 of 8" in (folder / "tables" / "sessions.md").read_text()
    assert made["a_a"]["rate"]["n"] == 3 and (tmp_path / "noise" / "tables" / "a_a.csv").exists()
    (folder / "mine.txt").write_text("kept")
    assert across(runs[:1], tmp_path)["sessions"] == []
    assert [p.name for p in folder.rglob("*") if p.is_file()] == ["mine.txt"]


def test_machines_differ_by_what_identifies_them(runs: list[dict[str, Any]]) -> None:
    more = changed(runs[0], run="more", fingerprint={"cpus_online": 64})
    assert sessions.machine_key(more) != sessions.machine_key(runs[0])
    both = [more, changed(more, run="more2"), *runs]
    assert len({g["machine"] for g in sessions.groups(both)}) == 2
    assert all(len(g["left_out"]) in (2, 3) for g in sessions.groups(both))
