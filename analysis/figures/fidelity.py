"""accuracy: reported against known CPU time, one panel a load, one line a collector."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from analysis.fidelity import LIMIT, errors, percent
from analysis.figures.style import GREY, RULE, looks, new_figure
from analysis.results import Results
from analysis.workloads import in_words, ranked

Row = dict[str, Any]
LINEAR = 1.0  # percent: the axis is linear up to here, logarithmic beyond


def applies(r: Results) -> bool:
    """Only a run with several loads; one load is a table's row."""
    return len({e["workload"] for e in r.fidelity}) > 1


def plotted(r: Results) -> list[Row]:
    """Rows of kind trial and mean (with low and high), errors in percent; unavailable: a reason."""
    rows: list[Row] = []
    each = errors(r.run)
    for e in r.fidelity:
        base: Row = {key: e[key] for key in ("arm", "title", "workload", "verdict")}
        base["allowed"] = 100 * e["allowed"]
        if e["error"].estimate is None:
            rows.append({**base, "kind": "unavailable", "reason": e["reason"]})
            continue
        cell = each[(each["arm"] == e["arm"]) & (each["workload"] == e["workload"])]
        for block, error in zip(cell["block"], cell["error"], strict=True):
            rows.append({**base, "kind": "trial", "block": int(block), "value": 100 * float(error)})
        mean = e["error"].scaled(100)
        ends = {"value": mean.estimate, "low": mean.low, "high": mean.high, "n": mean.n}
        rows.append({**base, "kind": "mean", **ends})
    return rows


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """Panels in two columns of a narrow figure or four of a wide one share both axes."""
    wide = width > 4
    loads = ranked({row["workload"] for row in rows})
    arms = [arm for arm in r.run.arms if any(row["arm"] == arm for row in rows)]
    columns = min(4 if wide else 2, len(loads))
    lines = -(-len(loads) // columns)
    figure = new_figure(width, (0.42 + 0.17 * len(arms)) * lines + 0.85)
    axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    limits = _limits(rows)
    style = looks(r.run)
    for number, ax in enumerate(axes.ravel()):
        if number >= len(loads):
            ax.set_visible(False)
            continue
        _axis(ax, limits, wide)
        ax.set_ylim(len(arms) - 0.4, -0.6)
        ax.set_yticks(range(len(arms)), [r.run.title(arm) for arm in arms])
        ax.tick_params(axis="y", length=0)
        name = in_words(loads[number]) if wide else loads[number].replace("_", " ")
        ax.set_title(name, loc="left", pad=3, fontsize=7)
        if number + columns >= len(loads):  # nothing below it
            ax.tick_params(axis="x", labelbottom=True)
            ax.set_xlabel("error (%)")
        for row in rows:
            if row["workload"] == loads[number]:
                _mark(ax, row, arms.index(row["arm"]), style[row["arm"]].colour, limits)
    figure.legend(handles=_legend(rows), loc="outside lower center", ncols=5 if wide else 2)
    return figure


def _limits(rows: list[Row]) -> tuple[float, float]:
    values = [v for row in rows for k in ("value", "low", "high") if (v := row.get(k)) is not None]
    low, high = min([*values, -3.0]), max([*values, 3.0])
    return (-150.0 if low < -30 else 1.6 * low), 1.6 * high


def _axis(ax: Any, limits: tuple[float, float], wide: bool) -> None:
    ax.set_xscale("symlog", linthresh=LINEAR, linscale=0.6)
    ax.set_xlim(*limits)
    wanted = (-100, -10, -1, 0, 1, 10, 100) if wide else (-100, -1, 0, 1, 100)
    ticks = [t for t in wanted if limits[0] <= t <= limits[1]]
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}".replace("-", "−")))
    ax.axvline(0, color=RULE, linewidth=0.8)


def _mark(ax: Any, row: Row, y: int, colour: str, limits: tuple[float, float]) -> None:
    if row["kind"] == "unavailable":
        ax.text(0, y, "unavailable", color=GREY, va="center", ha="center", style="italic")
        return
    if row["kind"] == "trial":
        ax.plot([row["value"]], [y], ".", color=colour, markersize=3, alpha=0.4, linewidth=0)
        return
    ends = np.clip([-row["allowed"], row["allowed"]], *limits)
    ax.barh(y, ends[1] - ends[0], left=ends[0], height=0.8, color="#e6e6e6", zorder=0)
    if row["low"] is not None:
        ax.plot(np.clip([row["low"], row["high"]], *limits), [y, y], color=colour)
    look: dict[str, Any] = {"color": colour, "markersize": 4.5, "markeredgewidth": 0.9}
    ax.plot([row["value"]], [y], **look, **_face(row["verdict"], colour))


def _face(verdict: str, colour: str) -> dict[str, Any]:
    if verdict == "wrong":
        return {"marker": "X", "markerfacecolor": colour}
    return {"marker": "o", "markerfacecolor": "white" if verdict == "misses" else colour}


def _legend(rows: list[Row]) -> list[Any]:
    seen = {row["verdict"] for row in rows if row["kind"] == "mean"}
    labels = {"true": "true", "misses": "misses, as it declares", "wrong": "wrong"}
    look: dict[str, Any] = {"color": GREY, "linewidth": 0, "markersize": 4.5}
    handles: list[Any] = [
        Line2D([], [], **look, **_face(word, GREY), label=labels[word])
        for word in labels
        if word in seen
    ]
    handles.append(Line2D([], [], **look | {"markersize": 3}, marker=".", label="one trial"))
    return [*handles, Patch(facecolor="#e6e6e6", edgecolor="none", label="allowed")]


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    text = (
        "Error of each collector, reported / known − 1, against CPU time that is known from the "
        f"processes themselves; linear up to ±{LINEAR:g} %, logarithmic beyond. Grey: what is "
        f"allowed, {100 * LIMIT:g} % or, through /proc, two clock ticks of 10 ms a process. "
        "Filled: within it. Open: beyond it, by a blind spot that the collector's YAML lists. "
        "Crosses: beyond it otherwise. Bars: 95 % t intervals of the mean over blocks."
    )
    gone = {row["title"]: row["reason"] for row in rows if row["kind"] == "unavailable"}
    return text + "".join(f" {title}: {reason}." for title, reason in gone.items())


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    parts = ["Dot plots of reported over known CPU time minus one, a panel a load."]
    for row in rows:
        load = in_words(row["workload"])
        if row["kind"] == "mean":
            error = percent(row["value"] / 100, 2)
            parts.append(f"{row['title']}, {load}: {error}, {row['verdict']}.")
        elif row["kind"] == "unavailable":
            parts.append(f"{row['title']}, {load}: unavailable.")
    return " ".join(parts)
