"""The model's file: what `./study advise` reads, and the README's block, from summaries alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analysis.crossover import advice, text
from analysis.crossover.model import TERMS
from analysis.crossover.outcome import Crossover
from analysis.crossover.summary import summary


def run(c: Crossover, preset: str = "full", name: str = "20260101T000000Z-x-0") -> dict[str, Any]:
    """A run's summary with what is read here."""
    backend = "exact" if c.exact else "here"
    files = [f"tables/{n}.md" for n in ("break_even", "points", "held_out", "model", "fleet")]
    made = {"study": "crossover", "run": name, "preset": preset, "finished": True, "files": files}
    made |= {"backend": backend, "started_utc": "2026-01-01T00:00:00Z", "crossover": summary(c)}
    found: dict[str, Any] = json.loads(json.dumps(made, allow_nan=False))
    return found


def test_without_a_run_there_is_no_model_and_the_readme_says_so() -> None:
    assert json.loads(advice.text([])) == {"schema": 2, "models": []}
    assert advice.text([{"finished": True}]) == advice.text([])
    assert text.block([], str, str).startswith("Not yet measured: study `crossover`")


def test_the_live_model_comes_first_then_the_exact_one(live: Crossover, counted: Crossover) -> None:
    made = json.loads(advice.text([run(counted, "exact"), run(live)]))
    assert [(m["backend"], m["unit"]) for m in made["models"]] == [
        ("here", "ns"),
        ("exact", "instructions"),
    ]
    first = made["models"][0]
    assert first["run"] == "crossover/20260101T000000Z-x-0" and first["cpus"] == 2
    assert first["machine"] == "2 CPUs, synthetic CPU, Linux 6.1.0-synthetic"
    assert set(first["region"]) == {
        "processes", "threads", "switches_per_s", "active_tasks", "interval_s",
    }  # fmt: skip
    arm = first["arms"]["sched_switch"]
    assert arm["answers"] == "processes" and len(arm["blocks"]) == 3
    assert all(tuple(block) == ("block", *TERMS) for block in arm["blocks"])
    assert [block["block"] for block in arm["blocks"]] == [1, 2, 3]
    per_switch = sum(block["per_switch"] for block in arm["blocks"]) / 3
    assert per_switch == pytest.approx(live.fits["sched_switch"].term("per_switch").estimate)
    assert arm["interval_s"] == first["region"]["interval_s"], "measured at every interval"
    assert 0 <= arm["held_out_median_error"] < 0.1


def test_the_weightiest_then_the_newest_run_speaks(live: Crossover) -> None:
    runs = [run(live, "quick", "3"), run(live, "full", "1"), run(live, "full", "2")]
    found = advice.newest(runs)
    assert found is not None and found["run"] == "2"
    assert advice.newest([{**runs[1], "finished": False}, runs[0]]) == runs[0]
    assert advice.newest(runs, "exact") is None


def test_the_sentence_says_where_each_pair_meets(live: Crossover) -> None:
    said = text.sentence(run(live))
    assert said.startswith("As published, at 600 processes eBPF as published costs more than")
    assert "with a scrape every 1 s" in said
    assert "is cheaper than /proc polling at any rate that was measured (89.7 to 100,000" in said
    assert "With both at their floor, at 600 processes eBPF, corrected costs more than" in said


def frames(most: float, **changed: Any) -> str:
    """The sentence of one break-even in a region of up to so many switches a second."""
    rate = {"estimate": 5e4, "low": 4e4, "high": 6e4}
    met = {"steeper": "sched_switch_published", "flatter": "proc_stat", "processes": 600}
    met |= {"interval_s": 1.0, "switches_per_s": rate, "always_cheaper": None, "measured": True}
    titles = {"sched_switch_published": {"title": "hook"}, "proc_stat": {"title": "polling"}}
    c = {"break_even": [{**met, **changed}], "region": {"switches_per_s": [1000.0, most]}}
    return text.sentences({**c, "arms": titles})[0]


def test_the_sentence_has_a_frame_for_each_way_in_which_two_can_stand() -> None:
    nothing = {"estimate": None, "low": None, "high": None}
    at_any = "than polling at any rate that was measured (1,000 to"
    assert "hook costs more than polling above this many" in frames(1e5)
    assert "(no such combination was measured)" in frames(1e5, measured=False)
    sure = frames(3e4)
    assert f"hook is cheaper {at_any} 30,000 switches a second)" in sure and "for sure" not in sure
    assert "every 1 s, for sure up to 40,000 a second" in frames(4.5e4)
    for always, word in (("proc_stat", "dearer"), ("sched_switch_published", "cheaper")):
        said = frames(1e5, switches_per_s=nothing, always_cheaper=always)
        assert f"hook is {word} {at_any} 100,000 switches a second)" in said
    low = {"estimate": 500.0, "low": 400.0, "high": 600.0}
    assert f"hook is dearer {at_any}" in frames(1e5, switches_per_s=low)


def test_the_readme_block_has_sentences_map_model_and_links(live: Crossover) -> None:
    made = run(live)
    made["files"].append("figures/map-7in.svg")
    said = text.block([made], lambda path: f"data/{path}", lambda path: f"| table of {path} |")
    assert "As published" in said and "2 CPUs, synthetic CPU" in said
    assert "(data/crossover/20260101T000000Z-x-0/figures/map-7in.svg)" in said
    assert "| table of crossover/20260101T000000Z-x-0/tables/model.md |" in said
    assert "[what a fleet saves](data/crossover/" in said
