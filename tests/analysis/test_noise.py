"""A/A pair, spread, drift and the harness's own cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import synthetic

from analysis import checks, noise
from analysis.load import load_run
from analysis.measures import Measures


def measures(tmp_path: Path, blocks: int = 6, **options: Any) -> Measures:
    return Measures(load_run(synthetic.quick(tmp_path / "run", blocks, **options)))


def test_a_quiet_a_a_pair_is_indistinguishable(tmp_path: Path) -> None:
    found = noise.a_a(measures(tmp_path, 12, noise=0.02))
    assert found is not None and found["verdict"] == "indistinguishable"
    assert found["comparison"].ratio.low < 1 < found["comparison"].ratio.high


def test_a_twin_that_differs_is_told_apart(tmp_path: Path) -> None:
    def spoil(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["replica"] == 2:
            row["agent_ns"] = round(row["agent_ns"] * 1.5)

    found = noise.a_a(measures(tmp_path, 8, noise=0.02, change=spoil))
    assert found is not None and found["verdict"] == "cheaper"


def test_a_a_pairs_rarely_differ(tmp_path: Path) -> None:
    """Forty synthetic runs: at 5 % at most six false alarms (binomial, p < .004)."""
    plan = synthetic.make_plan(["proc_stat"], [600], 8, statistics=("off",), external=False,
                               a_a=("proc_stat", "off", 600))  # fmt: skip
    alarms = 0
    for seed in range(40):
        m = Measures(load_run(synthetic.write_run(tmp_path / str(seed), plan, seed=seed)))
        found = noise.a_a(m)
        assert found is not None
        alarms += found["comparison"].p < 0.05
    assert alarms <= 6


def test_a_missing_twin_is_unavailable(tmp_path: Path) -> None:
    def spoil(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["replica"] == 2:
            row |= {"status": "failed", "reason": "exit 1"}

    found = noise.a_a(measures(tmp_path, change=spoil))
    assert found is not None and found["verdict"] == "unavailable"


def test_spread_of_constants_and_of_one_block() -> None:
    assert noise.coefficient_of_variation(pd.Series([0.04] * 10)) == 0.0
    assert noise.coefficient_of_variation(pd.Series([0.04])) is None
    assert noise.coefficient_of_variation(pd.Series([-1.0, 1.0])) is None
    assert noise.coefficient_of_variation(pd.Series([1.0, 3.0])) == pytest.approx(2**0.5 / 2)


def test_more_blocks_detect_less_and_two_detect_nothing() -> None:
    effects = [noise.projected_effect(1.0, n) for n in (6, 8, 12, 24)]
    assert all(e is not None for e in effects)
    assert effects == sorted(effects, reverse=True)  # type: ignore[type-var]
    assert noise.projected_effect(1.0, 2) is None


def test_a_drift_is_seen_and_its_absence_too(tmp_path: Path) -> None:
    def warm(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if "agent_ns" in row:
            row["agent_ns"] = round(row["agent_ns"] * (1 + 0.05 * trial["block"]))

    drifting = noise.drift(measures(tmp_path / "a", 12, change=warm))["slope"]
    steady = noise.drift(measures(tmp_path / "b", 12))["slope"]
    assert 2 < drifting.low < drifting.high < 6
    assert steady.low < 0 < steady.high
    assert "three blocks" in noise.drift(measures(tmp_path / "c", 2))["slope"].note


def test_a_drift_of_the_a_a_arm_is_a_warning_with_its_interval(tmp_path: Path) -> None:
    def warm(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if "agent_ns" in row and trial["arm"] == "proc_stat":
            row["agent_ns"] = round(row["agent_ns"] * (1 + 0.05 * trial["block"]))

    found = noise.warnings(measures(tmp_path / "a", 12, change=warm))
    assert len(found) == 1 and found[0].startswith("/proc polling drifted by ") and "[" in found[0]
    assert noise.warnings(measures(tmp_path / "b", 12)) == []
    assert noise.warnings(measures(tmp_path / "c", 2)) == []


def test_the_harness_is_counted_and_its_excess_named(tmp_path: Path) -> None:
    def heavy(row: dict[str, Any], trial: dict[str, Any]) -> None:
        row |= {"harness_ns": 4_000_000, "harness_wakeups": 3}

    m = measures(tmp_path, change=heavy)
    found = noise.harness(m)
    assert found["max_percent_core"] == pytest.approx(0.2) and found["wakeups_max"] == 3
    text = " ".join(checks.warnings(m.run))
    assert "harness itself took 0.200 %" in text and "woke up" in text


def test_doubts_about_rows_are_listed_once_an_arm(tmp_path: Path) -> None:
    def doubtful(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["arm"] == "sched_switch" and trial["kind"] == "cost":
            row |= {"lost": 5, "late": 1, "bpf_programs": 2}
        if trial["arm"] == "sched_switch" and trial["kind"] == "fidelity":
            row["reported_ns"] //= 2

    m = measures(tmp_path, change=doubtful, upto=130)
    text = checks.warnings(m.run)
    for part in ("unfinished", "SYNTHETIC"):
        assert sum(part in line for line in text) == 1
    for part in ("updates lost", "being late", "1 BPF programs expected, [2] found"):
        assert sum(part in line and "eBPF, corrected" in line for line in text) == 1


def test_a_collector_that_reports_half_is_wrong(tmp_path: Path) -> None:
    def half(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "fidelity" and trial["arm"] == "sched_switch":
            row["reported_ns"] //= 2

    run = measures(tmp_path, change=half).run
    found = {e["arm"]: e for e in checks.fidelity(run)}
    assert found["sched_switch"]["verdict"] == "wrong"
    assert found["sched_switch"]["worst"] == pytest.approx(-0.5, abs=0.01)
    assert found["proc_stat"]["verdict"] == "true" and "null_agent" not in found
    assert any("failed arm" in line for line in checks.warnings(run))


@pytest.mark.parametrize(
    ("arm", "short_ns", "verdict"),
    [
        ("proc_stat", 19_000_000, "true"),  # 3.8 %, but less than two ticks
        ("proc_stat", 21_000_000, "wrong"),
        ("sched_switch", 19_000_000, "wrong"),  # counts in ns
        ("sched_switch", 9_000_000, "true"),  # 1.8 %
    ],
)
def test_fidelity_allows_for_clock_ticks_where_they_are_read(
    tmp_path: Path, arm: str, short_ns: int, verdict: str
) -> None:
    def short(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "fidelity":
            row |= {"known_ns": 500_000_000, "reported_ns": 500_000_000 - short_ns}

    found = {e["arm"]: e for e in checks.fidelity(measures(tmp_path, 1, change=short).run)}
    assert found[arm]["verdict"] == verdict
    assert found[arm]["allowed"] == (0.04 if arm == "proc_stat" else 0.02)
