"""instructions: what each collector executes for a scrape, against the number of processes."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from analysis.exact import BLIND
from analysis.figures.style import legend_of_arms, log_limits, log_ticks, looks, new_figure
from analysis.results import Results
from analysis.tables.exact import shown

Row = dict[str, Any]


def applies(r: Results) -> bool:
    """Only a run that counts instructions."""
    return bool(r.exact)


def plotted(r: Results) -> list[Row]:
    """A row an arm and process count: median, least and greatest instructions per scrape."""
    return [
        {
            **{key: e[key] for key in ("arm", "title")},
            "processes": e["level"] if e["level"] >= 0 else None,
            "value": e["total"].median,
            "low": e["total"].low,
            "high": e["total"].high,
            "n": e["total"].n,
        }
        for e in r.exact
        if e["statistics"] == "off"
    ]


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """One panel, both axes logarithmic; bars are ranges over perturbations."""
    style = looks(r.run)
    arms = [arm for arm in r.run.arms if any(row["arm"] == arm for row in rows)]
    wide = width > 4
    columns = 4 if wide else 2
    figure = new_figure(width, (2.9 if wide else 2.3) + 0.16 * (-(-len(arms) // columns)))
    ax = figure.subplots()
    levels = sorted({row["processes"] for row in rows if row["processes"] is not None})
    positive = [row["value"] for row in rows if row["value"] and row["value"] > 0]
    ax.set_yscale("log")
    ax.set_ylim(*log_limits(positive) if positive else (1, 10))
    if levels:
        ax.set_xscale("log")
        ax.set_xlim(*log_limits(levels, 1.3))
        ax.xaxis.set_major_locator(FixedLocator([float(level) for level in levels]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        ax.set_xticks([])
    log_ticks(ax, "y", 6)
    ax.grid(True)
    floor = ax.get_ylim()[0]
    for arm in arms:
        mine = [row for row in rows if row["arm"] == arm]
        x = [row["processes"] or 1 for row in mine]
        y = np.array([row["value"] for row in mine])
        low = y - np.maximum([row["low"] for row in mine], floor)
        look: dict[str, Any] = {"color": style[arm].colour, "marker": style[arm].marker}
        bars = [np.maximum(low, 0), [row["high"] - row["value"] for row in mine]]
        ax.errorbar(x, np.where(y > 0, y, np.nan), yerr=bars, **look, markersize=4, capsize=2)
    ax.set_xlabel("processes on the machine" if levels else "")
    ax.set_ylabel("instructions per scrape")
    legend_of_arms(figure, r.run, arms, columns)
    return figure


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    return (
        "Instructions that the whole virtual machine executes for one scrape, less an empty "
        "window, as counted by the emulator; both axes logarithmic. Points: medians over declared "
        "perturbations, each a fresh boot; bars: least and greatest, mostly smaller than the "
        f"points. Not seen: {BLIND}."
    )


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    parts = ["Line plot of instructions per scrape against the number of processes, log scales."]
    for e in r.exact:
        if e["statistics"] == "off":
            at = "" if e["level"] < 0 else f" at {e['level']} processes"
            parts.append(f"{e['title']}{at}: {shown(e['total'])}.")
    return " ".join(parts)
