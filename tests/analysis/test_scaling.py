"""The line of cost over processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import synthetic

from analysis import scaling
from analysis.load import load_run
from analysis.measures import Measures

LEVELS = [60, 250, 1000, 5000]


@pytest.fixture(scope="module")
def measures(tmp_path_factory: pytest.TempPathFactory) -> Measures:
    plan = synthetic.make_plan(synthetic.PROCESSES, LEVELS, 8, statistics=("off",))
    return Measures(load_run(synthetic.write_run(tmp_path_factory.mktemp("s") / "run", plan)))


def test_the_line_recovers_what_the_generator_put_in(measures: Measures) -> None:
    line = scaling.fit(measures, "proc_stat")
    assert line is not None and line.slope.low is not None and line.slope.high is not None
    assert line.slope.low < 7e-4 < line.slope.high
    assert line.slope.estimate == pytest.approx(7e-4, rel=0.05)
    assert line.ns_per_process.estimate == pytest.approx(7000, rel=0.05)
    assert line.intercept.low is not None and line.intercept.low < 0.015 < line.intercept.high  # type: ignore[operator]
    assert line.misfit is not None and line.misfit < 0.1


def test_sleeping_costs_nothing_more_with_more_processes(measures: Measures) -> None:
    line = scaling.fit(measures, "null_agent")
    assert line is not None and line.slope.low is not None and line.slope.high is not None
    assert line.slope.low < 0 < line.slope.high


def test_points_use_the_counted_processes(measures: Measures) -> None:
    found = scaling.points(measures, "proc_stat", "headline")
    assert len(found) == 8 * len(LEVELS)
    assert (found["processes"] - found["level"]).between(0, 2).all()


def test_the_line_passes_through_exact_data(tmp_path: Path) -> None:
    def exact(row: dict[str, object], trial: dict[str, object]) -> None:
        if trial["kind"] == "cost":
            row["agent_ns"] = 1000 * int(row["processes"]) + 50_000  # type: ignore[call-overload]

    plan = synthetic.make_plan(["proc_stat"], [100, 600], 3, statistics=("off",))
    m = Measures(load_run(synthetic.write_run(tmp_path / "run", plan, change=exact)))
    line = scaling.fit(m, "proc_stat")
    assert line is not None
    assert np.allclose(line.coefficients, [100 * 1000 / 2e9, 100 * 50_000 / 2e9])
    assert line.at(300).estimate == pytest.approx(100 * 350_000 / 2e9)


def test_one_level_has_no_line(tmp_path: Path) -> None:
    plan = synthetic.make_plan(["proc_stat"], [600], 3, statistics=("off",))
    m = Measures(load_run(synthetic.write_run(tmp_path / "run", plan)))
    assert scaling.fit(m, "proc_stat") is None
