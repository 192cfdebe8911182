"""Coverage of the ratio's interval against the number of blocks, one panel a noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.figures.style import BLACK, GREY, RULE, in_style, new_figure, render
from analysis.statistics.noise_models import NOISES
from analysis.statistics.validation import COVERAGE_TARGET
from analysis.tables.validation import TITLES, wide

Row = dict[str, Any]
OURS, PLAIN = "#0072B2", "#E69F00"
COLUMNS = 4
SHORT = {"t3": "heavy-tailed", "outliers": "outliers", "bursts": "bursts, left out by limits"}
SHORT |= {"drift": "drifting", "hidden": "bursts, unseen"}
LOWEST, HIGHEST = 85.0, 100.0


def draw(rows: Sequence[Row]) -> Figure:
    """Filled: the interval in use; open: plain Fieller; one mark a shape, 100 % spreads apart."""
    lines = -(-len(NOISES) // COLUMNS)
    figure = new_figure(7.0, 1.65 * lines + 0.4)
    axes = figure.subplots(lines, COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
    blocks = list(dict.fromkeys(row["blocks"] for row in rows))
    for ax, noise in zip(axes, NOISES, strict=False):
        ax.axhspan(*COVERAGE_TARGET, color=RULE, linewidth=0)
        ax.axhline(95, color=GREY, linewidth=0.5)
        ax.set_title(SHORT.get(noise, TITLES[noise]), loc="left", pad=3)
        for row in (row for row in rows if row["noise"] == noise):
            at = blocks.index(row["blocks"])
            marker = "D" if wide(row) else "o"
            look: dict[str, Any] = {"marker": marker, "markersize": 3.2, "linewidth": 0}
            plain, ours = (max(row[key], LOWEST) for key in ("plain_fieller", "coverage"))
            ax.plot([at + 0.17], [plain], color=PLAIN, markerfacecolor="white", **look)
            ax.plot([at - 0.17], [ours], color=OURS, **look)
        ax.set_ylim(LOWEST, HIGHEST)
        ax.set_xticks(range(len(blocks)), [str(n) for n in blocks])
    for ax in axes[len(NOISES) :]:
        ax.set_axis_off()
    for ax in axes[::COLUMNS]:
        ax.set_ylabel("coverage (%)")
    for ax in axes[len(NOISES) - COLUMNS : len(NOISES)]:
        ax.set_xlabel("planned blocks")
        ax.tick_params(labelbottom=True)
    dot: dict[str, Any] = {"linewidth": 0, "marker": "o", "markersize": 4}
    handles = [
        Line2D([], [], color=OURS, **dot, label="interval in use"),
        Line2D([], [], color=PLAIN, markerfacecolor="white", **dot, label="plain Fieller"),
        Line2D([], [], color=BLACK, linewidth=0, marker="D", markersize=4, label="spread of 100 %"),
    ]
    axes[-1].legend(handles=handles, loc="center", ncols=1)
    return figure


def svg(rows: Sequence[Row]) -> bytes:
    """The figure as SVG, the same bytes from the same rows."""
    with in_style():
        return render(draw(rows))["svg"]
