"""model_fit: how far the cost model is from what was measured, point by point."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from analysis.crossover.model import HELD_OUT_LIMIT
from analysis.figures.style import GREY, RULE, looks, new_figure
from analysis.results import Results

Row = dict[str, Any]
WIDEST = 0.5  # of the axis; what is further off stands at its edge
FITTED, HELD_OUT = -0.15, 0.15


def applies(r: Results) -> bool:
    """Only a run of design points."""
    return r.crossover is not None and bool(r.crossover.fits)


def plotted(r: Results) -> list[Row]:
    """A row an arm and point: value is fitted / measured - 1."""
    c = r.crossover
    assert c is not None
    return [
        {
            **{"arm": arm, "title": r.run.title(arm), "point": int(str(point))},
            **{"held_out": int(str(point)) in c.held_out, "value": float(error)},
        }
        for arm in c.fits
        for point, error in c.errors[arm]["error"].dropna().items()
    ]


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """A row an arm; points that were not fitted stand below the others."""
    style = looks(r.run)
    arms = [arm for arm in r.run.arms if any(row["arm"] == arm for row in rows)]
    figure = new_figure(width, 0.36 * len(arms) + 0.85)
    ax = figure.subplots()
    ax.axvspan(-HELD_OUT_LIMIT, HELD_OUT_LIMIT, color=RULE, linewidth=0)
    ax.axvline(0, color=GREY, linewidth=0.6)
    for y, arm in enumerate(arms):
        for held_out, offset in ((False, FITTED), (True, HELD_OUT)):
            values = [e["value"] for e in rows if e["arm"] == arm and e["held_out"] is held_out]
            near = [min(max(value, -WIDEST), WIDEST) for value in values]
            look: dict[str, Any] = {"marker": style[arm].marker, "color": style[arm].colour}
            look |= {"markerfacecolor": "white"} if held_out else {"alpha": 0.6}
            ax.plot(near, [y + offset] * len(near), linewidth=0, markersize=4, **look)
    ax.set_xlim(-WIDEST * 1.05, WIDEST * 1.05)
    ax.set_ylim(len(arms) - 0.5, -0.5)
    ax.set_yticks(range(len(arms)), [r.run.title(arm) for arm in arms])
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_locator(FixedLocator([-0.5, -0.25, -0.1, 0, 0.1, 0.25, 0.5]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:+.0f}".replace("-", "−")))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("fitted against measured (%)")
    dot: dict[str, Any] = {"color": GREY, "marker": "o", "linewidth": 0, "markersize": 4}
    handles = [
        Line2D([], [], **dot, alpha=0.6, label="fitted point"),
        Line2D([], [], **dot, markerfacecolor="white", label="held-out point"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    beyond = sum(abs(row["value"]) > WIDEST for row in rows)
    text = (
        "Fitted over measured cost of each collector, less one, at every design point. Open: "
        "points that the model was not fitted to. Shaded: "
        f"±{100 * HELD_OUT_LIMIT:.0f} %, within which their median has to lie."
    )
    return text + (f" {beyond} further off stand at the edge; see the CSV." if beyond else "")


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    c = r.crossover
    assert c is not None
    said = [
        f"{r.run.title(arm)}: median error at held-out points {100 * error:.1f} %."
        for arm in c.fits
        if (error := c.held_out_error(arm)) is not None
    ]
    return " ".join(["Dot plot of the cost model's errors in percent, one row a collector.", *said])
