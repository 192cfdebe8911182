"""Makes the figures of a run: numbers first, as CSV; then what is drawn from them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from analysis.figures import (
    accounts,
    core_accuracy,
    effects,
    exact,
    fidelity,
    fit,
    frontier,
    hooks,
    noise,
    parts,
    points,
    scaling,
    slices,
    source_table,
    strips,
    threads,
    trie,
    waterfall,
)
from analysis.figures.style import WIDTHS, in_style, render
from analysis.load import Run
from analysis.results import Results
from analysis.text import Table
from analysis.write import put

Row = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A figure: its numbers, its drawing from them, and its two texts."""

    name: str
    plotted: Callable[[Results], list[Row]]
    draw: Callable[[Results, list[Row], float], Figure]
    caption: Callable[[Results, list[Row]], str]
    alt: Callable[[Results, list[Row]], str]
    applies: Callable[[Results], bool] = lambda r: True


LEFT_OUT = {"cost_vs_processes": "no arm has a value at two process counts or more"}
OF_COSTS = {
    "table_points": points,
    "cost_vs_processes": scaling,
    "where_cost_arises": parts,
    "run_strips": strips,
    "noise": noise,
}
# Of instruments, of the collectors' truth, of what an emulator counts: for runs made for them.
OF_TRUTH = {"accounts_of_one_cost": accounts, "accuracy": fidelity, "instructions": exact}
# Of design points: the map, cuts through it, and how far the model is off.
OF_POINTS: dict[str, Any] = {"map": frontier, "slices": slices, "model_fit": fit}

# Of the tools that watch the CPUs: the source's table, cost against threads, what each one says.
OF_CORES: dict[str, Any] = {
    "source_table": source_table,
    "cost_vs_threads": threads,
    "core_accuracy": core_accuracy,
}

# Of a security sensor: its hooks, its optimisations, and the size of its path set.
OF_SENSOR: dict[str, Any] = {
    "cost_per_hook": hooks,
    "optimisation_waterfall": waterfall,
    "optimisation_interactions": effects,
    "trie_size": trie,
}

OF_RUNS: dict[str, Any] = {**OF_TRUTH, **OF_POINTS, **OF_CORES, **OF_SENSOR}


def takes_time(r: Results) -> bool:
    """Only a live run of levels: what an emulator's clock makes of instructions is no time."""
    return not r.exact and not r.has_points


def has_lines(r: Results) -> bool:
    """The same, less one whose levels are threads: those have a figure of their own."""
    return takes_time(r) and not r.thread_lines


KINDS = (
    *(
        Kind(name, m.plotted, m.draw, m.caption, m.alt, has_lines if m is scaling else takes_time)
        for name, m in OF_COSTS.items()
    ),
    *(Kind(name, m.plotted, m.draw, m.caption, m.alt, m.applies) for name, m in OF_RUNS.items()),
)


def machine(run: Run) -> str:
    """The machine in a phrase, from the run's fingerprint; what it lacks is left out."""
    f = run.manifest["fingerprint"]
    cpus, hypervisor = f.get("cpus_online"), f.get("hypervisor")
    parts = [
        f.get("cpu_model"),
        f"{cpus} CPU{'s' if cpus != 1 else ''}" if cpus else None,
        f"Linux {f['release']}" if f.get("release") else None,
        f.get("architecture"),
        f.get("distribution"),
        f"under {hypervisor}" if hypervisor and hypervisor != "none" else None,
    ]
    return ", ".join(str(part) for part in parts if part) or "machine not recorded"


def provenance(r: Results) -> str:
    """Machine, date, number of blocks and how long one measures a cell, for captions."""
    used = {len(r.measures.get(m, a, lv)) for m in ("agent", "published") for a in r.arms
            for lv in r.levels} - {0}  # fmt: skip
    n = f"n = {min(used)} to {max(used)}" if len(used) > 1 else f"n = {max(used, default=0)}"
    date = str(r.run.manifest["started_utc"])[:10]
    made = (
        " SYNTHETIC data, not a measurement."
        if r.run.manifest["fingerprint"].get("synthetic")
        else ""
    )
    open_end = "" if r.run.finished else " The run is unfinished."
    return f"{machine(r.run)}; {date}; {n} blocks{r.window_text()}.{made}{open_end}"


def _csv(name: str, rows: list[Row]) -> str:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return Table(name, keys, [[row.get(k) for k in keys] for row in rows], [], []).csv()


def make(r: Results, folder: Path) -> tuple[list[Path], dict[str, str]]:
    """Write every figure of a run into a folder.

    Returns the files written, and the figures left out with the reason; one that the run was not
    made for is not left out. Numbers, caption and alt text are on disk before anything is drawn.
    """
    files: list[Path] = []
    left_out: dict[str, str] = {}
    for kind in KINDS:
        if not kind.applies(r):
            continue
        rows = kind.plotted(r)
        if not any(row.get("value") is not None for row in rows):
            left_out[kind.name] = LEFT_OUT.get(kind.name, "the run has no value for it")
            continue
        caption = f"{kind.caption(r, rows)} {provenance(r)}"
        drawing = functools.partial(kind.draw, r, rows)
        files += write(folder, kind.name, rows, caption, kind.alt(r, rows), drawing)
    return files, left_out


def write(
    folder: Path,
    name: str,
    rows: list[Row],
    caption: str,
    alt: str,
    draw: Callable[[float], Figure],
) -> list[Path]:
    """Write one figure: its numbers and texts first, then each width in each format."""
    files = [
        put(folder / f"{name}.csv", _csv(name, rows)),
        put(folder / f"{name}.caption.txt", caption + "\n"),
        put(folder / f"{name}.alt.txt", alt + "\n"),
    ]
    for label, width in WIDTHS.items():
        with in_style():
            made = render(draw(width))
        files += [put(folder / f"{name}-{label}.{suffix}", d) for suffix, d in made.items()]
    return files
