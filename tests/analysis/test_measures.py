"""From rows to measures: headline, published method, calibration, cross-check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic

from analysis.external import calibration, ns_per_switch
from analysis.load import Run, load_run
from analysis.measures import Measures
from analysis.results import ONE_CLOCK, crosscheck

EBPF = "sched_switch_published"


def row(run: Run, **wanted: Any) -> Any:
    found = run.trials
    for key, value in wanted.items():
        found = found[found[key] == value]
    assert len(found) == 1
    return found.iloc[0]


def test_the_headline_of_a_block_is_formed_from_its_own_rows(quick_run: Path) -> None:
    run = load_run(quick_run)
    cost = row(run, kind="cost", arm=EBPF, block=3, statistics="off", processes_target=600)
    work = row(run, kind="external", arm=EBPF, block=3, pace="paced")
    ns = (work["work_ns"] - work["unattached_ns"]) / work["events"]
    expected = 100 * (cost["agent_ns"] + cost["switches"] * ns) / cost["window_ns"]
    measures = Measures(run)
    assert measures.get("headline", EBPF, 600)[3] == pytest.approx(float(expected))
    null = row(run, kind="cost", arm="null_agent", block=3, statistics="off", processes_target=600)
    net = expected - 100 * null["agent_ns"] / null["window_ns"]
    assert measures.get("headline_net", EBPF, 600)[3] == pytest.approx(float(net))
    assert 0 not in measures.get("headline", EBPF, 600).index, "the warm-up is left out"


def test_the_published_method_adds_the_programs_run_time(quick_run: Path) -> None:
    run = load_run(quick_run)
    cost = row(run, kind="cost", arm=EBPF, block=2, statistics="on", processes_target=100)
    expected = 100 * (cost["agent_ns"] + cost["bpf_run_ns"]) / cost["window_ns"]
    assert Measures(run).get("published", EBPF, 100)[2] == pytest.approx(float(expected))


def test_a_program_in_the_readers_own_task_is_not_counted_twice(tmp_path: Path) -> None:
    plan = synthetic.make_plan(["null_agent", "bpf_on_demand"], [None], 3, study="gauges")

    def run_time(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["arm"] == "bpf_on_demand" and trial["statistics"] == "on":
            row |= {"bpf_run_ns": 10**9, "bpf_run_count": 2}

    m = Measures(load_run(synthetic.write_run(tmp_path / "run", plan, change=run_time)))
    both = m.get("published", "bpf_on_demand", -1), m.get("agent_on", "bpf_on_demand", -1)
    assert both[0].tolist() == both[1].tolist()


def test_missing_statistics_make_the_sum_missing_and_never_zero(tmp_path: Path) -> None:
    def off(row: dict[str, Any], trial: dict[str, Any]) -> None:
        row.pop("bpf_run_ns", None)

    m = Measures(load_run(synthetic.quick(tmp_path / "run", change=off)))
    assert m.get("published", EBPF, 600).empty
    assert "statistics are missing" in m.reason("published", EBPF, 600)
    assert len(m.get("published", "proc_stat", 600)) == 6, "no program, nothing to add"


def test_without_calibration_there_is_no_headline(tmp_path: Path) -> None:
    plan = synthetic.make_plan(["null_agent", EBPF], [600], 3, external=False)
    m = Measures(load_run(synthetic.write_run(tmp_path / "run", plan)))
    assert m.get("headline", EBPF, 600).empty
    assert "no paced calibration" in m.reason("headline", EBPF, 600)
    assert len(m.get("agent", EBPF, 600)) == 3


def test_a_hook_without_a_counted_rate_has_no_headline(tmp_path: Path) -> None:
    plan = synthetic.make_plan(["null_agent", "bpf_timer"], [None], 3, study="gauges")
    m = Measures(load_run(synthetic.write_run(tmp_path / "run", plan)))
    assert "no workload counts out" in m.reason("headline", "bpf_timer", -1)


def test_calibration_recovers_the_ns_per_switch(tmp_path: Path) -> None:
    """The generator's ns are inside the 95 % interval in at least 32 of 40 (binomial, p > .999)."""
    covered = []
    for seed in range(10):
        for entry in calibration(load_run(synthetic.quick(tmp_path / str(seed), 12, seed=seed))):
            truth = synthetic.ARMS[entry["arm"]][5]
            assert entry["interval"].n == 12
            assert entry["interval"].estimate == pytest.approx(truth, abs=20)
            covered.append(entry["interval"].low < truth < entry["interval"].high)
    assert len(covered) == 40 and sum(covered) >= 32


