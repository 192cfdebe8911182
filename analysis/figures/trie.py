"""trie_size: cost of the file hook per open against the prefixes in its trie."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from analysis.figures.hooks import about
from analysis.figures.style import KERNEL, log_ticks, new_figure
from analysis.results import Results
from analysis.text import number, span

Row = dict[str, Any]


def applies(r: Results) -> bool:
    """Only a run with path sets of several sizes."""
    return r.sensor is not None and len({e["prefixes"] for e in r.sensor.sizes}) > 1


def plotted(r: Results) -> list[Row]:
    """A row a load and size: value, low, high of the total per open."""
    assert r.sensor is not None
    rows: list[Row] = []
    for e in r.sensor.sizes:
        v = e["total"]
        ends = {"value": v.estimate, "low": v.low, "high": v.high, "n": v.n}
        rows.append({"load": e["load"], "prefixes": e["prefixes"], **ends})
    return rows


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """One panel."""
    assert r.sensor is not None
    figure = new_figure(width, 2.2)
    ax = figure.subplots()
    ax.set_xscale("log")
    ax.grid(True, axis="y")
    for row in rows:
        if row["low"] is not None:
            ax.plot([row["prefixes"]] * 2, [row["low"], row["high"]], color=KERNEL)
    known = [row for row in rows if row["value"] is not None]
    for load in dict.fromkeys(row["load"] for row in known):
        here = [row for row in known if row["load"] == load]
        xs, ys = [row["prefixes"] for row in here], [row["value"] for row in here]
        ax.plot(xs, ys, marker="o", markersize=4, color=KERNEL)
    ax.set_ylim(bottom=min([0.0, *(row["low"] or 0.0 for row in known)]))
    ax.set_xlabel("prefixes in the trie")
    ax.set_ylabel(f"{r.sensor.unit} per open")
    log_ticks(ax, "x")
    return figure


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    loads = ", ".join(dict.fromkeys(row["load"] for row in rows))
    return (
        "Cost of the file hook per open of a file outside of the set, against the number of "
        f"prefixes in its trie (load {loads}). {about(r)}"
    )


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    del r
    parts = ["Line of the cost of an open against the prefixes in the trie."]
    for row in rows:
        if row["value"] is not None:
            ends = span(row["low"], row["high"], row["value"])
            parts.append(f"{row['prefixes']:,} prefixes: {number(row['value'])} {ends}.")
    return " ".join(parts)
