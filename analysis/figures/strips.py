"""run_strips: every trial of every block in the order it ran."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.figures.points import MOST_PANELS, row_level, shown_levels
from analysis.figures.style import RULE, log_limits, log_ticks, looks, new_figure
from analysis.levels import at, of_rows
from analysis.measures import LEFT_ALONE, level_text
from analysis.results import Results

Row = dict[str, Any]


def plotted(r: Results) -> list[Row]:
    """A row a valid cost trial of the shown levels, the warm-up (block 0) included."""
    t = r.run.trials
    cost = t[(t["kind"] == "cost") & (t["status"] == "ok")].dropna(subset=["agent_ns", "window_ns"])
    state = "off" if (cost["statistics"] == "off").any() else "on"
    cost = cost[cost["statistics"] == state].sort_values("trial")
    rows: list[Row] = []
    for level in shown_levels(r, "agent", "agent_on"):
        here = cost[of_rows(cost) == level]
        for trial in here.to_dict("records"):
            rows.append(
                {
                    **at(level),
                    "statistics": state,
                    "trial": int(trial["trial"]),
                    "block": int(trial["block"]),
                    "position": int(trial["position"]),
                    "arm": str(trial["arm"]),
                    "title": r.run.title(str(trial["arm"])),
                    "replica": int(trial["replica"]),
                    "value": 100 * int(trial["agent_ns"]) / int(trial["window_ns"]),
                }
            )
    return rows


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """Panels below each other, one a level; blocks side by side, trials in order inside them."""
    style, levels, wide = looks(r.run), shown_levels(r, "agent", "agent_on"), width > 4
    levels = [lv for lv in levels if any(row_level(row) == lv for row in rows)]
    arms = [a for a in r.arms if any(row["arm"] == a for row in rows)]
    columns = 4 if wide else 2
    entries = len({(row["arm"], row["replica"]) for row in rows})
    height = (1.45 if wide else 1.35) * max(len(levels), 1) + 0.55
    figure = new_figure(width, height + 0.16 * (-(-entries // columns)))
    axes = figure.subplots(max(len(levels), 1), 1, sharex=True, squeeze=False).ravel()
    blocks = sorted({row["block"] for row in rows})
    for ax, level in zip(axes, levels, strict=True):
        here = [row for row in rows if row_level(row) == level]
        ax.set_yscale("log")
        positive = [row["value"] for row in here if row["value"] > 0]
        ax.set_ylim(*log_limits(positive) if positive else (0.01, 1))
        places = _places(here)
        for arm in arms:
            for replica in (1, 2):
                mine = [row for row in here if (row["arm"], row["replica"]) == (arm, replica)]
                ax.plot(
                    [places[row["trial"]] for row in mine],
                    [row["value"] if row["value"] > 0 else float("nan") for row in mine],
                    marker=style[arm].marker,
                    color=style[arm].colour,
                    markerfacecolor="white" if replica == 2 else style[arm].colour,
                    markersize=4 if wide else 3,
                    markeredgewidth=0.7,
                    linewidth=0,
                )
        for block in blocks[1:]:
            ax.axvline(block - 0.5, color=RULE, linewidth=0.5)
        if 0 in blocks:
            ax.axvspan(-0.5, 0.5, color="#f2f2f2", linewidth=0, zorder=0)
        ax.set_xlim(blocks[0] - 0.5, blocks[-1] + 0.5)
        ax.grid(True, axis="y")
        log_ticks(ax, "y", 4)
        if len(levels) > 1 or level != LEFT_ALONE:
            ax.set_title(level_text(level), loc="left", pad=3)
    step = max(1, -(-len(blocks) // (26 if wide else 13)))
    ticks = [b for b in blocks if b % step == 0]
    axes[-1].set_xticks(ticks, ["warm-up" if b == 0 and wide else str(b) for b in ticks])
    axes[-1].tick_params(axis="x", length=0)
    axes[-1].set_xlabel("block, trials in the order they ran" + ("" if wide else " (0: warm-up)"))
    figure.supylabel("CPU of the reader (% of one core)", fontsize=8)
    handles = []
    for arm in arms:
        for replica in (1, 2):
            if not any((row["arm"], row["replica"]) == (arm, replica) for row in rows):
                continue
            colour, twin = style[arm].colour, replica == 2
            look: dict[str, Any] = {"color": colour, "linewidth": 0, "markersize": 4}
            look |= {"marker": style[arm].marker, "markerfacecolor": "white" if twin else colour}
            label = r.run.title(arm) + (" (A/A twin)" if twin else "")
            handles.append(Line2D([], [], **look, label=label))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)
    return figure


def _places(rows: list[Row]) -> dict[int, float]:
    """Where each trial stands on the axis: its block, spread by its rank inside it."""
    made: dict[int, float] = {}
    for block in {row["block"] for row in rows}:
        trials = [row["trial"] for row in rows if row["block"] == block]
        for n, trial in enumerate(sorted(trials)):
            made[trial] = block + (n + 0.5) / len(trials) - 0.5
    return made


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    state = rows[0]["statistics"] if rows else "off"
    text = (
        "Every valid trial in the order it ran, inside independently randomised blocks: CPU of the "
        f"reader alone, kernel statistics {state}, log scale. Shaded: the warm-up block, kept and "
        "left out of every analysis."
    )
    if any(row["replica"] == 2 for row in rows):
        text += " Open marker: the A/A twin, the same command measured a second time in the block."
    if len(r.levels) > MOST_PANELS:
        text += f" Lowest, middle and highest of {len(r.levels)} process counts."
    return text


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    parts = [f"Strip plot of {len(rows)} trials in order, reader's CPU in percent of one core."]
    for arm in r.arms:
        values = [row["value"] for row in rows if row["arm"] == arm and row["block"] > 0]
        if values:
            title = r.run.title(arm)
            parts.append(f"{title}: from {min(values):.3g} to {max(values):.3g}.")
    return " ".join(parts)
