"""The page on validation is what the simulations give, and the simulations are reproducible."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from analysis.statistics import validation
from analysis.tables import validation as tables
from cli import paths, validate
from cli.problem import Problem

SHIPPED = {
    name: pd.read_csv(validate.DOCS / validate.FOLDER / f"{name}.csv") for name in validate.TABLES
}


def rows(name: str) -> list[dict[str, Any]]:
    frame = SHIPPED[name].astype(object)
    return [
        {str(k): v for k, v in row.items()}
        for row in frame.where(frame.notna(), None).to_dict("records")
    ]


def row_of(name: str, made: dict[str, Any]) -> dict[str, Any]:
    keys = ("noise", "ratio", "cv_numerator", "cv_denominator", "blocks", "contrasts")
    return next(r for r in rows(name) if all(r[k] == made[k] for k in keys if k in r and k in made))


CELLS = [
    ("coverage", ("lognormal", validation.SHAPES[4], 6)),
    ("coverage", ("bursts", validation.SHAPES[3], 8)),
    ("false_positives", ("t3", validation.TWINS[1], 12)),
    ("power", (8, 6)),
]


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_a_cell_made_alone_has_the_shipped_digits(cell: tuple[str, tuple[Any, ...]]) -> None:
    name, made = validation.make(cell)
    assert made is not None
    assert row_of(name, made) == tables.rounded(made)


def test_the_page_and_the_figure_follow_from_the_shipped_tables() -> None:
    text = (validate.DOCS / validate.PAGE).read_text(encoding="utf-8")
    for name, content in validate.pages({n: rows(n) for n in validate.TABLES}, text).items():
        assert (validate.DOCS / name).read_bytes() == content, name


def test_every_cell_is_shipped_with_enough_simulations() -> None:
    names = [name for name, _ in validation.cells()]
    coverage, tests = SHIPPED["coverage"], SHIPPED["false_positives"]
    assert len(coverage) == names.count("coverage") and len(tests) == names.count("false_positives")
    assert min(coverage["simulations"].min(), tests["simulations"].min()) >= 4000
    assert {6, 8, 12, 20} <= set(coverage["blocks"]) and {6, 8, 12, 20} == set(tests["blocks"])


def test_no_cell_like_the_shipped_runs_is_too_short_and_others_say_from_when() -> None:
    for noise in validation.NOISES:
        for row in rows("coverage"):
            if row["noise"] == noise and row["outcome"] == "fails":
                assert tables.wide(row) and row["blocks"] < 20, row
    assert not [r for r in rows("false_positives")
                if r["identical"] == "yes" and r["outcome"] == "fails"]  # fmt: skip
    assert SHIPPED["coverage"]["indistinguishable_at_margin"].max() <= 2.5
    assert SHIPPED["power"]["power"].between(77, 83).all()


def test_a_page_without_its_marks_and_an_unknown_word_are_one_line_each() -> None:
    with pytest.raises(Problem, match="lacks the marks of its part 'result'"):
        validate.filled("# nothing", {"result": ""})
    with pytest.raises(Problem, match="validate takes no '--quick', only --check"):
        validate.command(["--quick"])
    assert validate.DOCS.is_relative_to(paths.ROOT)


def test_the_fewest_blocks_that_meet_a_target_and_keep_meeting_it() -> None:
    made = [{"blocks": n, "outcome": o} for n, o in
            ((6, "meets"), (8, "fails"), (12, "meets"), (20, "meets"))]  # fmt: skip
    assert tables.smallest(made) == 12
    assert tables.smallest([{"blocks": 20, "outcome": "conservative"}]) is None
