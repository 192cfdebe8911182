"""slices: the cost of each collector along one condition, the others held."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from analysis.crossover.model import Where, spread
from analysis.crossover.outcome import Crossover
from analysis.crossover.region import outside
from analysis.figures.style import legend_of_arms, log_limits, log_ticks, looks, new_figure
from analysis.results import Results
from analysis.statistics.types import Array
from analysis.text import about, number

Row = dict[str, Any]
GRID = 30  # points of a line
AXES = {
    "switches_per_s": "context switches/s",
    "processes": "processes",
    "interval_s": "seconds between scrapes",
}
KEYS = {"switches_per_s": "switches_per_s", "processes": "processes", "interval_s": "interval_ms"}


def applies(r: Results) -> bool:
    """Only a run of design points."""
    return r.crossover is not None and bool(r.crossover.arms)


def _most(values: list[float]) -> float:
    """The value of most points; of equally many, the least."""
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value))


def held(c: Crossover) -> dict[str, float]:
    """Planned values of most points: process count, rate of the load, interval in ms."""
    single = [p for p in c.planned.values() if p["threads_per_process"] == 1]
    loaded = [p for p in single if p["switches_per_s"] > 0] or single
    return {key: _most([float(p[key]) for p in loaded]) for key in KEYS.values()}


def _conditions(c: Crossover) -> Where:
    fixed = held(c)
    rate = fixed["switches_per_s"] + c.usual.switches_per_s
    return replace(
        c.usual,
        processes=fixed["processes"],
        switches_per_s=rate,
        interval_s=fixed["interval_ms"] / 1e3,
    )


def _scale(c: Crossover) -> float:
    return 1e-6 if c.exact else 1e-7


def plotted(r: Results) -> list[Row]:
    """Rows of kind line (with low and high) and point, per axis and arm; % of a core, or Minstr/s.

    Points are those that differ from the held conditions on the panel's axis alone.
    """
    c = r.crossover
    assert c is not None
    where, fixed, rows = _conditions(c), held(c), []
    for axis in AXES:
        others = [key for name, key in KEYS.items() if name != axis]
        beside = [
            number_
            for number_, p in c.planned.items()
            if p["threads_per_process"] == 1
            and p["switching_tasks"] in (0, c.usual.active)
            and all(float(p[key]) == fixed[key] for key in others)
        ]
        for arm in c.arms:
            base: Row = {"axis": axis, "arm": arm, "title": r.run.title(arm)}
            for x in np.geomspace(*c.region[axis], GRID):
                place = replace(where, **{axis: float(x)})
                at = c.fits[arm].at(place).scaled(_scale(c))
                line: Row = {"value": at.estimate, "low": at.low, "high": at.high}
                line["measured"] = not outside(c.region, place)
                rows.append({**base, "kind": "line", "x": float(x), **line})
            cells = c.cells[(c.cells["arm"] == arm) & c.cells["point"].isin(beside)]
            groups: Any = cells.groupby("point")
            for point, found in groups:
                costs: Array = found["cost"].to_numpy(dtype=np.float64)
                value = spread(costs * _scale(c), c.exact).estimate
                here = {"x": c.place(point)[axis], "value": value}
                rows.append({**base, "kind": "point", "point": int(point), **here})
    return rows


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """Three panels: side by side at two columns, one above the other at one."""
    c = r.crossover
    assert c is not None
    style, wide = looks(r.run), width > 4
    columns = 3 if wide else 2
    shape = (1, 3) if wide else (3, 1)
    room = 0.16 * (-(-len(c.arms) // columns))
    figure = new_figure(width, (2.5 if wide else 5.6) + room)
    axes = figure.subplots(*shape, sharey=True, squeeze=False).ravel()
    positive = [row["value"] for row in rows if row["value"] and row["value"] > 0]
    for ax, axis in zip(axes, AXES, strict=True):
        here = [row for row in rows if row["axis"] == axis]
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_ylim(*log_limits(positive) if positive else (0.01, 1.0))
        ax.set_xlim(*log_limits([row["x"] for row in here], 1.15))
        for arm in c.arms:
            look = style[arm]
            mine = [row for row in here if row["arm"] == arm]
            line = [row for row in mine if row["kind"] == "line"]
            x = [row["x"] for row in line]
            y = [row["value"] if row["value"] > 0 else np.nan for row in line]
            known = [v if row["measured"] else np.nan for v, row in zip(y, line, strict=True)]
            ax.plot(x, y, color=look.colour, linestyle=":", linewidth=0.9)
            ax.plot(x, known, color=look.colour)
            if all(row["low"] is not None for row in line):
                floor = ax.get_ylim()[0]
                low, high = ([max(row[end], floor) for row in line] for end in ("low", "high"))
                ax.fill_between(x, low, high, color=look.colour, alpha=0.15, linewidth=0)
            dots = [row for row in mine if row["kind"] == "point"]
            at = [row["x"] for row in dots]
            face = {"marker": look.marker, "color": look.colour, "linewidth": 0, "markersize": 4}
            ax.plot(at, [row["value"] for row in dots], **face)
        log_ticks(ax, "x", 4)
        ax.grid(True)
        ax.set_xlabel(AXES[axis])
    log_ticks(axes[0], "y", 6)
    unit = "million instructions/s" if c.exact else "CPU (% of one core)"
    for ax in axes[:1] if wide else axes:
        ax.set_ylabel(unit)
    legend_of_arms(figure, r.run, c.arms, columns)
    return figure


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    c = r.crossover
    assert c is not None
    w = _conditions(c)
    band = "ranges over perturbations" if c.exact else "pointwise 95 % t intervals over blocks"
    return (
        "The cost of each collector along one condition, the others held at "
        f"{about(w.processes)} processes, {about(w.switches_per_s)} context switches a second "
        f"and a scrape every {w.interval_s:g} s. Lines: the cost model, dotted where no such "
        f"combination was measured; bands: {band}; markers: "
        "points measured under the same other conditions. Both axes logarithmic."
    )


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    parts = ["Line plots of cost over switch rate, process count and interval, log scales."]
    for axis, words in AXES.items():
        for arm in dict.fromkeys(row["arm"] for row in rows):
            line = [e for e in rows if (e["axis"], e["arm"], e["kind"]) == (axis, arm, "line")]
            if line:
                ends = f"{number(line[0]['value'])} to {number(line[-1]['value'])}"
                parts.append(f"Over {words}, {line[0]['title']}: {ends}.")
    return " ".join(parts)
