"""A fleet's totals are its nodes', and so is what is said of each."""

from __future__ import annotations

import csv
import io
import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.statistics.intervals import mean_interval
from cli.advise import coefficients, fleet_text, model, survey
from cli.advise.coefficients import Model
from cli.advise.fleet import Node
from cli.advise.point import outside


@pytest.fixture
def made(file: Path) -> Model:
    return coefficients.choose(coefficients.load(file))


def nodes(number: int, seed: int = 3, active: float | None = None) -> list[Node]:
    draw = random.Random(seed)
    return [
        Node(f"n{i}", p, draw.uniform(100, 30_000), 1.5 * p + 50, active)
        for i, p in enumerate(draw.randint(60, 4000) for _ in range(number))
    ]


def test_a_total_is_the_sum_of_its_nodes_with_the_interval_of_the_sum(made: Model) -> None:
    fleet = nodes(50, active=30)
    found = survey.survey(made, fleet, 15.0)
    assert found.inside == 50 and sum(total.least for total in found.totals) == 50
    for total in found.totals:
        (arm,) = [arm for arm in made.arms if arm.name == total.arm]
        rows = np.array([survey.point(made, node, 15.0).features(30, made.half) for node in fleet])
        by_block = (rows @ np.array(list(arm.blocks.values())).T).sum(axis=0)
        wanted = mean_interval(by_block)
        assert vars(total.cost) == pytest.approx(
            {"estimate": wanted.estimate, "low": wanted.low, "high": wanted.high}, rel=1e-9
        )


@pytest.mark.parametrize("active", [None, 30.0])
def test_a_node_is_answered_as_a_machine_would_be(made: Model, active: float | None) -> None:
    fleet = nodes(40, active=active)
    found = survey.survey(made, fleet, 1.0)
    for answer in found.nodes:
        alone = model.answer(made, survey.point(made, answer.node, 1.0))
        assert answer.least == alone.collectors[0].arm
        assert answer.verdict == alone.verdict
        assert answer.cost == pytest.approx(alone.collectors[0].cost.estimate, rel=1e-9)
        line = alone.switches.value if alone.switches else None
        assert answer.break_even == (line if line is None else pytest.approx(line, rel=1e-9))
    assert sum(found.verdicts.values()) == 40


def test_each_its_cheapest_saves_what_it_saves(made: Model) -> None:
    fleet = nodes(40, active=30)
    found = survey.survey(made, fleet, 1.0)
    assert found.best is not None and found.saving is not None and found.now == "proc_stat"
    assert found.best.estimate == pytest.approx(sum(answer.cost for answer in found.nodes))
    (now,) = [total for total in found.totals if total.arm == "proc_stat"]
    assert found.saving.estimate == pytest.approx(now.cost.estimate - found.best.estimate)
    assert found.best.estimate <= found.totals[0].cost.estimate
    saved = sorted(((a.now or 0) - a.cost for a in found.nodes), reverse=True)
    assert [(a.now or 0) - a.cost for a in found.saves_most] == saved[:3]


def test_nodes_outside_are_counted_and_have_no_number(made: Model) -> None:
    fleet = [*nodes(3), Node("few", 10, 500, 60), Node("both", 10, 1, 60)]
    found = survey.survey(made, fleet, 1.0)
    assert found.inside == 3
    assert found.left_out == {"processes": 2, "switches_per_s": 1}
    rows = list(csv.DictReader(io.StringIO(fleet_text.as_csv(made, [found]))))
    assert [row["outside"] for row in rows[3:]] == ["processes", "processes switches_per_s"]
    assert all(rows[4][name] == "" for name in ("least", "verdict", "cost", "cost_now"))
    assert all(row["least"] and float(row["cost"]) > 0 for row in rows[:3])
    only = survey.survey(made, fleet[3:], 1.0)
    assert only.best is None and fleet_text.lines(made, only)


def test_fewer_threads_than_the_measured_machines_own_are_taken_as_those(made: Model) -> None:
    few = survey.point(made, Node("few", 600, 3000, 610), 1.0)
    none = survey.point(made, Node("none", 600, 3000), 1.0)
    assert few.threads == none.threads == 40 and not outside(made, few)


def test_a_nodes_own_interval_comes_before_the_common_one(made: Model) -> None:
    own = Node("own", 600, 3000, 900, 30, 15.0)
    other = Node("other", 600, 3000, 900, 30)
    found = survey.survey(made, [own, other], 1.0)
    assert [answer.interval_s for answer in found.nodes] == [15.0, 1.0]
    with pytest.raises(ValueError, match="other"):
        survey.survey(made, [own, other], None)


def test_instructions_are_told_as_no_time(content: Any, tmp_path: Path) -> None:
    path = tmp_path / "exact.json"
    path.write_text(json.dumps(content(unit="instructions")))
    counted = coefficients.load(path)[0]
    found = survey.survey(counted, nodes(5), 1.0)
    text = "\n".join(fleet_text.lines(counted, found))
    assert "core" not in text and "million instructions a second" in text


def test_twenty_thousand_nodes_take_seconds(made: Model) -> None:
    fleet = nodes(20_000)
    began = time.process_time()
    survey.survey(made, fleet, 15.0)
    assert time.process_time() - began < 10
