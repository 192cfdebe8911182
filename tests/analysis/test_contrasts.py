"""Comparisons and verdicts: equivalence first, stated outcomes for degenerate data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import synthetic
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.contrasts import Comparison, compare, detectable_effect, evaluate, verdict
from analysis.load import load_run
from analysis.measures import Measures
from analysis.statistics.permutation import holm


def series(values: Sequence[float], first: int = 1) -> pd.Series[float]:
    return pd.Series(list(values), index=range(first, first + len(values)), dtype=float)


def finite(c: Comparison) -> bool:
    values = [v for part in (c.numerator, c.denominator, c.difference, c.ratio)
              for v in (part.estimate, part.low, part.high)] + [c.p, c.detectable]  # fmt: skip
    return all(v is None or np.isfinite(v) for v in values)


@pytest.mark.parametrize(
    ("x", "y", "word", "why"),
    [
        ([1.0] * 10, [1.0] * 10, "indistinguishable", "ratio"),
        ([0.04] * 10, [0.041] * 10, "indistinguishable", "ratio"),
        ([0.0] * 6, [0.0] * 6, "indistinguishable", "difference"),
        ([0.001, 0.002, 0.001, 0.002], [0.004, 0.003, 0.004, 0.003], "indistinguishable", "±0.005"),
        ([2.0] * 6, [1.0] * 6, "dearer", "p = 0.031"),
        ([1.0, 1.1, 0.9, 1.0, 1.0, 1.1], [2.0, 2.2, 1.9, 2.1, 2.0, 2.3], "cheaper", "p = 0.031"),
        ([9.0] * 5, [1.0] * 5, "undetermined", "cannot bring p below 0.062"),
        ([9.0], [1.0], "undetermined", "1 block"),
        ([1.0] * 3, [1.0] * 3, "undetermined", "3 blocks"),
        ([1.0] * 4, [1.0] * 4, "indistinguishable", "ratio"),
        ([9.0, 9.0], [1.0, 1.0], "undetermined", "below 0.5"),
        (
            [3.42, 3.3, 3.6, 2.0, 3.4, 4.8],
            [3.37, 3.4, 2.9, 3.3, 3.5, 2.4],
            "undetermined",
            "detectable",
        ),
        ([1.0, 2.0, 1.5, 1.2, 1.1, 1.9], [-0.1, 0.1, -0.2, 0.0, 0.1, -0.1], "dearer", "p"),
    ],
)
def test_verdicts(x: list[float], y: list[float], word: str, why: str) -> None:
    c = compare(series(x), series(y))
    found = verdict(c, c.p)
    assert found[0] == word and why in found[1]
    assert finite(c)


def test_equivalence_comes_before_significance() -> None:
    """A difference that is certain and too small to matter is indistinguishable."""
    y = 1 + 0.001 * np.arange(12)
    c = compare(series(list(1.05 * y)), series(list(y)))
    assert c.p is not None and c.p < 0.001
    assert verdict(c, c.p)[0] == "indistinguishable"


# Everything a cell can hold: ordinary, constant, zero, net costs below zero, huge and tiny.
value = st.one_of(
    st.floats(-1, 5), st.sampled_from([0.0, 1.0, -1.0, 1e-300, 1e12]), st.floats(-1e-9, 1e-9)
)
constant = st.tuples(value, st.integers(0, 8)).map(lambda pair: [pair[0]] * pair[1])
cell = st.one_of(st.lists(value, max_size=8), constant)


@given(cell, cell, st.integers(1, 6), st.integers(0, 9))
@settings(max_examples=150)
def test_no_input_gives_nan_or_a_traceback(
    x: list[float], y: list[float], family: int, excluded: int
) -> None:
    c = compare(series(x), series(y), family=family)
    assert finite(c)
    assert c.ratio.low is not None or c.ratio.high is not None or c.ratio.note
    if c.blocks:
        word, why = verdict(c, holm([c.p] + [None] * (family - 1))[0], family, excluded)
        assert len(c.blocks) >= 4 or word != "indistinguishable"
        assert word in ("indistinguishable", "cheaper", "dearer", "undetermined") and why
        assert "nan" not in why


@given(st.lists(st.tuples(st.floats(0.01, 5), st.floats(0.01, 5)), min_size=2, max_size=10))
def test_swapping_the_arms_mirrors_the_verdict(data: list[tuple[float, float]]) -> None:
    x, y = (series([pair[i] for pair in data]) for i in (0, 1))
    forth, back = compare(x, y), compare(y, x)
    assert forth.p == back.p
    mirror = {"cheaper": "dearer", "dearer": "cheaper"}
    one, other = verdict(forth, forth.p)[0], verdict(back, back.p)[0]
    # 0.9 and 1.1 are not each other's inverse, so that equivalence alone can differ.
    if "indistinguishable" not in (one, other):
        assert mirror.get(one, one) == other


def test_a_spread_beyond_what_was_validated_leaves_the_ratio_undetermined() -> None:
    """The test still decides which is dearer; the interval of the ratio is withheld."""
    x, y = [26.0, 25.0, 27.0, 26.0, 25.5, 26.5], [0.3, 0.4, 0.3, 0.5, 0.4, 4.0]
    c = compare(series(x), series(y))
    assert (c.ratio.low, c.ratio.high) == (None, None) and c.ratio.estimate is not None
    assert c.ratio.note == (
        "undetermined: a spread of 150 % of the mean over 6 blocks; 20 blocks would do"
    )
    assert verdict(c, c.p)[0] == "dearer"
    more = compare(series(x * 4), series(y * 4))
    assert more.ratio.low is not None and more.ratio.high is not None


def test_blocks_without_a_partner_are_dropped_and_counted() -> None:
    x, y = series([1.0, 1.1, 1.2, 1.3]), series([2.0, 2.1, 2.2], first=3)
    c = compare(x, y)
    assert c.blocks == (3, 4) and c.dropped == 3


def test_pairing_by_block_finds_the_effect_under_a_drift() -> None:
    drift = np.linspace(0, 5, 12)
    noise = np.random.default_rng(1).normal(0, 0.1, 12)
    c = compare(series(list(drift + 1 + noise)), series(list(drift)))
    assert verdict(c, c.p)[0] == "dearer" and c.p == pytest.approx(2 / 2**12)
    assert c.difference.low is not None and 0.9 < c.difference.low < 1.0


def test_the_detectable_effect_is_detected_four_times_in_five() -> None:
    """A shift by the stated effect is found in 80 % of simulated runs (± 6 points)."""
    random, n, sd = np.random.default_rng(11), 12, 0.02
    found = hits = 0
    typical = [detectable_effect(random.normal(0, sd, n)) for _ in range(500)]
    effect = float(np.mean([t for t in typical if t is not None]))
    for _ in range(400):
        d = random.normal(effect, sd, n)
        c = compare(series(list(1 + d)), series([1.0] * n))
        found += 1
        hits += c.p is not None and c.p < 0.05
    assert 0.74 <= hits / found <= 0.88


def test_the_detectable_effect_is_out_of_reach_with_few_blocks() -> None:
    d = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert detectable_effect(d) is None
    assert detectable_effect(np.append(d, 6.0)) is not None
    assert detectable_effect(np.append(d, 6.0), family=2) is None


def run_with(tmp_path: Path, **options: Any) -> Measures:
    blocks = options.pop("blocks", 6)
    return Measures(load_run(synthetic.quick(tmp_path / "run", blocks, **options)))


def test_declared_contrast_of_a_run(quick_run: Path) -> None:
    entry = evaluate(Measures(load_run(quick_run)))[0]
    c = entry["comparison"]
    assert entry["verdict"] == "dearer" and entry["measure"] == "headline"
    assert c.ratio.low < 10 < c.ratio.high
    net = entry["others"]["headline_net"]
    assert net.difference.estimate == pytest.approx(c.difference.estimate)
    assert net.p == c.p and net.ratio.estimate > c.ratio.estimate


def test_an_arm_that_cannot_load_is_unavailable_with_the_kernels_reason(tmp_path: Path) -> None:
    entry = evaluate(run_with(tmp_path, unavailable=["sched_switch_published"]))[0]
    assert entry["verdict"] == "unavailable" and synthetic.REFUSED in entry["why"]
    assert entry["comparison"] is None and entry["p_adjusted"] is None


def test_all_arms_unavailable(tmp_path: Path) -> None:
    entry = evaluate(run_with(tmp_path, unavailable=synthetic.PROCESSES))[0]
    assert entry["verdict"] == "unavailable" and entry["others"] == {}


def test_an_invalid_row_drops_its_block_from_the_pair_only(tmp_path: Path) -> None:
    def spoil(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if (trial["kind"], trial["arm"], trial["block"]) == ("cost", "proc_stat", 2):
            row |= {"status": "invalid", "reason": "program id reused"}

    entry = evaluate(run_with(tmp_path, change=spoil))[0]
    assert entry["comparison"].blocks == (1, 3, 4, 5, 6) and entry["comparison"].dropped == 1


def test_two_instruments_are_never_compared(tmp_path: Path) -> None:
    def other(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "cost" and trial["arm"] == "proc_stat":
            row["instrument"] = "schedstat"

    entry = evaluate(run_with(tmp_path, change=other))[0]
    assert entry["verdict"] == "unavailable" and "two instruments" in entry["why"]


def test_a_collector_that_is_wrong_is_not_called_dearer_or_cheaper(tmp_path: Path) -> None:
    def wrong(row: dict[str, Any], trial: dict[str, Any]) -> None:
        if trial["kind"] == "fidelity" and trial["arm"] == "sched_switch_published":
            row["reported_ns"] = round(row["known_ns"] * 0.95)

    entry = evaluate(run_with(tmp_path, change=wrong))[0]
    assert entry["comparison"].p < 0.05 and entry["verdict"] == "undetermined"
    assert entry["why"] == ("eBPF, published fails its fidelity trial: reported/known − 1 = −5.0 %")


def test_holm_goes_over_the_declared_family(tmp_path: Path) -> None:
    plan = synthetic.make_plan(
        synthetic.PROCESSES,
        [100, 600],
        7,
        contrasts=[synthetic.contrast("proc_stat", "sched_switch", level) for level in (100, 600)],
    )
    found = evaluate(Measures(load_run(synthetic.write_run(tmp_path / "run", plan))))
    assert [e["comparison"].p for e in found] == [2 / 128] * 2
    assert [e["p_adjusted"] for e in found] == [4 / 128] * 2
