"""cost_vs_processes: points by block and the fitted line of each arm, both axes logarithmic."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from analysis import scaling
from analysis.figures.style import legend_of_arms, log_limits, log_ticks, looks, new_figure
from analysis.measures import MEASURES
from analysis.results import Results
from analysis.text import interval

Row = dict[str, Any]
GRID = 40  # points of a fitted line: it is curved on log axes


def _measure(r: Results) -> str:
    """The method with a line for most arms; the figures' main method if they tie."""
    order = sorted(("headline", "published"), key=lambda m: m != r.main_measure())
    return max(order, key=lambda m: sum(line.measure == m for line in r.lines))


def plotted(r: Results) -> list[Row]:
    """Rows of kind block and, for arms with two levels or more, line (with low and high)."""
    measure, rows = _measure(r), []
    lines = {line.arm: line for line in r.lines if line.measure == measure}
    if not lines:
        return []  # one level, or the processes left alone: there is nothing to plot against
    for arm in r.arms:
        found = scaling.points(r.measures, arm, measure)
        base: Row = {"arm": arm, "title": r.run.title(arm), "measure": measure}
        for point in found.to_dict("records"):
            rows.append(
                {
                    **base,
                    "kind": "block",
                    "block": int(point["block"]),
                    "processes": float(point["processes"]),
                    "value": float(point["value"]),
                }
            )
        if arm not in lines:
            continue
        counts = found["processes"].astype(float)
        for x in np.geomspace(counts.min(), counts.max(), GRID):
            at = lines[arm].at(float(x))
            ends = {"value": at.estimate, "low": at.low, "high": at.high}
            rows.append({**base, "kind": "line", "processes": float(x), **ends})
    return rows


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """One panel; the legend below it."""
    style = looks(r.run)
    arms = [a for a in r.arms if any(row["arm"] == a for row in rows)]
    wide = width > 4
    columns = 4 if wide else 2
    figure = new_figure(width, (2.9 if wide else 2.3) + 0.16 * (-(-len(arms) // columns)))
    ax = figure.subplots()
    ax.set_xscale("log")
    ax.set_yscale("log")
    points = [row for row in rows if row["kind"] == "block"]
    positive = [row["value"] for row in rows if row["value"] and row["value"] > 0]
    ax.set_ylim(*log_limits(positive) if positive else (0.01, 1))
    ax.set_xlim(*log_limits([row["processes"] for row in points], 1.15))
    for arm in arms:
        look = style[arm]
        mine = [row for row in points if row["arm"] == arm]
        ax.plot(
            [row["processes"] for row in mine],
            [row["value"] if row["value"] > 0 else np.nan for row in mine],
            marker=look.marker,
            color=look.colour,
            markersize=3.2,
            alpha=0.55,
            linewidth=0,
            markeredgewidth=0,
        )
        line = [row for row in rows if row["arm"] == arm and row["kind"] == "line"]
        x = [row["processes"] for row in line]
        ax.plot(x, [_positive(row["value"]) for row in line], color=look.colour)
        if line and all(row["low"] is not None for row in line):
            floor = ax.get_ylim()[0]
            low, high = ([max(row[end], floor) for row in line] for end in ("low", "high"))
            ax.fill_between(x, low, high, color=look.colour, alpha=0.15, linewidth=0)
    ax.xaxis.set_major_locator(FixedLocator([float(level) for level in r.levels]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    ax.xaxis.set_minor_locator(NullLocator())
    log_ticks(ax, "y", 6)
    ax.grid(True)
    ax.set_xlabel("processes on the machine")
    ax.set_ylabel("CPU (% of one core)")
    legend_of_arms(figure, r.run, arms, columns)
    return figure


def _positive(value: float | None) -> float:
    return value if value is not None and value > 0 else float("nan")


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    measure = rows[0]["measure"] if rows else _measure(r)
    text = (
        f"CPU cost ({MEASURES[measure]}) against the number of processes, both axes logarithmic. "
        "Points: one block. Lines: straight lines fitted in each block and averaged, curved by the "
        "log axes; bands: pointwise 95 % t intervals over blocks."
    )
    for line in (line for line in r.lines if line.measure == measure):
        slope = line.ns_per_process
        if slope.estimate is not None:
            text += f" {r.run.title(line.arm)}: {interval(slope)} ns per process and scrape."
    left = [r.run.title(a) for a in r.arms if not any(row["arm"] == a for row in rows)]
    return text + (f" Not shown, without a value: {', '.join(left)}." if left else "")


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    parts = ["Scatter plot of CPU cost in percent of one core against the number of processes."]
    for arm in r.arms:
        mine = [row for row in rows if row["arm"] == arm and row["kind"] == "line"]
        if mine and mine[0]["value"] is not None and mine[-1]["value"] is not None:
            first, last = mine[0], mine[-1]
            parts.append(
                f"{first['title']} goes from {first['value']:.3g} at {first['processes']:.0f} "
                f"processes to {last['value']:.3g} at {last['processes']:.0f}."
            )
    return " ".join(parts)
