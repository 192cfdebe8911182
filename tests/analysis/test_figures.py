"""Figures: the same bytes in another process, numbers before ink, and nothing cut off."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
import synthetic
import synthetic_accounts as accounts
from matplotlib.axes import Axes
from matplotlib.text import Text

from analysis.figures import kinds as figures
from analysis.figures import style
from analysis.load import load_run
from analysis.results import Results, compute

OF_COSTS = [kind for kind in figures.KINDS if kind.name in figures.OF_COSTS]


@pytest.fixture(scope="module")
def results(quick_run: Path) -> Results:
    return compute(load_run(quick_run))


@pytest.fixture(scope="module")
def drawn(processed: tuple[dict[str, object], Path]) -> Path:
    return processed[1] / "figures"


def test_every_figure_comes_in_all_forms(drawn: Path) -> None:
    names = {p.name for p in drawn.iterdir()}
    for kind in OF_COSTS:
        expected = {f"{kind.name}.csv", f"{kind.name}.caption.txt", f"{kind.name}.alt.txt"}
        expected |= {f"{kind.name}-{w}.{s}" for w in style.WIDTHS for s in ("svg", "pdf", "png")}
        assert expected <= names


def test_text_stays_text_and_nothing_is_dated(drawn: Path) -> None:
    for path in drawn.glob("*.svg"):
        svg = path.read_text()
        assert "<text" in svg and "percent" not in path.name
        assert "<dc:date>" not in svg and "Matplotlib" not in svg
    for path in drawn.glob("*.pdf"):
        pdf = path.read_bytes()
        assert b"/FontType 42" in pdf or b"/CIDFontType2" in pdf
        assert b"/Type3" not in pdf and b"CreationDate" not in pdf
    for path in drawn.glob("*.png"):
        width = int.from_bytes(path.read_bytes()[16:20], "big")
        assert width in (round(3.33 * 300), 2100)


def test_units_stand_on_the_axes_and_no_title_is_burned_in(drawn: Path) -> None:
    for name in ("table_points", "cost_vs_processes", "run_strips"):
        assert "(% of one core)" in (drawn / f"{name}-7in.svg").read_text()
    assert "processes on the machine" in (drawn / "cost_vs_processes-7in.svg").read_text()
    assert "(%)" in (drawn / "where_cost_arises-7in.svg").read_text()
    for path in drawn.glob("*.svg"):
        assert "synthetic CPU" not in path.read_text() and "2024-06-01" not in path.read_text()


def test_captions_name_machine_date_n_and_bars(drawn: Path) -> None:
    for kind in OF_COSTS:
        text = (drawn / f"{kind.name}.caption.txt").read_text()
        assert (
            "synthetic CPU, Linux 6.1.0-synthetic, x86_64; 2024-06-01; n = 6 blocks of 2 s." in text
        )
        assert "SYNTHETIC data" in text
    assert "95 % t intervals" in (drawn / "table_points.caption.txt").read_text()
    alt = (drawn / "table_points.alt.txt").read_text()
    assert "/proc polling at 600 processes, headline:" in alt


def test_the_csv_holds_what_is_drawn(drawn: Path, results: Results) -> None:
    with open(drawn / "table_points.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    blocks = [r for r in rows if r["kind"] == "block" and r["arm"] == "proc_stat"]
    assert len(blocks) == 2 * 2 * 6  # levels, methods, blocks
    mean = [r for r in rows if r["kind"] == "mean" and r["method"] == "headline"]
    wanted = results.interval("headline", "proc_stat", 600)
    found = next(r for r in mean if (r["arm"], r["processes"]) == ("proc_stat", "600"))
    assert float(found["value"]) == pytest.approx(wanted.estimate, rel=1e-5)
    assert float(found["low"]) == pytest.approx(wanted.low, rel=1e-5)


def test_numbers_are_on_disk_before_anything_is_drawn(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(figure: object) -> dict[str, bytes]:
        raise RuntimeError("no font")

    monkeypatch.setattr(figures, "render", broken)
    with pytest.raises(RuntimeError):
        figures.make(results, tmp_path)
    names = {p.name for p in tmp_path.iterdir()}
    assert names == {"table_points.csv", "table_points.caption.txt", "table_points.alt.txt"}


def odd_runs() -> dict[str, dict[str, object]]:
    ten = [a for a in synthetic.ARMS if a not in ("proc_files", "bpf_timer")]
    gauges = ["null_agent", "proc_files", "bpf_timer", "bpf_on_demand"]
    return {
        "ten arms": {"plan": synthetic.make_plan(ten, [100, 600], 3)},
        "one arm": {"plan": synthetic.make_plan(["proc_stat"], [600], 3)},
        "one block": {"plan": synthetic.make_plan(synthetic.PROCESSES, [100, 600], 1)},
        "none available": {
            "plan": synthetic.make_plan(synthetic.PROCESSES, [600], 2),
            "unavailable": synthetic.PROCESSES,
        },
        "gauges": {
            "plan": synthetic.make_plan(gauges, [None], 3, study="gauges"),
            "unavailable": ["bpf_timer", "bpf_on_demand"],
        },
        "accounts": {
            "plan": accounts.plan(1),
            "write": accounts.write,
            "unavailable": ["sched_switch", "empty_open"],
            "kinds": [kind for kind in figures.KINDS if kind not in OF_COSTS],
        },
    }


def labels_of(ax: Axes) -> list[Text]:
    ticks = [*ax.get_xticklabels(), *ax.get_yticklabels()]
    titles = [child for child in ax.get_children() if isinstance(child, Text)]  # left ones too
    return [ax.xaxis.label, ax.yaxis.label, *titles, *ticks]


@pytest.mark.parametrize("name", odd_runs())
def test_nothing_is_cut_off_or_overlaps(name: str, tmp_path: Path) -> None:
    """Every label lies inside the canvas, and no label of an axis touches the legend."""
    options = odd_runs()[name]
    write: Any = options.pop("write", synthetic.write_run)
    kinds: Any = options.pop("kinds", figures.KINDS)
    folder = write(tmp_path / "run", options.pop("plan"), **options)
    results = compute(load_run(folder))
    for kind in kinds:
        rows = kind.plotted(results) if kind.applies(results) else []
        if not any(row.get("value") is not None for row in rows):
            continue
        for width in style.WIDTHS.values():
            with style.in_style():
                figure = kind.draw(results, rows, width)
                figure.draw_without_rendering()
                canvas = figure.bbox
                legend = figure.legends[0].get_window_extent()
                labels = [label for ax in figure.axes for label in labels_of(ax)]
                boxes = [t.get_window_extent() for t in labels if t.get_visible() and t.get_text()]
                for box in [*boxes, legend]:
                    assert box.x0 >= -1 and box.x1 <= canvas.x1 + 1, (kind.name, width)
                    assert box.y0 >= -1 and box.y1 <= canvas.y1 + 1, (kind.name, width)
                assert not any(legend.overlaps(box) for box in boxes), (kind.name, width)
                for ax in figure.axes:
                    ticks = [t for t in ax.get_xticklabels() if t.get_visible() and t.get_text()]
                    ends = sorted((b.x0, b.x1) for b in (t.get_window_extent() for t in ticks))
                    apart = [a[1] < b[0] for a, b in zip(ends, ends[1:], strict=False)]
                    assert all(apart), (kind.name, width)


@pytest.mark.usefixtures("svg_alone")
def test_unavailable_arms_are_rows_with_a_reason_and_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = synthetic.quick(tmp_path / "run", unavailable=["sched_switch"])
    monkeypatch.setattr(figures, "KINDS", figures.KINDS[:1])
    figures.make(compute(load_run(folder)), tmp_path / "out")
    with open(tmp_path / "out" / "table_points.csv", newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["arm"] == "sched_switch"]
    assert {r["kind"] for r in rows} == {"unavailable"}
    assert all(r["value"] == "" and synthetic.REFUSED in r["reason"] for r in rows)
    svg = (tmp_path / "out" / "table_points-7in.svg").read_text()
    assert len(re.findall(">unavailable<", svg)) == 2
    assert synthetic.REFUSED in (tmp_path / "out" / "table_points.caption.txt").read_text()


def test_colour_and_marker_tell_ten_arms_apart() -> None:
    class Run:
        arms = {a: synthetic.arm_yaml(a) for a in synthetic.ARMS if not a.startswith("bpf_")}

    made = style.looks(Run())  # type: ignore[arg-type]
    assert len({(look.colour, look.marker) for look in made.values()}) == len(made)


def test_a_figure_of_truth_is_made_only_for_a_run_that_put_it_to_the_test(
    results: Results,
) -> None:
    assert not any(kind.applies(results) for kind in figures.KINDS if kind not in OF_COSTS)


@pytest.mark.usefixtures("no_ink")
def test_what_the_figures_of_truth_say(tmp_path: Path) -> None:
    """CSV, caption and alt text hold every account and every load, missing ones with the reason."""
    options = {"unavailable": ["sched_switch"]}
    whole = compute(load_run(accounts.write(tmp_path / "run", accounts.plan(2), **options)))
    assert {kind.name for kind in figures.KINDS if not kind.applies(whole)} == {
        "instructions", "map", "slices", "model_fit", "source_table", "cost_vs_threads",
        "core_accuracy", "cost_per_hook", "optimisation_waterfall", "optimisation_interactions",
        "trie_size",
    }  # fmt: skip
    figures.make(whole, tmp_path / "out")
    with open(tmp_path / "out" / "accounts_of_one_cost.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    published = [r for r in rows if (r["arm"], r["pace"]) == ("sched_switch_published", "hot")]
    assert [r["account"] for r in published] == [
        "external_off", "external_on", "statistics_ns", "published_in_place",
    ]  # fmt: skip
    gone = [r for r in rows if r["arm"] == "sched_switch"]
    assert {r["account"] for r in gone} == {"none"} and all(r["value"] == "" for r in gone)
    alt = (tmp_path / "out" / "accounts_of_one_cost.alt.txt").read_text()
    assert "empty on sendto per send, paced: external, statistics off " in alt
    for name in ("accounts_of_one_cost", "accuracy"):
        assert synthetic.REFUSED in (tmp_path / "out" / f"{name}.caption.txt").read_text()
        assert "unavailable" in (tmp_path / "out" / f"{name}.alt.txt").read_text()
    alt = (tmp_path / "out" / "accuracy.alt.txt").read_text()
    assert "/proc polling, short-lived children: −93" in alt and ", misses." in alt
