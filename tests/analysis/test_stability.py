"""Place inside a block, and what each contrast's noise allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic

from analysis import contrasts, noise, repetition, stability
from analysis.load import load_run
from analysis.measures import Measures


def measures(folder: Path, blocks: int = 10, **options: Any) -> Measures:
    return Measures(load_run(synthetic.quick(folder, blocks, **options)))


def test_a_place_that_costs_is_found(tmp_path: Path) -> None:
    """A quarter of the mean from the first place to the last, found without loss."""

    def tired(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if "agent_ns" in row:
            row["agent_ns"] = round(row["agent_ns"] * (1 + 0.3 * trial["position"] / 24))

    m = measures(tmp_path / "a", change=tired, noise=0.02, seed=2)
    per_block = sum(1 for trial in m.run.plan["trials"] if trial["block"] == 1)
    true = 100 * 0.3 * (per_block - 1) / 24 / (1 + 0.3 * (per_block - 1) / 2 / 24)
    found = stability.position(m)["last_against_first"]
    assert 0 < found.low < true < found.high
    quiet = measures(tmp_path / "b", change=tired, noise=0.001)
    exact = stability.position(quiet)["last_against_first"].estimate
    assert exact == pytest.approx(true, abs=2.5)  # the line is one of a curve: 1 / mean varies
    steady = stability.position(measures(tmp_path / "c"))["last_against_first"]
    assert steady.low < 0 < steady.high


def test_the_first_trial_after_a_change_is_set_against_the_others(tmp_path: Path) -> None:
    seen: set[tuple[int, int]] = set()

    def cold(row: dict[str, Any], trial: dict[str, Any]) -> None:
        at = (trial["block"], trial["processes"])
        if trial["kind"] == "cost" and at not in seen:
            seen.add(at)
            row["agent_ns"] = round(row["agent_ns"] * 1.4)

    found = stability.position(measures(tmp_path / "a", change=cold))["after_change"]
    assert 20 < found.low < found.high < 60


def test_without_a_change_of_the_count_there_is_nothing_to_say(tmp_path: Path) -> None:
    plan = synthetic.make_plan(["null_agent", "proc_stat"], [600], 6)
    found = stability.position(Measures(load_run(synthetic.write_run(tmp_path / "r", plan))))
    assert (
        found["after_change"].estimate is None and "does not change" in found["after_change"].note
    )


def test_the_moments_of_a_contrast_are_those_of_its_blocks(tmp_path: Path) -> None:
    m = measures(tmp_path / "r", 12)
    declared = contrasts.evaluate(m)
    made = stability.of_contrasts(m, declared, noise.a_a(m))
    assert [e["id"] for e in made] == [declared[0]["id"], "a_a"]
    x = m.get("headline", "proc_stat", 600).to_numpy()
    y = m.get("headline", "sched_switch_published", 600).to_numpy()
    assert made[0]["cv_numerator"] == pytest.approx(np.std(x, ddof=1) / np.mean(x))
    assert made[0]["correlation"] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert made[0]["detectable"] == declared[0]["comparison"].detectable
    assert made[0]["autocorrelation"].low is not None and made[0]["blocks"] == 12


def test_scrapes_and_blocks_share_the_variance(tmp_path: Path) -> None:
    run = load_run(synthetic.quick(tmp_path / "r", 6))
    found = {(e["arm"], e["level"], e["statistics"]): e["split"] for e in repetition.variance(run)}
    cell = found["proc_stat", 600, "off"]
    assert cell.blocks == 6 and cell.scrapes == 2
    # the generator splits a window's cost evenly over its scrapes: nothing is left between them
    assert cell.scrape_share == pytest.approx(0, abs=1e-6)
    assert repetition.percent_of_mean(cell, cell.observed) == pytest.approx(8, abs=6)
