"""core_accuracy: what each tool says of CPUs whose activity is known, one panel a load."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from analysis.cores import accuracy
from analysis.figures.style import GREY, RULE, looks, new_figure
from analysis.results import Results
from analysis.text import number

Row = dict[str, Any]
LINEAR = 0.1  # points: the axis is linear up to here, logarithmic beyond


def applies(r: Results) -> bool:
    """Only a run with trials of known activity."""
    return bool(r.core_accuracy)


def plotted(r: Results) -> list[Row]:
    """Rows of kind report (a report's error), mean (bias with low and high) and unavailable."""
    rows: list[Row] = []
    trials = accuracy.by_trial(r.run).set_index("trial")
    reports = r.run.cores
    apart = (reports["reported_percent"] - reports["known_percent"]).to_numpy(dtype=float)
    each = reports["trial"].to_numpy(dtype=int)
    for e in r.core_accuracy:
        base: Row = {key: e[key] for key in ("arm", "title", "load")}
        if not e["n"]:
            rows.append({**base, "kind": "unavailable", "reason": e["reason"]})
            continue
        mine = trials[(trials["arm"] == e["arm"]) & (trials["load"] == e["load"])].index
        for value in apart[np.isin(each, mine.to_numpy(dtype=int))]:
            rows.append({**base, "kind": "report", "value": float(value)})
        bias, error = e["bias"], e["error"]
        ends = {"value": bias.estimate, "low": bias.low, "high": bias.high}
        rows.append({**base, "kind": "mean", **ends, "error": error.estimate})
    return rows


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """Panels in two columns of a narrow figure or four of a wide one share both axes."""
    wide = width > 4
    loads = list(dict.fromkeys(row["load"] for row in rows))
    arms = [arm for arm in r.run.arms if any(row["arm"] == arm for row in rows)]
    columns = min(4 if wide else 2, len(loads))
    lines = -(-len(loads) // columns)
    figure = new_figure(width, (0.42 + 0.17 * len(arms)) * lines + 0.75)
    axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    values = [abs(row["value"]) for row in rows if row.get("value") is not None]
    limit = 1.3 * max([1.0, *values])
    style = looks(r.run)
    for place, ax in enumerate(axes.ravel()):
        if place >= len(loads):
            ax.set_visible(False)
            continue
        ax.set_xscale("symlog", linthresh=LINEAR, linscale=0.5)
        ax.set_xlim(-limit, limit)
        decades = [d for d in (0.1, 1, 10, 100) if d <= limit][:: 1 if wide else 2]
        ax.xaxis.set_major_locator(FixedLocator([*(-d for d in decades), 0, *decades]))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}".replace("-", "−")))
        ax.axvline(0, color=RULE, linewidth=0.8)
        ax.set_ylim(len(arms) - 0.4, -0.6)
        ax.set_yticks(range(len(arms)), [r.run.title(arm) for arm in arms])
        ax.tick_params(axis="y", length=0)
        ax.set_title(loads[place].replace("in bursts of", "in" if not wide else "in bursts of"),
                     loc="left", pad=3, fontsize=7)  # fmt: skip
        if place + columns >= len(loads):
            ax.tick_params(axis="x", labelbottom=True)
            ax.set_xlabel("points")
        for row in rows:
            if row["load"] == loads[place]:
                _mark(ax, row, arms.index(row["arm"]), style[row["arm"]].colour)
    figure.legend(handles=_legend(), loc="outside lower center", ncols=2)
    return figure


def _mark(ax: Any, row: Row, y: int, colour: str) -> None:
    if row["kind"] == "unavailable":
        ax.text(0, y, "no report", color=GREY, va="center", ha="center", style="italic")
    elif row["kind"] == "report":
        ax.plot([row["value"]], [y], ".", color=colour, markersize=3, alpha=0.4, linewidth=0)
    else:
        if row["low"] is not None:
            ax.plot([row["low"], row["high"]], [y, y], color=colour)
        ax.plot([row["value"]], [y], marker="o", color=colour, markersize=4.5)


def _legend() -> list[Line2D]:
    look: dict[str, Any] = {"color": GREY, "linewidth": 0}
    return [
        Line2D([], [], **look, marker="o", markersize=4.5, label="bias, 95 %"),
        Line2D([], [], **look, marker=".", markersize=3, label="one report on one CPU"),
    ]


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    del r
    gone = {row["title"]: row["reason"] for row in rows if row["kind"] == "unavailable"}
    return (
        "Reported less known activity of a CPU, in percentage points; each panel: for how much of "
        "the time each CPU is kept busy, and in bursts of which length. Linear up to "
        f"±{LINEAR:g}, logarithmic beyond. Dots: one report on one CPU; circles: their mean with "
        "its 95 % t interval over blocks."
        + "".join(f" {title}: {reason}." for title, reason in gone.items())
    )


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    del r
    parts = ["Dot plots of reported less known activity in percentage points, a panel a load."]
    for row in rows:
        if row["kind"] == "mean":
            said = f"bias {number(row['value'], 2)}, mean error {number(row['error'], 2)}"
            parts.append(f"{row['title']}, {row['load']}: {said}.")
        elif row["kind"] == "unavailable":
            parts.append(f"{row['title']}, {row['load']}: no report.")
    return " ".join(parts)
