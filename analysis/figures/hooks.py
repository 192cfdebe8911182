"""cost_per_hook: each hook alone under the load that makes its events, inline and reader apart."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.figures.style import KERNEL, READER, RULE, new_figure
from analysis.results import Results
from analysis.text import number, span

Row = dict[str, Any]
PARTS = {"inline": (KERNEL, "o", "in the task that makes the event"),
         "reader": (READER, "s", "in the sensor's own process")}  # fmt: skip


def applies(r: Results) -> bool:
    """Only a run that measures hooks one by one."""
    return r.sensor is not None and bool(r.sensor.alone)


def plotted(r: Results) -> list[Row]:
    """A row a hook, load and part: value, low, high; per event."""
    assert r.sensor is not None
    rows: list[Row] = []
    for e in r.sensor.alone:
        for part in PARTS:
            v = e[part]
            row: Row = {"hook": e["hook"], "load": e["load"], "part": part, "unit": r.sensor.unit}
            rows.append({**row, "value": v.estimate, "low": v.low, "high": v.high, "n": v.n})
    return rows


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """One panel, a line a hook."""
    assert r.sensor is not None
    names = list(dict.fromkeys((row["hook"], row["load"]) for row in rows))
    figure = new_figure(width, 0.2 * len(names) + 0.9)
    ax = figure.subplots()
    ax.set_xscale("symlog", linthresh=100)
    ax.set_ylim(len(names) - 0.4, -0.6)
    hooks = [hook for hook, _ in names]
    labels = [f"{h} ({load})" if hooks.count(h) > 1 else h for h, load in names]
    ax.set_yticks(range(len(names)), labels)
    ax.tick_params(axis="y", length=0)
    ax.grid(True, axis="x")
    ax.axvline(0, color=RULE, linewidth=0.8)
    for row in rows:
        if row["value"] is None:
            continue
        colour, marker, _ = PARTS[row["part"]]
        y = names.index((row["hook"], row["load"])) + (-0.13 if row["part"] == "inline" else 0.13)
        if row["low"] is not None:
            ax.plot([row["low"], row["high"]], [y, y], color=colour)
        ax.plot([row["value"]], [y], marker=marker, color=colour, markersize=4)
    ax.set_xlabel(f"{r.sensor.unit} per event (linear up to 100)")
    handles = [
        Line2D([], [], color=colour, marker=marker, markersize=4, label=label)
        for colour, marker, label in PARTS.values()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2 if width > 4 else 1)
    return figure


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    del rows
    return f"What each hook of the sensor costs alone, per event that the load makes. {about(r)}"


def about(r: Results) -> str:
    """What the bars of a figure of this study are."""
    assert r.sensor is not None
    if r.sensor.unit == "ns":
        return "Means with 95 % intervals over blocks; trials that lost events are left out."
    return "Instructions: medians and ranges over declared perturbations, which are no intervals."


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    del r
    parts = ["Dot plot of the cost of each hook per event."]
    for row in rows:
        if row["value"] is not None:
            ends = span(row["low"], row["high"], row["value"])
            parts.append(f"{row['hook']}, {row['part']}: {number(row['value'])} {ends}.")
    return " ".join(parts)