@pytest.mark.parametrize("schema", [2, 3])
def test_calibration_is_paired_by_block(tmp_path: Path, schema: int) -> None:
    """A drift of 1 µs a block in the work itself cancels."""

    def drift(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "external":
            for name in {"work_ns", "unattached_ns"} & set(row):
                row[name] += trial["block"] * 1000 * trial["events"]

    plain = ns_per_switch(load_run(synthetic.quick(tmp_path / "a", schema=schema)))
    drifted = ns_per_switch(load_run(synthetic.quick(tmp_path / "b", schema=schema, change=drift)))
    assert np.allclose(plain["value"], drifted["value"])


@pytest.mark.parametrize("schema", [2, 3])
def test_rounds_are_paired_by_themselves(tmp_path: Path, schema: int) -> None:
    """Two rounds a block, the second 2 µs dearer for all; where one row fails its round goes."""
    plan = synthetic.make_plan(["null_agent", EBPF], [600], 3, rounds=2)
    seen: dict[tuple[Any, ...], int] = {}

    def rounds(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "external":
            key = (trial["block"], trial["arm"], trial["pace"])
            seen[key] = seen.get(key, 0) + 1
            ns = {"null_agent": 5000, EBPF: 5100}[trial["arm"]] + 2000 * seen[key]
            row["work_ns"] = trial["events"] * ns
            if "unattached_ns" in row:
                row["unattached_ns"] = trial["events"] * (5000 + 2000 * seen[key])
            if key == (2, EBPF, "paced") and seen[key] == 1:
                row |= {"status": "invalid", "reason": "stolen"}

    folder = synthetic.write_run(tmp_path / "run", plan, change=rounds, schema=schema)
    found = ns_per_switch(load_run(folder))
    assert len(found) == 6 and np.allclose(found["value"], 100)


def test_a_kernel_timer_is_taken_at_its_own_word(tmp_path: Path) -> None:
    """Nothing else sees it: 0.2 ms in 2 s are 0.01 % of a core, added to the reader.

    That goes for both methods: what kernel statistics say of its programs is not the timer's time.
    """
    plan = synthetic.make_plan(["null_agent", "bpf_timer"], [None], 3, study="gauges")

    def timed(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["arm"] == "bpf_timer" and trial["kind"] == "cost":
            row |= {"kernel_ns": 200_000, "kernel_life_ns": 2_000_000_000}
            if trial["statistics"] == "on":
                row |= {"kernel_ns": 240_000, "bpf_run_ns": 700, "bpf_run_count": 1}

    m = Measures(load_run(synthetic.write_run(tmp_path / "run", plan, change=timed)))
    extra = m.get("headline", "bpf_timer", -1) - m.get("agent", "bpf_timer", -1)
    assert np.allclose(extra, 0.01) and len(extra) == 3
    extra = m.get("published", "bpf_timer", -1) - m.get("agent_on", "bpf_timer", -1)
    assert np.allclose(extra, 0.012) and len(extra) == 3
    assert [e["text"] for e in crosscheck(m)] == [ONE_CLOCK]


def test_a_timer_that_does_not_time_itself_has_no_published_cost(tmp_path: Path) -> None:
    plan = synthetic.make_plan(["null_agent", "bpf_timer"], [None], 3, study="gauges")
    m = Measures(load_run(synthetic.write_run(tmp_path / "run", plan)))
    assert m.get("published", "bpf_timer", -1).empty
    assert "own time is missing" in m.reason("published", "bpf_timer", -1)


def test_the_crosscheck_agrees_or_names_the_gap(tmp_path: Path) -> None:
    def inflate(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if row.get("bpf_run_ns"):
            row["bpf_run_ns"] *= 5

    good = crosscheck(Measures(load_run(synthetic.quick(tmp_path / "a", 12, noise=0.01))))
    bad = crosscheck(Measures(load_run(synthetic.quick(tmp_path / "b", 12, change=inflate))))
    assert {e["arm"] for e in good} == {EBPF, "sched_switch"}
    assert all(abs(e["per_run_gap"].estimate) < 40 for e in good)
    assert all(e["text"].startswith("gap: kernel statistics") and "above" in e["text"] for e in bad)
    assert all(e["per_run_gap"].low > 200 for e in bad)
