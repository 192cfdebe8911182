"""where_cost_arises: each arm's cost split into sleeping, reader and programs in other tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.external import NULL_AGENT, in_other_tasks
from analysis.figures.points import row_level, shown_levels
from analysis.figures.style import BLACK, GREY, KERNEL, READER, SLEEP, looks, new_figure
from analysis.levels import at
from analysis.measures import LEFT_ALONE, MEASURES, NOT_PLANNED, level_text
from analysis.results import Results
from analysis.statistics.intervals import fieller
from analysis.text import number

Row = dict[str, Any]
PARTS = ("sleeping", "reader", "others")
LABELS = {
    "sleeping": "sleeping only",
    "reader": "reader's own task",
    "others": "BPF programs in other tasks",
}
_FACE = {"sleeping": (SLEEP, ""), "reader": (READER, ""), "others": (KERNEL, "////")}
MOST = 2


def levels_of(r: Results) -> list[int]:
    """At most two panels: the lowest and the highest level."""
    levels = shown_levels(r, r.main_measure())
    return levels if len(levels) <= MOST else [levels[0], levels[-1]]


def plotted(r: Results) -> list[Row]:
    """A row a part: value (% of a core), share (%), with low and high of the share of the readers.

    The share of a part is its mean over the mean of the whole; the interval of the reader's share,
    sleeping included, is Fieller's.
    """
    whole = r.main_measure()
    reader = "agent" if whole == "headline" else "agent_on"
    rows: list[Row] = []
    for level in levels_of(r):
        null = r.measures.get(reader, NULL_AGENT, level)
        for arm in r.arms:
            if arm == NULL_AGENT:
                continue
            base: Row = {**at(level), "arm": arm}
            base |= {"title": r.run.title(arm), "measure": whole}
            total = r.measures.get(whole, arm, level)
            if total.empty:
                reason = r.measures.reason(whole, arm, level)
                word = "not planned" if reason.startswith(NOT_PLANNED) else "unavailable"
                rows.append({**base, "part": word, "reason": reason})
                continue
            own = r.measures.get(reader, arm, level).loc[total.index]
            mean, mine = float(total.mean()), float(own.mean())
            asleep = min(mine, float(null.mean())) if len(null) else 0.0
            parts = {"sleeping": asleep, "reader": mine - asleep, "others": mean - mine}
            share = fieller(own.to_numpy(dtype=float), total.to_numpy(dtype=float))
            for part in PARTS:
                row = {**base, "part": part, "value": parts[part], "total": mean, "n": len(total)}
                row["share"] = 100 * parts[part] / mean if mean > 0 else None
                if part == "reader" and in_other_tasks(r.run, arm):
                    row["low"] = None if share.low is None else 100 * share.low
                    row["high"] = None if share.high is None else 100 * share.high
                rows.append(row)
    return rows


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """Bars of shares, the total beside each; panels below each other at one column."""
    levels, wide = levels_of(r), width > 4
    arms = [a for a in r.arms if any(row["arm"] == a for row in rows)]
    shape = (1, len(levels)) if wide else (len(levels), 1)
    figure = new_figure(width, (0.55 + 0.24 * max(len(arms), 1)) * shape[0] + 0.75)
    axes = figure.subplots(*shape, sharex=True, sharey=True, squeeze=False).ravel()
    for number_, (ax, level) in enumerate(zip(axes, levels, strict=True)):
        here = [row for row in rows if row_level(row) == level]
        for y, arm in enumerate(arms):
            _bar(ax, [row for row in here if row["arm"] == arm], y)
        ax.set_xlim(0, 100)
        ax.set_ylim(len(arms) - 0.4, -0.6)
        ax.set_yticks(range(len(arms)), [r.run.title(a) for a in arms])
        ax.tick_params(axis="y", length=0)
        ax.set_xticks([0, 25, 50, 75, 100])
        if len(levels) > 1 or level != LEFT_ALONE:
            ax.set_title(level_text(level), loc="left", pad=3)
        ax.text(101.5, -0.62, "total", va="bottom", color=GREY)
        if wide or number_ == len(levels) - 1:
            ax.set_xlabel("share of the arm's cost (%)")
    seen = [p for p in PARTS if any(row["part"] == p and (row["value"] or 0) > 0 for row in rows)]
    handles = [_patch(part) for part in seen]
    figure.legend(handles=handles, loc="outside lower center", ncols=3 if wide else 1)
    return figure


def _patch(part: str) -> Patch:
    face, hatch = _FACE[part]
    return Patch(facecolor=face, hatch=hatch, edgecolor="white", label=LABELS[part])


def _bar(ax: Any, rows: list[Row], y: int) -> None:
    left = 0.0
    for row in rows:
        if "reason" in row:
            ax.text(1.5, y, row["part"], color=GREY, va="center", style="italic")
            continue
        if row["share"] is None:
            continue
        face, hatch = _FACE[row["part"]]
        share = float(np.clip(row["share"], 0.0, 100.0 - left))
        look: dict[str, Any] = {"facecolor": face, "hatch": hatch, "edgecolor": "white"}
        ax.barh(y, share, left=left, height=0.66, linewidth=0.4, **look)
        left += share
        if row.get("low") is not None and row.get("high") is not None:
            ends = np.clip([row["low"], row["high"]], 0, 100)
            ax.plot(ends, [y, y], color=BLACK, linewidth=0.9, marker="|", markersize=4)
    if rows and rows[-1].get("total") is not None:
        ax.text(101.5, y, f"{number(rows[-1]['total'], 2)} %", va="center")


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    whole = rows[0]["measure"] if rows else r.main_measure()
    text = (
        f"Where the cost arises, as shares of each arm's own cost ({MEASURES[whole]}); at the "
        "right the whole in percent of one core. Reader's own task: all CPU of the collector, user "
        "and kernel, beyond that of a process that only sleeps and wakes at the same interval. "
        "Black bars: Fieller 95 % intervals, over blocks, of the border between collector and "
        "programs in other tasks."
    )
    if not any(row["part"] == "sleeping" and row["value"] for row in rows):
        text = text.replace(", beyond that of a process that only sleeps and wakes at the same", "")
        text = text.replace(" interval. Black", ". Black")
    if any(row.get("value") is not None and row["value"] < 0 for row in rows):
        text += " A share below zero, which is noise, is drawn as none; see the CSV."
    gone = {row["title"]: row["reason"] for row in rows if row["part"] == "unavailable"}
    return text + "".join(f" {title}: {reason}." for title, reason in gone.items())


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    parts = ["Stacked bars of where the cost of each arm arises, in percent of its cost."]
    for row in rows:
        if row["part"] == "others" and row["share"] is not None:
            where = "" if row["processes"] is None else f" at {row['processes']} processes"
            parts.append(
                f"{row['title']}{where}: {row['total']:.3g} % of one core, of which "
                f"{row['share']:.0f} % in programs in other tasks."
            )
    return " ".join(parts)


__all__ = ["alt", "caption", "draw", "looks", "plotted"]
