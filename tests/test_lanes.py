"""Every test runs in exactly one lane, and every entry of a lane is about some test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.lanes import ALONE, LANES, lane_of, lanes_in

ROOT = Path(__file__).resolve().parents[1]
ENTRIES = [entry for entries in LANES.values() for entry in entries]


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_names_a_folder_a_file_or_tests_that_exist(entry: str) -> None:
    name, _, test = entry.partition("::")
    assert (ROOT / name).exists()
    if test:
        assert re.search(rf"^def {test}", (ROOT / name).read_text(encoding="utf-8"), re.M)


def test_no_entry_is_in_two_lanes() -> None:
    assert len(ENTRIES) == len(set(ENTRIES))


def test_the_longest_entry_counts_and_what_has_none_is_alone() -> None:
    assert lane_of("tests/vm/test_cpio.py::test_x") == "computes"
    assert lane_of("tests/vm/test_counter.py::test_x") == "machines"
    runner = "tests/experiment/test_runner.py"
    assert lane_of(f"{runner}::test_a_bad_plan_gives_one_line[-is not JSON]") == "live"
    assert lane_of(f"{runner}::test_the_harness_stays_asleep_inside_a_window") == ALONE
    assert lane_of("tests/bpf/test_of_something_new.py::test_x") == ALONE
    assert lanes_in(runner) == {ALONE, "live"}
    assert lanes_in("tests/vm/test_cpio.py") == {"computes"}


def test_the_launcher_runs_every_lane() -> None:
    study = (ROOT / "study").read_text(encoding="utf-8")
    beside = re.search(r"^lanes_beside=\((.*)\)", study, re.M)
    assert beside and [*beside[1].split(), ALONE] == list(LANES)
    assert study.count("--lane") == 2
