"""The README's part on the study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import synthetic_cores as made

from analysis.cores import text
from analysis.load import load_run
from analysis.results import compute
from analysis.summary import summarise


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    run = made.write(tmp_path_factory.mktemp("raw") / "run")
    files = [f"tables/{name}.md" for name in ("source", "arms", "threads")]
    found = {**summarise(compute(load_run(run))), "preset": "article"}
    return {**found, "files": [*files, "figures/source_table-7in.svg"]}


def block(*summaries: dict[str, Any]) -> str:
    return text.block(summaries, lambda path: f"there/{path}")


def test_without_a_run_it_says_so() -> None:
    assert block() == text.NOT_YET


def test_the_newest_run_of_the_sources_protocol_is_shown(summary: dict[str, Any]) -> None:
    others = [{**summary, "run": "z", "preset": "quick"}, {**summary, "run": "a"}]
    shown = block(summary, *others)
    assert summary["sentence"] in shown
    assert "(there/cores/run/figures/source_table-7in.svg)" in shown
    assert "(there/cores/run/tables/source.md)" in shown
    assert "tables/threads.md" in shown and "core_accuracy" not in shown, "only what is there"


def test_each_measure_stands_once_beside_the_sources_ratio(summary: dict[str, Any]) -> None:
    lines = [line.strip("| ").split(" | ") for line in text.compared(summary).splitlines()[2:]]
    assert len({(line[0], line[1]) for line in lines}) == len(lines)
    published = {(line[0], line[1]): line[5] for line in lines}
    assert published["free system", "task-clock, ms"] == "22×"
    assert published["200 threads", "system time, ms"] == "115×"
    assert published["free system", "task-clock and program, ms"] == "—"
    ratios = {
        (e["denominator"], e["measure"], e["stress_threads"]): e["ratio"]["estimate"]
        for e in summary["cores"]["ratios"]
    }
    first = next(line for line in lines if line[:2] == ["free system", "task-clock, ms"])
    for place, monitor in ((4, "sched_switch_cores_published"), (6, "sched_switch_cores")):
        shown = float(first[place].split("×")[0])
        assert shown == pytest.approx(ratios[monitor, "task_clock", 0], rel=0.01)


def test_a_shorter_window_than_the_sources_is_no_answer(summary: dict[str, Any]) -> None:
    assert "first look" not in block(summary)
    short = [{**entry, "window_s": 2.0} for entry in summary["cores"]["own"]]
    shown = block({**summary, "cores": {**summary["cores"], "own": short}})
    assert "Windows of 2.0 s; the source's were 10 s" in shown


def test_instructions_are_told_by_architecture_and_none_are_made_up(
    summary: dict[str, Any], tmp_path: Path
) -> None:
    assert text.counted([summary]) == ""
    base = {"stress_threads": 200, "denominator": "sched_switch_cores_published"}
    alone = {**base, "measure": "instructions"}
    alone["ratio"] = {"estimate": 50.0, "low": 49.0, "high": 51.0}
    whole = {**base, "measure": "instructions_whole"}
    whole["ratio"] = {"estimate": 1.4, "low": 1.2, "high": 1.6}
    exact = {**summary, "backend": "exact", "cores": {"ratios": [alone, whole]}}
    exact["fingerprint"] = {"architecture": "aarch64"}
    said = "on aarch64 beside 200 threads 50.0 [49.0 to 51.0], of the whole machine 1.40 ["
    assert said in text.counted([exact])
    assert block(exact) == text.NOT_YET, "an emulator's clock is no time"
