"""optimisation_waterfall: the naive sensor to all three optimisations, by the source's order."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.figures.hooks import about
from analysis.figures.style import BLACK, KERNEL, READER, new_figure
from analysis.results import Results
from analysis.text import number, span

Row = dict[str, Any]
LABELS = ("naive", "+ filter in\nkernel", "+ ring\nbuffer", "+ bytes\nsummed")
PANELS = {"own": "own wake-up", "equal": "same wake-up"}


def applies(r: Results) -> bool:
    """Only a run with the steps."""
    return r.sensor is not None and bool(r.sensor.steps)


def plotted(r: Results) -> list[Row]:
    """A row a load, wake-up and step: inline, reader, and value (their sum) with low and high."""
    assert r.sensor is not None
    rows: list[Row] = []
    for e in r.sensor.steps:
        if e["is_step"]:
            row: Row = {"load": e["load"], "wakeup": e["wakeup"], "step": len(e["changed"])}
            row |= {"inline": e["inline"].estimate, "reader": e["reader"].estimate}
            v = e["total"]
            rows.append({**row, "value": v.estimate, "low": v.low, "high": v.high, "n": v.n})
    return rows


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """A row of panels a load, one each wake-up."""
    assert r.sensor is not None
    loads = list(dict.fromkeys(row["load"] for row in rows))
    wide = width > 4
    shape = (len(loads), 2) if wide else (2 * len(loads), 1)
    figure = new_figure(width, 1.7 * shape[0] + 0.5)
    axes = figure.subplots(*shape, squeeze=False).ravel()
    for n, ax in enumerate(axes):
        load, wakeup = loads[n // 2], list(PANELS)[n % 2]
        ax.set_title(f"{load}, {PANELS[wakeup]}", loc="left", pad=3)
        ax.set_xticks(range(4), LABELS)
        ax.set_xlim(-0.6, 3.6)
        ax.axhline(0, color=BLACK, linewidth=0.6)
        ax.set_ylabel(f"{r.sensor.unit} per event")
        for row in rows:
            if (row["load"], row["wakeup"]) != (load, wakeup) or row["value"] is None:
                continue
            x, base = row["step"], max(0.0, row["inline"])
            ax.bar(x, row["inline"], 0.6, color=KERNEL)
            ax.bar(x, row["reader"], 0.6, bottom=base, color=READER)
            if row["low"] is not None:
                ax.plot([x, x], [row["low"], row["high"]], color=BLACK)
    handles = [Patch(color=KERNEL, label="inline"), Patch(color=READER, label="reader")]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    del rows
    return (
        "Cost of the whole sensor per event of a load, from the naive one to all three "
        f"optimisations, each step with those before it; lines: the total's. {about(r)}"
    )


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    del r
    parts = ["Bars of the sensor's cost, a panel a load and wake-up."]
    for row in rows:
        if row["value"] is not None:
            name = LABELS[row["step"]].replace("\n", " ")
            ends = span(row["low"], row["high"], row["value"])
            where = f"{row['load']}, {PANELS[row['wakeup']]}"
            parts.append(f"{where}, {name}: {number(row['value'])} {ends}.")
    return " ".join(parts)
