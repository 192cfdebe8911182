"""Whether a run is what was shipped: the same, a mismatch, or made of something else."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from analysis import levels
from cli import exact, exact_lock
from cli.__main__ import dispatch
from cli.problem import Failed, Problem

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "analysis"))
import synthetic_exact  # noqa: E402

KEY = "processes/exact/6.1-x86_64"
INPUTS = {
    "qemu": "7.2.22",
    "packages": {"libc6": "2.36-9"},
    "programs": {"proc_stat": "b" * 64, "top": "c" * 64},
    "project": "a" * 64,
}


def make_run(folder: Path, name: str, factor: float = 1.0, **inputs: Any) -> Path:
    """A made-up run whose /proc reader costs ``factor`` times as much in the kernel."""

    def change(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["arm"] == "proc_stat":
            row["kernel_instructions"] = round(row["kernel_instructions"] * factor)

    run = synthetic_exact.write(folder / name, change=change)
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "exact": {**INPUTS, **inputs}}))
    return run


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two equal runs, and a lock that holds them."""
    monkeypatch.setattr(exact_lock, "FILE", tmp_path / "exact.lock.json")
    first, second = (make_run(tmp_path, name) for name in ("first", "second"))
    assert exact.judge(first, second, KEY, write=True) == exact.SAME
    return first, second


def test_the_same_digits_are_told(
    shipped: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert exact.judge(*shipped, KEY) == exact.SAME
    assert "the same as shipped" in capsys.readouterr().out


def test_two_boots_that_differ_fail_and_the_first_place_is_named(
    shipped: tuple[Path, Path], tmp_path: Path
) -> None:
    with pytest.raises(Failed, match=r"trial \d+ \(proc_stat\) has kernel_instructions \d+, \d+"):
        exact.judge(shipped[0], make_run(tmp_path, "other", 1.5), KEY)


def test_other_digits_of_the_same_inputs_are_a_mismatch(
    shipped: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = (make_run(tmp_path, name, 2.0) for name in ("one", "two"))
    assert exact.judge(one, two, KEY) == exact.MISMATCH == 1
    said = capsys.readouterr().out
    assert "MISMATCH" in said and "shipped," in said
    assert "largest difference of a cost: " in said and " % (proc_stat at " in said


def test_another_input_is_named_and_has_a_status_of_its_own(
    shipped: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = {"qemu": "8.2.2", "packages": {"libc6": "2.39"}}
    one, two = (make_run(tmp_path, name, 1.0001, **other) for name in ("one", "two"))
    assert exact.judge(one, two, KEY) == exact.OTHER_INPUTS == 3
    said = capsys.readouterr().out
    assert "QEMU: 7.2.22, here 8.2.2" in said
    assert "the guest's packages: libc6 2.36-9, here 2.39" in said and "MISMATCH" not in said


def test_a_collector_that_was_built_anew_is_named(
    shipped: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = {"programs": {"proc_stat": "d" * 64, "top": "c" * 64}}
    one, two = (make_run(tmp_path, name, 1.0001, **other) for name in ("one", "two"))
    assert exact.judge(one, two, KEY) == exact.OTHER_INPUTS
    said = capsys.readouterr().out
    assert f"collectors: proc_stat {'b' * 12}, here {'d' * 12}\n" in said


def test_a_run_with_a_trial_missing_is_no_measure_of_another(
    shipped: tuple[Path, Path], tmp_path: Path
) -> None:
    short = make_run(tmp_path, "short")
    rows = (short / "trials.csv").read_text().splitlines(keepends=True)
    (short / "trials.csv").write_text("".join(rows[:-1]))
    with pytest.raises(Problem, match=f"{len(rows) - 2} of {len(rows) - 1} trials: finish it"):
        exact.judge(short, short, KEY, write=True)


def test_what_was_never_shipped_is_a_problem(shipped: tuple[Path, Path]) -> None:
    with pytest.raises(Problem, match=f"nothing is shipped for x/y/z; known: {KEY}"):
        exact.judge(*shipped, "x/y/z")


@pytest.mark.parametrize(
    ("words", "told"),
    [([], "required"), (["--verify", "nonsense"], "nonsense"), (["--verify", "--guest", "5"], "5")],
)
def test_wrong_words_are_one_line(words: list[str], told: str) -> None:
    with pytest.raises(Problem, match=told):
        dispatch("exact", words)


@pytest.mark.parametrize(
    ("level", "name"),
    [
        (levels.LEFT_ALONE, "top"),
        (600, "top at 600 processes"),
        (levels.of_stress(0), "top at free system"),
        (levels.of_stress(200), "top at 200 threads"),
        (levels.of_point(3), "top at point 3"),
    ],
)
def test_cells_of_every_kind_of_level_have_a_name_of_their_own(level: int, name: str) -> None:
    assert exact._named({"arm": "top", "level": level, "statistics": "off"}) == name
