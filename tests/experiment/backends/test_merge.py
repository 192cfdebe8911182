"""Rows and marks are joined by the trial's number, and a count that does not fit is an error."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.accounting import exact
from experiment.backends import merge

PLANNED = [{"trial": n} for n in (3, 4, 5)]
HEAD = "trial,kind,status,window_ns\n"


def files(rows="3,cost,ok,9\n4,fidelity,ok,9\n5,empty,ok,9\n9,cost,ok,9\n"):
    samples = "trial,scrape,at_ns\n3,1,5\n9,1,5\n"
    return {
        "trials.csv": (HEAD + rows).encode(),
        "scrapes.csv.gz": gzip.compress(samples.encode()),
        "manifest.json": json.dumps({"instrument": "cgroup2"}).encode(),
        "log/3-top.stderr": b"a word",
        "log/9-top.stderr": b"discarded",
        "log/5-none.stderr": b"",
    }


def pair(trial, *counts, start=(100, 200, 300)):
    after = [a + b for a, b in zip(start, counts, strict=True)]
    return [(exact.value(trial, 0), *start), (exact.value(trial, 1), *after)]


def test_a_boots_rows_get_the_instructions_between_their_marks():
    marks = pair(9, 1, 1, 1) + pair(3, 10, 20, 0) + pair(5, 4, 5, 6)
    block = merge.block(files(), marks, PLANNED)
    counted = [[row.get(f"{place}_instructions") for place in merge.PLACES] for row in block.rows]
    assert [row["trial"] for row in block.rows] == ["3", "4", "5"]
    assert counted == [["10", "20", "0"], [None] * 3, ["4", "5", "6"]]
    assert block.scrapes == {3: [{"trial": "3", "scrape": "1", "at_ns": "5"}]}
    assert block.logs == {"3-top.stderr": b"a word"}


def test_a_life_is_counted_and_reports_of_each_cpu_are_kept():
    left = files("3,from_start,ok,9\n4,cores,ok,9\n5,empty,ok,9\n")
    left["cores.csv.gz"] = gzip.compress(b"trial,scrape,cpu\n4,0,1\n")
    block = merge.block(left, pair(3, 10, 20, 0) + pair(5, 4, 5, 6), PLANNED)
    assert block.rows[0]["kernel_instructions"] == "20"
    assert block.scrapes[4] == [{"trial": "4", "scrape": "0", "cpu": "1"}]


@pytest.mark.parametrize(
    ("rows", "marks", "told"),
    [
        ("3,cost,ok,9\n4,fidelity,ok,9\n", [], "2 rows of 3"),
        (None, pair(3, 1, 1, 1), "trial 5 has a window and no marks"),
        (None, pair(3, 1, 1, 1)[:1], "trial 3 has no pair"),
        (None, pair(3, 1, 1, 1)[1:], "trial 3 has no pair"),
        (None, pair(3, 1, 1, 1) * 2, "one too many"),
        (None, pair(3, 1, -1, 1) + pair(5, 1, 1, 1), "counts of trial 3 fall"),
    ],
)
def test_what_does_not_fit_is_an_error(rows, marks, told):
    with pytest.raises(merge.MergeError, match=told):
        merge.block(files() if rows is None else files(rows), marks, PLANNED)


@pytest.mark.parametrize("name", ["trials.csv", "manifest.json"])
def test_a_result_without_a_file_is_an_error(name):
    held = files()
    del held[name]
    with pytest.raises(merge.MergeError, match="damaged"):
        merge.block(held, [], PLANNED)


@given(st.dictionaries(st.integers(0, 2**14 - 1), st.tuples(*[st.integers(0, 10**12)] * 3)))
def test_windows_are_the_differences_of_their_marks(counted):
    marks = [mark for trial, counts in counted.items() for mark in pair(trial, *counts)]
    assert merge.windows(marks) == counted


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_mark_is_code_of_its_own(machine):
    codes = {exact.code(exact.value(t, e), machine) for t in range(0, 2**14, 97) for e in (0, 1)}
    assert len(codes) == 2 * len(range(0, 2**14, 97))
    assert exact.value(2**14 + 5, 1) == exact.value(5, 1) < 2**15


def test_marks_can_be_executed_on_this_processor():
    marks = exact.Marks()
    for trial in (0, 7, 16383):
        marks.aim(trial)
        marks.begin()
        marks.end()
