"""Costs of a sensor whose truth is known: hooks, optimisations, trie, pairs and what was lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import synthetic_sensor as made

from analysis.claims import judge
from analysis.load import load_run
from analysis.report import process
from analysis.results import compute
from analysis.sensor import factorial, text
from analysis.sensor.hooks import BYTES, FULL, NINE
from analysis.sensor.outcome import Sensor

CLOSE: dict[str, Any] = {"rel": 0.03, "abs": 5}


def sensor(folder: Path) -> Sensor:
    found = compute(load_run(folder)).sensor
    assert found is not None
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.write(tmp_path_factory.mktemp("raw") / "run")


@pytest.fixture(scope="module")
def found(folder: Path) -> Sensor:
    return sensor(folder)


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = made.write(tmp_path_factory.mktemp("raw") / "run", made.plan(12))
    return process(folder, tmp_path_factory.mktemp("processed") / "run")


def test_a_cost_is_the_task_s_and_the_reader_s_apart(found: Sensor) -> None:
    (cell,) = (e for e in found.cells if e["variant"] == "only_kill")
    assert cell["inline"].estimate == pytest.approx(630, **CLOSE)
    assert cell["reader"].estimate == pytest.approx(70, **CLOSE)
    assert [e["hook"] for e in found.alone if e["load"] == "kill"] == ["kill"]


def test_hooks_add_and_leave_what_is_theirs(found: Sensor) -> None:
    shares = {e["hook"]: e for e in found.shares}
    assert set(shares) == set(NINE)
    for hook, truth in made.HOOKS.items():
        assert shares[hook]["added"].estimate == pytest.approx(truth, rel=0.03, abs=15)
        assert shares[hook]["left_out"].estimate == pytest.approx(truth, rel=0.05, abs=60)
    assert sum(e["share"].estimate for e in found.shares) == pytest.approx(100)
    (rest,) = found.residuals
    assert rest["residual"].estimate == pytest.approx(made.RESIDUAL, abs=60)
    (two,) = found.accounting
    assert two["largest_other"] not in BYTES and two["margin"].low > 0 and two["saved"].low > 0


def test_effects_are_those_of_a_two_level_factorial(found: Sensor) -> None:
    effects = {(e["wakeup"], e["factors"]): e for e in found.effects}
    assert len(effects) == 2 * len(factorial.SUBSETS)
    equal = {f: effects["equal", f]["effect"].estimate for f in factorial.SUBSETS}
    assert equal["filter",] == pytest.approx(made.OVERLAP / 2 - made.SAVES["filter"], rel=0.05)
    assert equal["buffer",] == pytest.approx(-made.SAVES["buffer"], abs=60)
    assert equal["filter", "bytes"] == pytest.approx(made.OVERLAP / 2, abs=60)
    assert equal["filter", "buffer"] == pytest.approx(0, abs=60)
    own = effects["own", ("buffer",)]["effect"].estimate
    assert own == pytest.approx(-made.SAVES["buffer"] - made.HABIT, abs=60)
    assert effects["equal", ("filter",)]["percent"].estimate == pytest.approx(-40, abs=2)


def test_steps_go_from_naive_to_all_three(found: Sensor) -> None:
    steps = [e for e in found.steps if e["wakeup"] == "own" and e["is_step"]]
    assert [len(e["changed"]) for e in steps] == [0, 1, 2, 3]
    assert steps[0]["difference"] is None and steps[3]["variant"] == FULL
    assert steps[3]["total"].estimate == pytest.approx(made.factorial_cost(FULL), rel=0.02)


def test_a_trie_s_line_is_over_doublings(found: Sensor) -> None:
    assert [e["prefixes"] for e in found.sizes] == list(made.PREFIXES)
    (line,) = found.lines
    assert line["slope"].estimate == pytest.approx(made.PER_DOUBLING, abs=1.5)
    assert line["at_one"].estimate == pytest.approx(400, abs=10)


def test_few_blocks_say_what_they_cannot_reach(found: Sensor) -> None:
    (pair,) = (e for e in found.ratios if e["id"] == "filter_total")
    assert pair["verdict"] == "undetermined"  # 7 blocks, a family of 5
    assert "7 blocks and 5 pairs cannot bring" in pair["why"]


def test_a_trial_with_losses_is_shown_and_in_no_ratio(tmp_path: Path) -> None:
    def lose(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["variant"] == "only_file_open":
            row |= {"lost": 250, "reported_events": 750, "agent_ns": 0}
            row |= {"status": "invalid", "reason": "the sensor lost 250 events"}

    found = sensor(made.write(tmp_path / "run", change=lose))
    (cell,) = (e for e in found.cells if (e["variant"], e["load"]) == ("only_file_open", "files"))
    assert cell["n"] == 0 and cell["total"].estimate is None and cell["reason"]
    assert cell["lossy"] == 7 and cell["loss_rate"] == pytest.approx(0.25)
    assert cell["lossy_total"].estimate is not None
    (pair,) = (e for e in found.ratios if e["id"] == "filter_total")
    assert pair["comparison"] is None and pair["verdict"] == "unavailable"


def test_losses_that_the_status_does_not_name_count_too(tmp_path: Path) -> None:
    def lose(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["variant"] == "only_file_open" and trial["block"] == 3:
            row |= {"lost": 1, "agent_ns": 0}

    found = sensor(made.write(tmp_path / "run", change=lose))
    (pair,) = (e for e in found.ratios if e["id"] == "filter_total")
    assert 3 not in pair["comparison"].blocks and len(pair["comparison"].blocks) == 6


def test_the_exact_machine_counts_instructions_and_has_no_interval(tmp_path: Path) -> None:
    planned = made.plan() | {"backend": "exact"}
    found = sensor(made.write(tmp_path / "run", planned))
    assert found.unit == "instructions"
    (cell,) = (e for e in found.cells if e["variant"] == "only_kill")
    assert cell["total"].estimate == pytest.approx(350, **CLOSE)
    assert "range" in cell["total"].note
    (pair,) = (e for e in found.ratios if e["id"] == "filter_total")
    assert pair["verdict"] == "dearer" and pair["comparison"].p is None


def test_tables_and_figures_are_made(summary: dict[str, Any]) -> None:
    names = ("hooks", "hook_shares", "optimisations", "interactions", "sensor_pairs", "trie")
    assert {f"tables/{name}.md" for name in (*names, "losses")} <= set(summary["files"])
    drawn = ("cost_per_hook", "optimisation_waterfall", "optimisation_interactions", "trie_size")
    assert {f"figures/{name}.csv" for name in drawn} <= set(summary["files"])
    assert not set(drawn) & set(summary["figures_left_out"])


def test_the_ledger_answers_from_such_a_run(summary: dict[str, Any]) -> None:
    run = {**summary, "preset": "paper", "finished": True, "study": "sensor"}
    answers = {e["id"]: e for e in judge({"runs": [run], "sessions": []})}
    assert answers["SENSOR-5"]["verdict"] == "holds"
    assert answers["SENSOR-6"]["verdict"] in ("contradicted", "holds", "undetermined")
    assert "beside" in answers["SENSOR-6"]["reason"]
    assert answers["SENSOR-7"]["verdict"] == "contradicted"  # made up: 100 times, not 400
    assert answers["SENSOR-8"]["verdict"] == "holds"
    assert answers["SENSOR-9"]["verdict"] == "holds"
    place = answers["SENSOR-5"]["place"]
    assert place["table"].endswith("tables/sensor_pairs.csv")


def test_the_readme_says_what_was_found(summary: dict[str, Any]) -> None:
    assert text.block([], str, str) == text.NOT_YET
    run = {**summary, "preset": "paper", "finished": True}
    shown = text.block([run], lambda path: f"there/{path}", lambda path: "| a table |")
    assert "times [" in shown and "optimisation_waterfall-7in.svg" in shown
