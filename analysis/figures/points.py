"""table_points: the table as points, means and intervals; one row an arm, one panel a level."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.figures.style import BLACK, GREY, RULE, log_limits, log_ticks, looks, new_figure
from analysis.levels import at, of_entry
from analysis.measures import LEFT_ALONE, NOT_PLANNED, level_text
from analysis.published import article_of, claim_at
from analysis.results import Results

Row = dict[str, Any]
METHODS = ("headline", "published")
OFFSETS = {"headline": -0.17, "published": 0.17}
MOST_PANELS = 3


def row_level(row: Row) -> int:
    """The level a row belongs to; its CSV field is empty where the processes are left alone."""
    return of_entry(row)


def shown_levels(r: Results, *measures: str) -> list[int]:
    """Levels that get a panel: all with a value, or the lowest, a middle one and the highest."""
    levels = r.levels_with(*(measures or METHODS)) or r.levels
    if len(levels) <= MOST_PANELS:
        return levels
    return [levels[0], levels[len(levels) // 2], levels[-1]]


def plotted(r: Results) -> list[Row]:
    """Rows of kind block, mean (with low and high), article and unavailable (with a reason)."""
    rows: list[Row] = []
    source = article_of(r.run.study)
    for level in shown_levels(r):
        claim = claim_at(r.run.study, level)
        for arm in r.arms:
            base: Row = {**at(level), "arm": arm}
            base["title"] = r.run.title(arm)
            reasons = []
            for measure in METHODS:
                cell = r.measures.get(measure, arm, level)
                if cell.empty:
                    reasons.append(r.measures.reason(measure, arm, level))
                    continue
                for block, value in cell.items():
                    rows.append(
                        {
                            **base,
                            "method": measure,
                            "kind": "block",
                            "block": block,
                            "value": float(value),
                        }
                    )
                mean = r.interval(measure, arm, level)
                ends = {"low": mean.low, "high": mean.high, "n": mean.n}
                row = {**base, "method": measure, "kind": "mean", "value": mean.estimate}
                rows.append({**row, **ends})
            if len(reasons) == len(METHODS):
                reason = _telling(reasons)
                kind = "not planned" if reason.startswith(NOT_PLANNED) else "unavailable"
                rows.append({**base, "kind": kind, "reason": reason})
            side = {source["proc"]: "proc", source["ebpf"]: "ebpf"}.get(arm) if source else None
            if claim and side:
                value = claim[f"{side}_percent_core"]
                rows.append({**base, "method": "article", "kind": "article", "value": value})
    return rows


def _telling(reasons: list[str]) -> str:
    """The reason that names the cause: "not planned" only if there is no other."""
    telling = [reason for reason in reasons if not reason.startswith(NOT_PLANNED)]
    return (telling or reasons)[0]


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """Stacked panels at one column, panels side by side at two."""
    style, levels = looks(r.run), shown_levels(r)
    arms = [a for a in r.arms if any(row["arm"] == a for row in rows)]
    values = [
        v
        for row in rows
        for v in (row.get("value"), row.get("low"), row.get("high"))
        if v and v > 0
    ]
    limits = log_limits(values) if values else (0.01, 1.0)
    side_by_side = width > 4
    shape = (1, len(levels)) if side_by_side else (len(levels), 1)
    panel = 0.55 + 0.27 * len(arms)
    figure = new_figure(width, panel * shape[0] + 0.75)
    axes = figure.subplots(*shape, sharex=True, sharey=True, squeeze=False).ravel()
    for number, (ax, level) in enumerate(zip(axes, levels, strict=True)):
        ax.set_xscale("log")
        ax.set_xlim(*limits)
        ax.set_ylim(len(arms) - 0.4, -0.6)
        ax.set_yticks(range(len(arms)), [r.run.title(a) for a in arms])
        ax.tick_params(axis="y", length=0)
        ax.grid(True, axis="x")
        for line in range(len(arms) - 1):
            ax.axhline(line + 0.5, color=RULE, linewidth=0.5)
        if len(levels) > 1 or level != LEFT_ALONE:
            ax.set_title(level_text(level), loc="left", pad=3)
        here = [row for row in rows if row_level(row) == level]
        for y, arm in enumerate(arms):
            for measure in METHODS:
                blocks = [row for row in here if (row["arm"], row.get("method")) == (arm, measure)]
                points = [v for row in blocks if row["kind"] == "block" and (v := row["value"]) > 0]
                look: dict[str, Any] = {"color": style[arm].colour, "linewidth": 0, "alpha": 0.35}
                ax.plot(points, [y + OFFSETS[measure]] * len(points), ".", markersize=4, **look)
        for row in here:
            if row["kind"] != "block":
                _mark(ax, row, arms.index(row["arm"]), style[row["arm"]].colour, limits)
        log_ticks(ax, "x", 4 if side_by_side and len(levels) > 2 else 6)
        if side_by_side or number == len(levels) - 1:
            ax.set_xlabel("CPU (% of one core)")
    figure.legend(handles=_legend(rows), loc="outside lower center", ncols=4 if side_by_side else 2)
    return figure


def _mark(ax: Any, row: Row, y: int, colour: str, limits: tuple[float, float]) -> None:
    at = y + OFFSETS.get(row.get("method", ""), 0.0)
    kind, value = row["kind"], row.get("value")
    if "reason" in row:
        ax.text(limits[0] * 1.08, y, kind, color=GREY, va="center", style="italic")
    elif kind == "article":
        ax.plot([value], [y], marker="|", color=BLACK, markersize=13, markeredgewidth=1.2)
    elif value is None or value <= limits[0]:
        # a mean at or below zero has no place on a log axis
        ax.plot([limits[0]], [at], marker="<", color=colour, markersize=5, clip_on=False)
    else:
        if row["low"] is not None:
            ax.plot([max(row["low"], limits[0]), row["high"]], [at, at], color=colour)
        face = colour if row["method"] == "headline" else "white"
        ax.plot([value], [at], marker="o", color=colour, markerfacecolor=face, markersize=4.5)


def _legend(rows: list[Row]) -> list[Line2D]:
    seen = {(row["kind"], row.get("method")) for row in rows}
    mean: dict[str, Any] = {"color": GREY, "marker": "o", "markersize": 4.5}
    handles = []
    if ("mean", "headline") in seen:
        handles.append(Line2D([], [], **mean, label="headline"))
    if ("mean", "published") in seen:
        handles.append(Line2D([], [], **mean, markerfacecolor="white", label="published method"))
    dot: dict[str, Any] = {"color": GREY, "linewidth": 0, "marker": "."}
    handles.append(Line2D([], [], **dot, alpha=0.5, markersize=4, label="one block"))
    if ("article", "article") in seen:
        tick: dict[str, Any] = {"marker": "|", "markersize": 9, "markeredgewidth": 1.2}
        handles.append(Line2D([], [], color=BLACK, linewidth=0, **tick, label="article"))
    return handles


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    drawn = {row["method"] for row in rows if row["kind"] == "mean"}
    text = "CPU cost of each arm on a log scale. Small points: one block."
    if "headline" in drawn:
        text += (
            " Filled: headline (statistics off; reader and calibrated cost of programs in other "
            "tasks)."
        )
    if "published" in drawn:
        text += " Open: the published method (statistics on; reader and program run time)."
    text += " Bars: 95 % t intervals of the mean over blocks."
    if any(row["kind"] == "article" for row in rows):
        text += " Black ticks: the article's means, from another machine."
    if len(r.levels) > MOST_PANELS:
        text += f" Lowest, middle and highest of {len(r.levels)} process counts."
    hidden = sum(1 for row in rows if row["kind"] == "block" and row["value"] <= 0)
    if hidden:
        text += f" {hidden} values at or below zero have no place on the axis; see the CSV."
    gone = {row["title"]: row["reason"] for row in rows if row["kind"] == "unavailable"}
    return text + "".join(f" {title}: {reason}." for title, reason in gone.items())


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    parts = ["Dot plot of CPU cost in percent of one core, log scale, one row an arm."]
    for row in rows:
        if row["kind"] == "mean" and row["value"] is not None:
            where = "" if row["processes"] is None else f" at {row['processes']} processes"
            parts.append(f"{row['title']}{where}, {row['method']}: {row['value']:.3g}.")
        if row["kind"] == "unavailable":
            parts.append(f"{row['title']}: unavailable.")
    return " ".join(parts)
