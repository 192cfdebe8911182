"""optimisation_interactions: main effects and interactions of the three optimisations."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.figures.hooks import about
from analysis.figures.style import GREY, RULE, new_figure
from analysis.results import Results
from analysis.text import number, span

Row = dict[str, Any]
LOOKS = {
    "own": ("#0072B2", "o", -0.13, "own wake-up"),
    "equal": ("#D55E00", "s", 0.13, "same wake-up"),
}


def applies(r: Results) -> bool:
    """Only a run with the full factorial."""
    return r.sensor is not None and bool(r.sensor.effects)


def plotted(r: Results) -> list[Row]:
    """A row a load, wake-up and effect: value, low, high per event; percent of the naive cost."""
    assert r.sensor is not None
    rows: list[Row] = []
    for e in r.sensor.effects:
        v = e["effect"]
        row: Row = {"load": e["load"], "wakeup": e["wakeup"], "effect": " × ".join(e["factors"])}
        row |= {"value": v.estimate, "low": v.low, "high": v.high, "n": v.n}
        rows.append({**row, "percent": e["percent"].estimate})
    return rows


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """A panel a load, one below the other."""
    assert r.sensor is not None
    loads = list(dict.fromkeys(row["load"] for row in rows))
    names = list(dict.fromkeys(row["effect"] for row in rows))
    figure = new_figure(width, (0.5 + 0.2 * len(names)) * len(loads) + 0.6)
    axes = figure.subplots(len(loads), 1, squeeze=False).ravel()
    for ax, load in zip(axes, loads, strict=True):
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.set_yticks(range(len(names)), names)
        ax.tick_params(axis="y", length=0)
        ax.grid(True, axis="x")
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.axhline(2.5, color=RULE, linewidth=0.5)
        ax.set_title(load, loc="left", pad=3)
        for row in rows:
            if row["load"] != load or row["value"] is None:
                continue
            colour, marker, offset, _ = LOOKS[row["wakeup"]]
            y = names.index(row["effect"]) + offset
            if row["low"] is not None:
                ax.plot([row["low"], row["high"]], [y, y], color=colour)
            ax.plot([row["value"]], [y], marker=marker, color=colour, markersize=4)
    axes[-1].set_xlabel(f"effect, {r.sensor.unit} per event; left of 0 it saves")
    handles = [
        Line2D([], [], color=colour, marker=marker, markersize=4, label=label)
        for colour, marker, _, label in LOOKS.values()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    del rows
    return (
        "Main effects of the three optimisations on the cost of the whole sensor, and how they "
        "change each other's; with each buffer's own habit of waking the reader, and with the same "
        f"one for both. {about(r)}"
    )


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    del r
    parts = ["Dot plot of effects on the sensor's cost, a panel a load."]
    for row in rows:
        if row["value"] is not None:
            ends = span(row["low"], row["high"], row["value"])
            where = f"{row['load']}, {LOOKS[row['wakeup']][3]}"
            parts.append(f"{where}, {row['effect']}: {number(row['value'])} {ends}.")
    return " ".join(parts)
