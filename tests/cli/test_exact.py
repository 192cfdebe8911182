"""Whether a run is what was shipped: the same, a mismatch, or made of something else."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from analysis import instructions
from cli import exact, exact_lock
from cli.__main__ import dispatch
from cli.problem import Failed, Problem

KEY = "processes/smoke/6.1-x86_64"
INPUTS = {"qemu": "7.2.22", "packages": {"libc6": "2.36-9"}, "project": "a" * 64}
CONTRAST = {"id": "a_vs_b_100", "numerator": "a", "denominator": "b", "statistics": "off"}


def make_run(folder: Path, name: str, factor: float = 1.0, **inputs: Any) -> Path:
    """Two blocks of two arms and an empty window each; arm ``a`` costs ``factor`` times as much."""
    run = folder / name
    run.mkdir()
    rows = []
    for block in (1, 2):
        costs = {"none": 1_000, "a": 1_000 + round(400_000 * factor) + block, "b": 201_000}
        for arm, count in costs.items():
            rows.append(
                {
                    "trial": len(rows),
                    "block": block,
                    "kind": "empty" if arm == "none" else "cost",
                    "arm": arm,
                    "replica": 1,
                    "statistics": "off",
                    "status": "ok",
                    "processes_target": 100,
                    "window_ns": 10**9,
                    "scrapes": "" if arm == "none" else 2,
                    "user_instructions": count - 10,
                    "kernel_instructions": 7,
                    "bpf_instructions": 3,
                }
            )
    with open(run / "trials.csv", "w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    plan = {"contrasts": [{**CONTRAST, "processes": 100}]}
    manifest = {"exact": {**INPUTS, **inputs}, "plan": plan, "plan_hash": "0" * 64}
    (run / "manifest.json").write_text(json.dumps(manifest))
    return run


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock that holds the run with factor 1."""
    monkeypatch.setattr(exact_lock, "FILE", tmp_path / "exact.lock.json")
    first, second = (make_run(tmp_path, name) for name in ("first", "second"))
    assert exact.judge(first, second, KEY, write=True) == exact.SAME
    return tmp_path


def test_costs_are_net_of_the_empty_window_of_their_own_block(tmp_path: Path) -> None:
    cells = instructions.per_scrape(exact._rows(make_run(tmp_path, "run")))
    assert cells[instructions.Cell("a", "off", "100")] == {1: 200_000.5, 2: 200_001.0}
    assert cells[instructions.Cell("b", "off", "100")] == {1: 100_000, 2: 100_000}
    found = instructions.ratios(cells, [{**CONTRAST, "processes": 100}])
    assert found["a_vs_b_100"] == [2.000005, 2.00001]


def test_the_same_digits_are_told(shipped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exact.judge(shipped / "first", shipped / "second", KEY) == exact.SAME
    assert "the same as shipped" in capsys.readouterr().out


def test_two_boots_that_differ_fail_and_the_first_place_is_named(shipped: Path) -> None:
    other = make_run(shipped, "other", 1.5)
    with pytest.raises(Failed, match=r"trial 1 \(a\) has user_instructions 400991, 600991"):
        exact.judge(shipped / "first", other, KEY)


def test_other_digits_of_the_same_inputs_are_a_mismatch(
    shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = (make_run(shipped, name, 1.5) for name in ("one", "two"))
    assert exact.judge(one, two, KEY) == exact.MISMATCH == 1
    said = capsys.readouterr().out
    assert "MISMATCH" in said and "ratio a_vs_b_100: 2 [2, 2] shipped, 3 [3, 3] here" in said
    assert "largest difference of a cost: 50 % (a at 100 processes:" in said


def test_another_input_is_named_and_has_a_status_of_its_own(
    shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = {"qemu": "8.2.2", "packages": {"libc6": "2.39"}}
    one, two = (make_run(shipped, name, 1.0001, **other) for name in ("one", "two"))
    assert exact.judge(one, two, KEY) == exact.OTHER_INPUTS == 3
    said = capsys.readouterr().out
    assert "QEMU: 7.2.22, here 8.2.2" in said
    assert "the guest's packages: libc6 2.36-9, here 2.39" in said and "MISMATCH" not in said
    assert "largest difference of a cost: 0.01 %" in said


def test_what_was_never_shipped_is_a_problem(shipped: Path) -> None:
    with pytest.raises(Problem, match=f"nothing is shipped for x/y/z; known: {KEY}"):
        exact.judge(shipped / "first", shipped / "second", "x/y/z")


@pytest.mark.parametrize(
    ("words", "told"),
    [([], "required"), (["--verify", "nonsense"], "nonsense"), (["--verify", "--guest", "5"], "5")],
)
def test_wrong_words_are_one_line(words: list[str], told: str) -> None:
    with pytest.raises(Problem, match=told):
        dispatch("exact", words)
