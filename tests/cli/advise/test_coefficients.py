"""Files of coefficients: what is read, and the one line that a broken one gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.advise import coefficients
from cli.problem import Problem

Spoil = Callable[[dict[str, Any]], object]


def test_collectors_of_one_question_are_read_and_the_baseline_is_none(file: Path) -> None:
    (model,) = coefficients.load(file)
    names = [arm.name for arm in model.arms]
    assert names == ["proc_stat", "proc_stat_tuned", "sched_switch_published", "sched_switch",
                     "task_iter"]  # fmt: skip
    assert all(len(arm.blocks) == 8 for arm in model.arms)
    assert model.region["interval_s"] == (0.1, 60.0)


def test_time_is_taken_before_instructions(content: Any, tmp_path: Path) -> None:
    both = content(unit="instructions")
    both["models"][0]["run"] = "counted"
    both["models"] += content()["models"]
    (tmp_path / "both.json").write_text(json.dumps(both))
    models = coefficients.load(tmp_path / "both.json")
    assert coefficients.choose(models).is_time
    assert not coefficients.choose(models[:1]).is_time, "better ranks than nothing"
    assert coefficients.choose(models, "counted").run == "counted"
    with pytest.raises(Problem, match="no model 'countd'; did you mean 'counted'"):
        coefficients.choose(models, "countd")


def test_blocks_may_name_their_number(content: Any, tmp_path: Path) -> None:
    named = content(blocks=3)
    arm = named["models"][0]["arms"]["task_iter"]
    for block, number in zip(arm["blocks"], (1, 2.0, 4), strict=True):
        block["block"] = number
    (tmp_path / "named.json").write_text(json.dumps(named))
    (model,) = coefficients.load(tmp_path / "named.json")
    (found,) = [arm for arm in model.arms if arm.name == "task_iter"]
    assert list(found.blocks) == [1, 2, 4]


def test_unnumbered_blocks_of_different_counts_are_not_paired(content: Any, tmp_path: Path) -> None:
    short = content()
    short["models"][0]["arms"]["task_iter"]["blocks"].pop(2)
    (tmp_path / "short.json").write_text(json.dumps(short))
    (model,) = coefficients.load(tmp_path / "short.json")
    blocks = [set(arm.blocks) for arm in model.arms]
    assert not any(one & other for one in blocks for other in blocks if one is not other)


def _first(made: dict[str, Any]) -> dict[str, Any]:
    model: dict[str, Any] = made["models"][0]
    return model


def _together(made: dict[str, Any]) -> dict[str, Any]:
    together: dict[str, Any] = _first(made)["together"]
    return together


def _block(made: dict[str, Any]) -> dict[str, Any]:
    block: dict[str, Any] = _first(made)["arms"]["proc_stat"]["blocks"][0]
    return block


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda m: m.update(schema=1), "schema is 1, not 2"),
        (lambda m: m.pop("schema"), "schema is None"),
        (lambda m: m.update(models=[]), "holds no models"),
        (lambda m: _first(m).update(unit="s"), "unit is 's'"),
        (lambda m: _first(m).update(confidence=95), "confidence is 95"),
        (lambda m: _first(m)["region"].pop("threads"), "region.threads is no pair"),
        (lambda m: _first(m)["region"].update(processes=[9, 2]), "region.processes is no range"),
        (lambda m: _first(m)["region"].update(interval_s=[0, 2]), "interval_s starts at 0"),
        (lambda m: _first(m).update(arms={}), "none that answers processes"),
        (lambda m: _first(m)["arms"]["proc_stat"].update(blocks=[]), "blocks is empty"),
        (lambda m: _block(m).update(fixed="1"), r"blocks\[0\].fixed is no number"),
        (lambda m: _block(m).update(fixed=True), r"blocks\[0\].fixed is no number"),
        (lambda m: _block(m).update(fixed=float("nan")), r"blocks\[0\].fixed is no number"),
        (lambda m: _block(m).pop("per_switch"), r"blocks\[0\].per_switch is no number"),
        (
            lambda m: _first(m).pop("half_cold_switches_per_s"),
            "half_cold.* is no number",
        ),
        (lambda m: _first(m).update(half_cold_switches_per_s=-1), "_per_s is below 0"),
        (lambda m: _together(m).update(factor=0.5), "together.factor is below 1"),
        (lambda m: _together(m).update(planes=3), "together.planes is no list"),
        (lambda m: _together(m).update(planes=[[1, 2, 3]]), r"planes\[0\] is no plane"),
        (lambda m: _together(m).update(planes=[[1, 2, 3, "x"]]), r"planes\[0\] is no number"),
        (lambda m: _block(m).update(block=1.5), r"blocks\[0\].block is 1.5"),
        (lambda m: _block(m).update(block=3), r"blocks\[3\].block is 3"),
    ],
)
def test_a_broken_file_is_one_line_that_says_where(
    content: Any, tmp_path: Path, spoil: Spoil, said: str
) -> None:
    made = content()
    spoil(made)
    (tmp_path / "broken.json").write_text(json.dumps(made))
    with pytest.raises(Problem, match=said) as found:
        coefficients.load(tmp_path / "broken.json")
    assert "\n" not in str(found.value) and "--calibrate" in str(found.value)


@pytest.mark.parametrize("text", [b"", b"{", b"[" * 100_000, b"\xff\xfe{", b"[]", b"12", b"null"])
def test_what_is_no_json_of_ours_is_one_line(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "none.json").write_bytes(text)
    with pytest.raises(Problem) as found:
        coefficients.load(tmp_path / "none.json")
    assert "\n" not in str(found.value)


def test_a_missing_file_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="is missing.*--calibrate"):
        coefficients.load(tmp_path / "none.json")
    with pytest.raises(Problem, match="cannot be read"):
        coefficients.load(tmp_path)
