"""The review's criterion: declared beforehand, the same for every claim."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.review import table
from cli.review.table import CANNOT, NOT, REPRODUCED, Answer

RATIOS = st.floats(0.01, 1e4)


def answer(verdict: str, ratio: float | None = None) -> Answer:
    return Answer(verdict, ratio, verdict, "why")


@given(RATIOS, RATIOS)
def test_a_ratio_is_reproduced_within_a_factor_of_two_either_way(a: float, b: float) -> None:
    outcome, reason = table.compare(answer("dearer", a), answer("dearer", b))
    assert outcome == (REPRODUCED if 0.5 <= a / b <= 2 else NOT)
    assert outcome == table.compare(answer("dearer", b), answer("dearer", a))[0]
    assert "factor" in reason


@pytest.mark.parametrize(
    ("shipped", "yours", "outcome", "said"),
    [
        (answer("holds"), answer("holds"), REPRODUCED, "same verdict"),
        (answer("holds", 2.0), answer("holds"), REPRODUCED, "same verdict"),
        (answer("holds"), answer("contradicted"), NOT, "is contradicted, not holds (why)"),
        (answer("dearer", 3.0), answer("undetermined", 3.0), NOT, "undetermined, not dearer"),
        (answer("dearer", 3.0), answer("dearer", -0.1), NOT, "not above 0"),
        (answer("holds"), answer("not testable here"), CANNOT, "why"),
        (answer("holds"), answer("not yet measured"), CANNOT, "why"),
        (answer("dearer"), answer("unavailable"), CANNOT, "why"),
        (answer("not testable here"), answer("holds"), CANNOT, "nothing shipped"),
    ],
)
def test_outcomes(shipped: Answer, yours: Answer, outcome: str, said: str) -> None:
    found, reason = table.compare(shipped, yours)
    assert found == outcome and said in reason


def claim(name: str, verdict: str, measured: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"id": name, "what": f"claim {name}", "verdict": verdict, "reason": "no run",
            "measured": measured}  # fmt: skip


def test_claims_are_paired_by_id_and_those_that_nobody_answers_are_left_out() -> None:
    ratio = {"estimate": 26.0, "unit": "×", "text": "26×"}
    level = {"estimate": 11.9, "unit": "cores per 1,000 nodes", "text": "11.9"}
    shipped = [
        claim("A-1", "holds", ratio),
        claim("A-2", "holds", level),
        claim("A-3", "not yet measured"),
        claim("A-4", "holds", ratio),
    ]
    yours = [
        claim("A-4", "not yet measured"),
        claim("A-3", "not yet measured"),
        claim("A-2", "holds", {**level, "estimate": 50.0}),
        claim("A-1", "holds", {**ratio, "estimate": 60.0}),
    ]
    rows = {row.id: row for row in table.claims(shipped, yours, "step paper: left out")}
    assert {name: row.outcome for name, row in rows.items()} == {
        "A-1": NOT,
        "A-2": REPRODUCED,  # a level is the machine's own
        "A-4": CANNOT,
    }
    assert "step paper: left out" in rows["A-4"].reason
    assert rows["A-1"].shipped == "holds, 26×"
    assert rows["A-1"].reason.endswith("factor of 2.3; shipped: no run; yours: no run")
    assert table.counted(list(rows.values())) == "1 reproduced, 1 not reproduced, 1 cannot run here"


def test_tables_are_reproduced_by_equal_digits_only() -> None:
    assert table.tables(3, [], 0).outcome == REPRODUCED
    assert table.tables(3, ["a.csv"], 0).outcome == NOT
    assert "a.csv" in table.tables(3, ["a.csv"], 0).reason
    assert table.tables(3, [], 1).outcome == NOT
    assert table.tables(0, [], 0).outcome == CANNOT


def test_the_table_as_csv_and_markdown_holds_every_cell() -> None:
    row = table.Row("A-1", 'a | "b", c', "x", "y", table.LIVE, NOT, "two\nlines")
    (back,) = csv.DictReader(io.StringIO(table.as_csv([row])))
    assert back["claim"] == row.claim and back["reason"] == row.reason
    lines = table.as_markdown([row]).splitlines()
    assert len(lines) == 3 and "a \\| " in lines[2]
    assert lines[2].replace("\\|", "").count("|") == lines[0].count("|")
