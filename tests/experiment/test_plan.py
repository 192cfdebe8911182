"""Plans: complete and independently randomised blocks, declared contrasts, honest estimates."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment import estimate, loads, order, plan, power, presets
from experiment.arms import ArmError
from experiment.layout import CALIBRATED_HOOKS
from experiment.plan import PlanError

BUILT_IN: dict[str, dict[str, Any]] = {
    "null_agent": {"study": "processes", "source": "none"},
    "proc_stat": {"source": "proc", "dump": True},
    "proc_stat_tuned": {"source": "proc", "dump": True},
    "sched_switch_published": {"source": "ebpf", "context": "both", "dump": True},
    "sched_switch": {"source": "ebpf", "context": "both", "dump": True},
    "task_iter": {"source": "ebpf", "context": "own", "dump": True},
    "top": {
        "source": "proc",
        "command": ["top", "-b", "-d", "1"],
        "ready": {"after_s": 1.2},
        "sleeps_per_scrape": 1,
    },
    "psutil_processes": {"source": "proc", "language": "Python", "dump": True},
    "bcc_sched_switch": {
        "source": "ebpf",
        "language": "Python",
        "context": "both",
        "needs": ["bpf", "bcc", "headers"],
        "dump": True,
    },
    "proc_files": {"study": "gauges", "source": "proc", "dump": True},
    "bpf_timer": {
        "study": "gauges",
        "source": "ebpf",
        "context": "others",
        "hook": "timer",
        "dump": True,
    },
    "bpf_on_demand": {"study": "gauges", "source": "ebpf", "context": "own", "dump": True},
}
BUILT_IN |= {
    "sched_switch_cores": {
        "study": "cores",
        "source": "ebpf",
        "context": "others",
        "dump": True,
    },
    "sched_switch_cores_published": {
        "study": "cores",
        "source": "ebpf",
        "context": "others",
        "dump": True,
    },
    "proc_stat_cores": {"study": "cores", "source": "proc", "dump": True},
    "sensor": {"study": "sensor", "source": "ebpf", "context": "both", "dump": True},
    "mpstat": {"study": "cores", "source": "proc", "command": ["mpstat"], "sleeps_per_scrape": 1},
    "top_hidden": {"study": "cores", "source": "proc", "command": ["top"], "sleeps_per_scrape": 1},
}
BUILT_IN |= {
    f"empty_{workload}": {"study": "accounts", "source": "ebpf", "context": "others", "hook": hook}
    for hook, workload in CALIBRATED_HOOKS.items()
}
BUILT_IN["empty_switch_perf"] = BUILT_IN["empty_switch"]


def write_arm(folder: Path, name: str, **keys: Any) -> Path:
    """An arm file that is whole; ``keys`` replace its values."""
    arm: dict[str, Any] = {
        "name": name,
        "study": "processes",
        "title": name,
        "summary": "one sentence",
        "source": "proc",
        "language": "C",
        "question": "CPU time of every process",
        "fields": ["pid"],
        "command": ["{build}/" + name, "--interval-ms", "{interval_ms}"],
    } | keys
    if arm.get("context") in ("others", "both"):
        arm.setdefault("hook", "sched_switch")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(arm), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    for name, keys in BUILT_IN.items():
        write_arm(folder / "bpf" / keys.get("study", "processes"), name, **keys)
    return folder


def make(root: Path, study: str = "processes", preset: str = "quick", **keys: Any) -> Any:
    return plan.build(study, preset, root=root, **keys)


def cells(trials: Any, block: int) -> list[tuple[Any, ...]]:
    return [
        (t["arm"], t["replica"], t["statistics"], t["processes"], *_place(t))
        for t in trials
        if t["block"] == block and t["kind"] in ("cost", "from_start")
    ]


def _place(planned: dict[str, Any]) -> list[int | str]:
    """Of plans that have design points, or scheduler pressure."""
    kind = [planned["kind"]] if planned.get("kind") == "from_start" else []
    return [planned[key] for key in ("point", "stress_threads") if key in planned] + kind


ALL = [(study, name) for study in plan.studies() for name in plan.preset_names(study)]


@pytest.mark.parametrize(("study", "preset"), ALL)
@given(seed=st.integers(0, 2**63 - 1), blocks=st.integers(2, 9))
@settings(max_examples=15, deadline=None)
def test_blocks_are_complete(root: Path, study: str, preset: str, seed: int, blocks: int) -> None:
    made = make(root, study, preset, seed=seed, blocks=blocks)
    trials = made["trials"]
    wanted = sorted(cells(trials, 1), key=str)
    assert len(set(wanted)) == len(wanted) > 0
    assert set(cells(trials, 1 - made["warm_up_blocks"])) <= set(wanted)
    for block in range(1, blocks + 1):
        assert sorted(cells(trials, block), key=str) == wanted
    twin = made["a_a"]
    for replica in (1, 2):
        cell = (twin["arm"], replica, twin["statistics"], twin["processes"], *_place(twin))
        assert cell in wanted
    assert sum(cell[1] == 2 for cell in wanted) == 1
    assert [t["trial"] for t in trials] == list(range(len(trials)))
    for block, group in itertools.groupby(trials, key=lambda t: t["block"]):
        inside = list(group)
        assert [t["position"] for t in inside] == list(range(len(inside)))
        levels = [(t["processes"], t.get("point"), t.get("stress_threads") or 0) for t in inside]
        changes = sum(a != b for a, b in itertools.pairwise(levels))
        assert changes == len(set(levels)) - 1, f"block {block} comes back to a process count"
    assert [t["block"] for t in trials] == sorted(t["block"] for t in trials)
    assert {t["arm"] for t in trials} == set(made["arms"])
    assert json.loads(json.dumps(made)) == made


@pytest.mark.parametrize(("study", "preset"), ALL)
def test_contrasts_are_declared_between_measured_cells(root: Path, study: str, preset: str) -> None:
    made = make(root, study, preset)
    assert 1 <= len(made["contrasts"]) <= 6
    assert len({c["id"] for c in made["contrasts"]}) == len(made["contrasts"])
    measured = set(cells(made["trials"], 1))
    for contrast in made["contrasts"]:
        for side in ("numerator", "denominator"):
            cell = (contrast[side], 1, contrast["statistics"], contrast["processes"])
            assert (*cell, *_place(contrast)) in measured


def test_the_order_of_a_seed_is_fixed_for_ever(root: Path) -> None:
    trials = make(root, seed=7)["trials"]
    keys = ("kind", "arm", "replica", "statistics", "processes")
    first = [tuple(t[key] for key in keys) for t in trials]
    assert first[:9] == ORDER_OF_SEED_7
    assert [order.randbelow(Random(7), 10) for _ in range(3)] == [5, 5, 5]
    assert order.shuffled(range(10), Random(20240601)) == SHUFFLED


SHUFFLED = [9, 5, 0, 6, 4, 2, 8, 3, 7, 1]
ORDER_OF_SEED_7 = [
    ("cost", "proc_stat", 1, "on", 100),
    ("cost", "sched_switch_published", 1, "on", 100),
    ("cost", "proc_stat", 2, "off", 600),
    ("cost", "sched_switch_published", 1, "on", 600),
    ("cost", "sched_switch_published", 1, "off", 600),
    ("cost", "proc_stat", 1, "on", 600),
    ("cost", "null_agent", 1, "off", 600),
    ("cost", "sched_switch", 1, "off", 600),
    ("cost", "proc_stat", 1, "off", 600),
]


def test_same_seed_same_plan_and_other_seed_other_order(root: Path) -> None:
    assert make(root, seed=1) == make(root, seed=1)
    assert make(root, seed=1)["trials"] != make(root, seed=2)["trials"]
    assert plan.plan_hash(make(root, seed=1)) != plan.plan_hash(make(root, seed=2))


def test_blocks_are_ordered_independently(root: Path) -> None:
    trials = make(root, preset="paper")["trials"]
    orders = [tuple(cells(trials, block)) for block in range(13)]
    assert len(set(orders)) == 13
    first_levels = {o[0][3] for o in orders}
    assert first_levels == {100, 600}


def test_more_blocks_keep_the_order_of_the_first_ones(root: Path) -> None:
    few, many = make(root, blocks=3)["trials"], make(root, blocks=8)["trials"]
    for block in range(4):
        assert cells(few, block) == cells(many, block)


@given(items=st.integers(1, 8), seed=st.integers(0, 2**32))
def test_shuffling_keeps_every_item(items: int, seed: int) -> None:
    assert sorted(order.shuffled(range(items), Random(seed))) == list(range(items))


def test_every_order_is_equally_likely() -> None:
    random = Random(3)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(6000):
        drawn = tuple(order.shuffled((0, 1, 2), random))
        counts[drawn] = counts.get(drawn, 0) + 1
    assert len(counts) == 6
    # Chi-squared on 5 degrees of freedom; 20.5 is its 99.9 % point.
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 20.5


def test_warm_up_is_a_block_of_its_own(root: Path) -> None:
    made = make(root)
    warm = [t for t in made["trials"] if t["block"] == 0]
    assert {t["window_s"] for t in warm} == {1.0}
    assert {t["kind"] for t in warm} == {"cost"}
    assert {t["window_s"] for t in made["trials"] if t["block"] == 1 and t["kind"] == "cost"} == {2}


def test_article_follows_the_published_protocol(root: Path) -> None:
    made = make(root, preset="article")
    cost = [t for t in made["trials"] if t["kind"] == "cost"]
    runs = [t for t in cost if (t["arm"], t["replica"], t["processes"]) == ("proc_stat", 1, 600)]
    assert [t["window_s"] for t in runs] == [20.0] * 8
    assert {t["statistics"] for t in cost} == {"on"}


@pytest.mark.parametrize("preset", ["quick", "paper", "scaling"])
def test_external_trials_include_one_of_nothing(root: Path, preset: str) -> None:
    made = make(root, preset=preset)
    outside = {arm for arm, a in made["arms"].items() if a["context"] in ("others", "both")}
    for block in range(1, made["blocks"] + 1):
        external = [t for t in made["trials"] if t["block"] == block and t["kind"] == "external"]
        for pace in ("hot", "paced"):
            arms = [t["arm"] for t in external if t["pace"] == pace]
            complete = len(outside) + 1
            rounds = [arms[n : n + complete] for n in range(0, len(arms), complete)]
            assert rounds and all(sorted(r) == sorted([*outside, "null_agent"]) for r in rounds)
        positions = [t["position"] for t in external]
        assert positions == list(range(positions[0], positions[0] + len(positions)))
        assert {t["statistics"] for t in external} == {"off"}
        assert {t["workload"] for t in external} == {"switch"}


def by_hook(made: dict[str, Any], listed: Sequence[str]) -> list[list[str]]:
    """Arms of each event that is counted out."""
    found = [[a for a in listed if made["arms"][a]["hook"] == hook] for hook in CALIBRATED_HOOKS]
    return [arms for arms in found if arms]


@pytest.mark.parametrize("preset", plan.preset_names("accounts"))
@given(seed=st.integers(0, 2**63 - 1), blocks=st.integers(2, 4))
@settings(max_examples=3, deadline=None)
def test_accounts_put_each_program_on_its_event_beside_nothing(
    root: Path, preset: str, seed: int, blocks: int
) -> None:
    made = make(root, "accounts", preset, seed=seed, blocks=blocks)
    listed = presets.load()[1]["accounts"][preset].external
    assert listed is not None and listed.arms is not None
    trials = [t for t in made["trials"] if t["kind"] == "external"]
    by_block: dict[int, Any] = {}
    for trial in trials:
        by_block.setdefault(trial["block"], []).append(trial)
    assert len(by_block) == (listed.blocks or blocks)
    for found in by_block.values():
        keys = ("workload", "statistics", "pace")
        groups = [
            ([t["arm"] for t in group], dict(zip(keys, key, strict=True)))
            for key, group in itertools.groupby(found, key=lambda t: [t[k] for k in keys])
        ]
        rounds = listed.hot.rounds + listed.paced.rounds
        assert len(groups) <= rounds * len(CALIBRATED_HOOKS) * 2  # equal neighbours are one group
        for arms, condition in groups:
            hooks = [hook for hook, w in CALIBRATED_HOOKS.items() if w == condition["workload"]]
            wanted = [*(a for a in listed.arms if made["arms"][a]["hook"] in hooks), "null_agent"]
            together = [arms[n : n + len(wanted)] for n in range(0, len(arms), len(wanted))]
            assert all(sorted(beside) == sorted(wanted) for beside in together)
        for name, pace in (("hot", listed.hot), ("paced", listed.paced)):
            mine = [t for t in found if t["pace"] == name]
            each = sum(len(layout_arms) + 1 for layout_arms in by_hook(made, listed.arms))
            assert len(mine) == pace.rounds * 2 * each
            assert all(t["events"] == pace.events[t["workload"]] for t in mine)


@pytest.mark.parametrize("preset", plan.preset_names("accounts"))
@given(blocks=st.integers(2, 4))
@settings(max_examples=3, deadline=None)
def test_accounts_hold_every_collector_against_every_load(
    root: Path, preset: str, blocks: int
) -> None:
    made = make(root, "accounts", preset, blocks=blocks)
    listed = presets.load()[1]["accounts"][preset].fidelity
    assert listed.arms is not None and set(listed.workloads) <= set(loads.KNOWN_USE)
    assert preset == "exact" or len(listed.workloads) == len(loads.KNOWN_USE)
    wanted = sorted(itertools.product(listed.arms, listed.workloads))
    trials = [t for t in made["trials"] if t["kind"] == "fidelity"]
    assert trials == made["trials"][-len(trials) :]
    for block in range(blocks + 1, blocks + 1 + listed.blocks):
        found = [(t["arm"], t["workload"]) for t in trials if t["block"] == block]
        assert sorted(found) == wanted
    assert len(trials) == listed.blocks * len(wanted)
    children = {t.get("children") for t in trials if t["workload"] == "children"}
    assert children == ({listed.children} if "children" in listed.workloads else set())


def test_accounts_measure_the_arms_of_processes_and_nobody_else_theirs(root: Path) -> None:
    made = make(root, "accounts", arms=["null_agent", "proc_stat", "empty_open"])
    assert set(made["arms"]) == {"null_agent", "proc_stat", "empty_open"}
    assert {t["arm"] for t in made["trials"] if t["kind"] == "cost"} == {"null_agent"}
    external = [t for t in made["trials"] if t["kind"] == "external"]
    assert {t["workload"] for t in external} == {"open"}
    with pytest.raises(ArmError, match="belongs to study accounts, not to processes"):
        make(root, arms=["empty_open"])


def test_an_event_that_no_row_counts_is_said(root: Path, tmp_path: Path) -> None:
    mine = write_arm(tmp_path, "opens", source="ebpf", context="others", hook="openat")
    made = make(root, arms=["proc_stat", str(mine)])
    assert any("opens: no row counts the events of openat" in note for note in made["notes"])
    external = [t for t in made["trials"] if t["kind"] == "external"]
    assert {t["workload"] for t in external} == {"open"}


def test_external_trials_spread_over_the_run(root: Path) -> None:
    made = make(root, preset="smoke", blocks=8)
    with_external = {t["block"] for t in made["trials"] if t["kind"] == "external"}
    assert with_external == {1}


def test_fidelity_comes_last_once_per_arm_that_dumps(root: Path) -> None:
    made = make(root)
    fidelity = [t for t in made["trials"] if t["kind"] == "fidelity"]
    assert fidelity == made["trials"][-len(fidelity) :]
    assert {t["block"] for t in fidelity} == {made["blocks"] + 1}
    assert sorted(t["arm"] for t in fidelity) == [
        "proc_stat",
        "sched_switch",
        "sched_switch_published",
    ]


def test_an_event_no_workload_counts_is_said(root: Path) -> None:
    made = make(root, "gauges")
    assert not [t for t in made["trials"] if t["kind"] == "external"]
    assert any("bpf_timer" in note and "timer" in note for note in made["notes"])


# Budgets


def test_an_exact_plan_is_a_boot_a_block_and_has_empty_windows(root: Path) -> None:
    made = make(root, preset="quick", backend="exact", present=300)
    assert made["guest"] == "6.1-x86_64" and made["warm_up_blocks"] == 0
    blocks = sorted({trial["block"] for trial in made["trials"]})
    assert blocks[0] == 1 and [entry["block"] for entry in made["perturbations"]] == blocks
    for block in range(1, made["blocks"] + 1):
        trials = [trial for trial in made["trials"] if trial["block"] == block]
        empty = [trial for trial in trials if trial["kind"] == "empty"]
        assert {trial["arm"] for trial in empty} == {"none"}
        assert sorted(t["processes"] for t in empty) == sorted({t["processes"] for t in trials})
    assert "none" not in made["arms"]
    assert made == make(root, preset="quick", backend="exact", present=7), "whatever runs here"
    here = make(root, preset="quick")
    assert not {"guest", "perturbations"} & set(here)
    assert not [trial for trial in here["trials"] if trial["kind"] == "empty"]
    with pytest.raises(PlanError, match="only the backend exact"):
        make(root, preset="quick", guest="6.1-aarch64")


def test_budgets(root: Path) -> None:
    def minutes(study: str, preset: str) -> float:
        return float(make(root, study, preset)["estimate"]["minutes"])

    assert minutes("processes", "quick") + minutes("gauges", "quick") <= 5
    assert minutes("processes", "paper") <= 40
    assert minutes("processes", "scaling") <= 16
    assert minutes("processes", "smoke") <= 1 / 3
    assert minutes("gauges", "smoke") <= 1 / 3
    assert minutes("accounts", "quick") <= 4
    assert minutes("accounts", "paper") <= 25
    assert minutes("accounts", "smoke") <= 1 / 2
    assert make(root, preset="exact", backend="exact")["estimate"]["minutes"] <= 5
    assert make(root, preset="paper")["blocks"] >= 12
    assert make(root, preset="quick")["estimate"]["smallest_adjusted_p"] < 0.05
    levels = make(root, preset="scaling")["process_counts"]
    assert (min(levels), max(levels)) == (60, 5000)


def test_minutes_add_up() -> None:
    arm = {"ready": "fd3", "needs": [], "language": "C"}
    slow = arm | {"ready": {"after_s": 2}}
    bcc = arm | {"needs": ["bcc"], "language": "Python"}
    cost = {"kind": "cost", "processes": None, "interval_ms": 1000, "window_s": 6.0, "arm": "a"}
    assert estimate.trial_seconds(cost, arm) == pytest.approx(0.1 + 0.5 + 6)
    assert estimate.trial_seconds(cost, slow) == pytest.approx(2 + 0.1 + 0.5 + 6)
    assert estimate.trial_seconds(cost, bcc) == pytest.approx(1.5 + 0.1 + 0.5 + 6)
    hot = {"kind": "external", "pace": "hot", "events": 100_000}
    assert estimate.trial_seconds(hot, arm) == pytest.approx(0.1 + 5 * 0.5)
    paced = {"kind": "external", "pace": "paced", "events": 100}
    assert estimate.trial_seconds(paced, arm) == pytest.approx(0.1 + 5 * 50 * 0.0101)
    execs = {"kind": "external", "workload": "exec", "pace": "paced", "events": 100}
    assert estimate.trial_seconds(execs, arm) == pytest.approx(0.1 + 5 * 100 * 0.011)
    children = {"kind": "fidelity", "workload": "children", "interval_ms": 1000, "window_s": 3}
    assert estimate.trial_seconds(children, arm) == pytest.approx(0.1 + 200 * 0.05 / 2 + 1.6)
    busy = cost | {"processes": 1000}
    seconds = 60 * estimate.minutes([busy, busy, cost], {"a": arm})
    assert seconds == pytest.approx(3 * 6.6 + 0.1 + 0.2)


@given(minutes=st.floats(4, 60))
@settings(max_examples=20, deadline=None)
def test_minutes_buy_as_many_blocks_as_fit(root: Path, minutes: float) -> None:
    made = make(root, minutes=minutes)
    assert made["estimate"]["minutes"] <= minutes + 0.005
    more = make(root, blocks=made["blocks"] + 1)
    assert more["estimate"]["minutes"] > minutes - 0.005


def test_too_few_minutes_name_the_least(root: Path) -> None:
    with pytest.raises(PlanError, match=r"two blocks, the fewest, take \d"):
        make(root, minutes=0.1)


# What a plan can decide


def test_smallest_p() -> None:
    assert power.smallest_p(6) == 0.03125
    assert power.smallest_p(5) == 0.0625
    assert power.smallest_adjusted_p(6, 2) == 0.0625
    assert power.smallest_adjusted_p(2, 6) == 1
    assert power.smallest_adjusted_p(12, 0) is None


def test_smallest_p_is_what_the_test_gives() -> None:
    differences = [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]
    observed = abs(sum(differences))
    flips = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=6)
    ]
    p = sum(flip >= observed - 1e-12 for flip in flips) / len(flips)
    assert p == power.smallest_p(6)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 7, 11, 30, 200])
@pytest.mark.parametrize("probability", [0.5, 0.6, 0.8, 0.9, 0.975, 0.99, 0.9958])
def test_t_quantile(degrees: int, probability: float) -> None:
    from scipy import stats

    wanted = float(stats.t.ppf(probability, degrees))
    assert power.t_quantile(probability, degrees) == pytest.approx(wanted, rel=2e-3, abs=1e-3)


def test_smallest_effect(root: Path) -> None:
    # t(11): 2.2010 at .975, 0.8755 at .8; sd 10 % and twelve blocks.
    # of 2,048 pairs of patterns 102 lie below 5 %: t(11, 1 - 102/4096) + t(11, .8) = 3.079
    assert power.smallest_effect(10, 12, 1) == pytest.approx(3.079 * 10 / 12**0.5, rel=3e-3)
    # with the fewest blocks all signs must agree: Phi(1.793)^6 = .8
    assert power.smallest_effect(10, 6, 1) == pytest.approx(17.93, rel=1e-3)
    assert power.smallest_effect(10, 5, 1) is None


@pytest.mark.parametrize(("x", "y", "r"), [(0.04, 0.6, -0.3), (0.06, 0.04, 0.9), (0.0, 0.2, 0.0)])
def test_the_half_width_is_that_of_fiellers_interval(x: float, y: float, r: float) -> None:
    import numpy as np

    from analysis.statistics.intervals import fieller

    # twelve pairs with exactly these moments, and without a skew
    half_of_them = np.random.default_rng(1).normal(size=(2, 6))
    z = np.hstack([half_of_them, -half_of_them])
    z = np.linalg.solve(np.linalg.cholesky(np.cov(z)), z)
    a, b = 1 + x * z[0], 3 + 3 * y * (r * z[0] + (1 - r * r) ** 0.5 * z[1])
    found = fieller(a, b)
    half = (found.high - found.low) / 2 / found.estimate
    assert power.ratio_half_width(x, y, r, 12) == pytest.approx(half, rel=4e-3)


def test_a_denominator_that_scatters_too_much_has_no_half_width() -> None:
    assert power.ratio_half_width(0.05, 1.0, 0.0, 6) is None
    assert power.ratio_half_width(0.05, 1.0, 0.0, 8) is not None
    assert power.ratio_half_width(0.05, 0.1, 0.0, 1) is None


@given(st.floats(0.01, 1), st.floats(0.01, 1), st.floats(-0.9, 0.9), st.floats(0.02, 1))
@settings(max_examples=50, deadline=None)
def test_blocks_for_half_width_are_the_fewest(x: float, y: float, r: float, wanted: float) -> None:
    blocks = power.blocks_for_half_width(x, y, r, wanted)
    if blocks is None:
        reached = power.ratio_half_width(x, y, r, 1000)
        assert reached is not None and reached > wanted
        return
    reached = power.ratio_half_width(x, y, r, blocks)
    before = power.ratio_half_width(x, y, r, blocks - 1)
    assert reached is not None and reached <= wanted
    assert before is None or before > wanted


def test_a_plan_that_cannot_decide_says_so(root: Path) -> None:
    assert any("cannot reach p" in note for note in make(root, preset="scaling")["notes"])
    assert not any("cannot reach p" in note for note in make(root)["notes"])


# Overrides


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"blocks": 1}, "blocks = 1: must be a whole number from 2"),
        ({"blocks": True}, "blocks = True"),
        ({"blocks": "6"}, "blocks = '6'"),
        ({"seed": -1}, "seed = -1"),
        ({"seed": 1.0}, "seed = 1.0"),
        ({"interval_ms": 5}, "interval_ms = 5: must be a whole number from 10"),
        ({"window_s": 2.5}, "window_s = 2.5: must be a whole number of 1000 ms intervals"),
        ({"window_s": 0}, "window_s = 0"),
        ({"window_s": float("nan")}, "window_s = nan"),
        ({"window_s": float("inf")}, "window_s = inf"),
        ({"process_counts": []}, "process_counts = "),
        ({"process_counts": [100, "600"]}, "process_counts = '600'"),
        ({"process_counts": 600}, "process_counts = 600"),
        ({"minutes": -1}, "minutes = -1"),
        ({"minutes": 5, "blocks": 6}, "not both"),
        ({"arms": []}, "arms = "),
        ({"arms": "proc_stat"}, "arms = 'proc_stat'"),
    ],
)
def test_bad_parameters_are_one_clear_line(root: Path, keys: Any, words: str) -> None:
    with pytest.raises(PlanError) as caught:
        make(root, **keys)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_names_list_the_known_ones(root: Path) -> None:
    with pytest.raises(
        PlanError,
        match="unknown study 'proceses'; known are processes, gauges, accounts, crossover",
    ):
        make(root, "proceses")
    with pytest.raises(PlanError, match="unknown preset 'fast'; processes knows quick"):
        make(root, preset="fast")
    with pytest.raises(ArmError, match="unknown arm 'proc_sta'; processes knows"):
        make(root, arms=["proc_sta"])


def test_interval_lengthens_windows_to_whole_scrapes(root: Path) -> None:
    made = make(root, interval_ms=1500)
    for trial in made["trials"]:
        if trial["kind"] != "external":
            assert (trial["window_s"] * 1000) % 1500 == 0
    assert any("window lengthened" in note for note in made["notes"])
    assert make(root, interval_ms=500)["notes"] == make(root)["notes"]


def test_own_process_counts_change_nothing(root: Path) -> None:
    assert make(root, process_counts=[600, 100]) == make(root)


@given(counts=st.lists(st.integers(1, 5000), min_size=1, max_size=4, unique=True))
@settings(max_examples=30, deadline=None)
def test_other_process_counts(root: Path, counts: list[int]) -> None:
    made = make(root, process_counts=counts)
    if set(counts) == {100, 600}:
        return
    measured = set(cells(made["trials"], 1))
    assert {level for *_, level in measured} == set(range(20, 5001)) & set(counts) | {
        10 if count < 10 else count for count in counts if count < 20
    }
    for contrast in made["contrasts"]:
        assert (contrast["numerator"], 1, contrast["statistics"], contrast["processes"]) in measured
    assert made["a_a"]["processes"] in {level for *_, level in measured}


def test_counts_that_cannot_be_reached_are_raised_and_said(root: Path) -> None:
    made = make(root, preset="scaling", present=118)
    assert made["process_counts"] == [130, 250, 500, 1000, 2000, 5000]
    assert sum("cannot be reached, 118 run already" in note for note in made["notes"]) == 2
    assert len(cells(made["trials"], 1)) == 6 * 4 + 1
    exact = make(root, preset="scaling", present=110)
    assert exact["process_counts"][:2] == [120, 250]


def test_contrasts_that_fall_together_are_declared_once(root: Path) -> None:
    made = make(root, preset="paper", present=700)
    assert made["process_counts"] == [710]
    assert [c["id"] for c in made["contrasts"]] == [
        "proc_vs_published_710",
        "proc_vs_corrected_710",
        "psutil_vs_proc_710",
        "bcc_vs_published_710",
    ]
    assert made["estimate"]["smallest_adjusted_p"] == 4 * 2 / 2**12
    assert made["a_a"]["processes"] == 710
    assert {t["processes"] for t in made["trials"]} == {710}


def test_arms_replace_the_presets(root: Path) -> None:
    made = make(root, preset="paper", arms=["proc_stat", "psutil_processes"])
    assert set(made["arms"]) == {"null_agent", "proc_stat", "psutil_processes"}
    assert [c["id"] for c in made["contrasts"]] == ["psutil_vs_proc_600"]
    assert not [t for t in made["trials"] if t["kind"] == "external"]


def test_a_users_own_arm_is_planned_like_any_other(root: Path, tmp_path: Path) -> None:
    mine = write_arm(tmp_path, "my_agent", source="ebpf", context="both", dump=True)
    made = make(root, arms=["proc_stat", str(mine)])
    assert made["arms"]["my_agent"]["title"] == "my_agent"
    assert made["contrasts"][0]["id"] == "proc_stat_vs_my_agent_600"
    assert "my_agent" in {t["arm"] for t in made["trials"] if t["kind"] == "external"}
    assert "my_agent" in {t["arm"] for t in made["trials"] if t["kind"] == "fidelity"}
    alone = make(root, arms=[str(mine)])
    assert alone["contrasts"] == []
    assert alone["estimate"]["smallest_adjusted_p"] is None
    assert alone["a_a"]["arm"] == "my_agent"


def test_a_new_built_in_arm_joins_without_another_edit(root: Path) -> None:
    new = write_arm(root / "bpf" / "processes", "brand_new", dump=True)
    try:
        made = make(root, preset="smoke")
    finally:
        new.unlink()
    assert ("brand_new", 1, "off", 150) in cells(made["trials"], 1)
    assert "brand_new" in {t["arm"] for t in made["trials"] if t["kind"] == "fidelity"}
    assert any("brand_new" in note for note in made["notes"])


def test_paths_do_not_change_the_hash(root: Path, tmp_path: Path) -> None:
    here = make(root)
    there = make(root, build_dir=tmp_path, python="/elsewhere/python")
    assert here["paths"] != there["paths"]
    assert plan.plan_hash(here) == plan.plan_hash(there)
    assert plan.plan_hash(json.loads(json.dumps(plan.portable(here)))) == plan.plan_hash(here)


def test_what_the_runner_needs_of_a_plan_is_standard_library() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from experiment import estimate, needs, plan_hash;"
        "assert len(plan_hash.plan_hash({})) == 64; assert estimate.minutes([], {}) == 0"
    )
    folder = str(Path(presets.__file__).parents[1])
    subprocess.run([sys.executable, "-I", "-S", "-B", "-c", program, folder], check=True)


# The presets file


def broken(tmp_path: Path, old: str, new: str) -> Path:
    text = Path(presets.__file__).with_name("presets.yaml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "presets.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("      blocks: 7\n", "", "processes/quick: key 'blocks' is missing"),
        ("      blocks: 7\n", "      blocks: six\n", "blocks: 'six' must be int"),
        ("      blocks: 7\n", "      blocks: 7\n      block: 7\n", "unknown key 'block'"),
        ("      blocks: 7\n", "      blocks: 7\n      blocks: 8\n", "is given twice"),
        ("numerator: proc_stat", "numerator: proc_start", "proc_start is not measured"),
        ("statistics: off", "statistics: false", "statistics: False must be str"),
        ("a_a: {arm: proc_stat", "a_a: {arm: nobody", "a_a: is not one of the cells"),
        ("blocks: every", "blocks: some", "blocks: 'some' must be a number or every"),
        ("statistics: [off, on]", "statistics: [off, off]", "statistics: 'off' must be one of"),
        ("workloads: [steady, ", "workloads: [lazy, ", "workloads: 'lazy' must be one of steady"),
        ("        workloads: [steady, bursty", "        workloads: [] #", "must be some of steady"),
        ("switch: 4000, ", "", "external: events: key 'switch' is missing"),
        ("events: {switch", "events: {sleep: 1, switch", "unknown key 'sleep'"),
        ("hot: {rounds: 1, ", "hot: {", "external: hot: key 'rounds' is missing"),
        ("arms: [proc_stat, sched_switch]", "arms: [5]", "arms: 5 must be a list of texts"),
    ],
)
def test_broken_presets_are_one_clear_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(presets.PresetError) as caught:
        presets.load(broken(tmp_path, old, new))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_limits_of_disturbed_blocks_travel_in_the_plan(root: Path) -> None:
    for study, name in ALL:
        made = make(root, study, name)["exclusion"]
        # Nothing disturbs an exact machine; a load that is wanted would be foreign to a block.
        if name == "smoke" or name.startswith("exact") or study == "crossover":
            assert made is None
        else:
            assert made == {"steal_percent_core": 5.0, "foreign_percent_core": 25.0}


@pytest.mark.parametrize(
    ("own", "cause"),
    [
        ("{steal_percent_core: 5}", "key 'foreign_percent_core' is missing"),
        ("{steal_percent_core: 0, foreign_percent_core: 25}", "steal_percent_core: 0.* above 0"),
        ("{steal_percent_core: '5', foreign_percent_core: 25}", "must be int or float or null"),
        ("{steal_percent_core: 5, foreign_percent_core: 25, load: 1}", "unknown key 'load'"),
        ("5", "must be dict or null"),
    ],
)
def test_limits_are_read_strictly(tmp_path: Path, own: str, cause: str) -> None:
    text = Path(presets.__file__).with_name("presets.yaml").read_text(encoding="utf-8")
    whole = "exclusion: {steal_percent_core: 5, foreign_percent_core: 25}"
    assert whole in text
    (tmp_path / "presets.yaml").write_text(text.replace(whole, f"exclusion: {own}"))
    with pytest.raises(presets.PresetError, match=cause):
        presets.load(tmp_path / "presets.yaml")


def test_scheduler_pressure_is_a_place_of_its_own_and_is_named_by_ids(root: Path) -> None:
    made = make(root, "cores", "quick")
    assert [c["id"] for c in made["contrasts"]] == ["top_vs_cores_at_0", "top_vs_cores_at_200"]
    assert [c["stress_threads"] for c in made["contrasts"]] == [0, 200]
    assert made["a_a"]["stress_threads"] == 0
    for block in range(1, made["blocks"] + 1):
        inside = [t for t in made["trials"] if t["block"] == block]
        pressed = [bool(t.get("stress_threads")) for t in inside]
        assert sum(a != b for a, b in itertools.pairwise(pressed)) == 1, "changes once"
        assert all(not t.get("stress_threads") for t in inside if t["kind"] == "external")


def test_every_tool_meets_every_duty_cycle_in_each_block_of_cores(root: Path) -> None:
    made = make(root, "cores", "paper")
    trials = [t for t in made["trials"] if t["kind"] == "cores"]
    arms = {"sched_switch_cores_published", "sched_switch_cores", "top", "top_hidden", "mpstat"}
    arms |= {"proc_stat_cores"}
    blocks = sorted({t["block"] for t in trials})
    assert blocks == list(range(made["blocks"] + 1, made["blocks"] + 5))
    for block in blocks:
        seen = [(t["arm"], t["duty_percent"], t["burst_us"]) for t in trials if t["block"] == block]
        assert len(seen) == len(set(seen)) == len(arms) * 8
        assert {arm for arm, *_ in seen} == arms


def test_chosen_arms_keep_the_other_kinds_of_trials(root: Path) -> None:
    made = make(root, "cores", "quick", arms=["proc_stat_cores", "sched_switch_cores"])
    by_kind = {
        kind: {t["arm"] for t in made["trials"] if t["kind"] == kind}
        for kind in ("cost", "from_start", "cores")
    }
    both = {"proc_stat_cores", "sched_switch_cores"}
    assert by_kind == {"cost": {*both, "null_agent"}, "from_start": both, "cores": both}
    assert made["a_a"]["arm"] in both and made["contrasts"]


def test_every_quick_plan_of_the_cores_ends_within_six_minutes(root: Path) -> None:
    assert make(root, "cores", "quick")["estimate"]["minutes"] <= 6
