"""source_table: the source's ratios as it counts them, ours with intervals, one panel a level."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis import exact, levels
from analysis.cores import own
from analysis.figures.style import BLACK, GREY, RULE, log_limits, log_ticks, new_figure
from analysis.published import number_of
from analysis.results import Results
from analysis.text import number, span

Row = dict[str, Any]
ALONE, WHOLE = "#0072B2", "#D55E00"  # the process alone, with its program's time elsewhere
OFFSETS = {own.PUBLISHED: -0.15, own.CORRECTED: 0.15}
WITH_PROGRAM = frozenset(own.WHOLE.values())


def applies(r: Results) -> bool:
    """Only a run that follows the source's protocol."""
    return bool(r.own_ratios)


def plotted(r: Results) -> list[Row]:
    """Rows of kind ratio (with low, high) and published; free system first."""
    rows: list[Row] = []
    for e in r.own_ratios:
        c = e["comparison"]
        base: Row = {"measure": e["measure"], "title": own.MEASURES[e["measure"]].title}
        base |= {"monitor": e["denominator"], **levels.at(e["level"])}
        ends = {"value": c.ratio.estimate, "low": c.ratio.low, "high": c.ratio.high}
        rows.append({**base, "kind": "ratio", **ends, "n": c.ratio.n, "verdict": e["verdict"]})
        claim = number_of(r.run.study, e["measure"], levels.stress_of(e["level"]))
        if "ratio" in claim and e["denominator"] == own.PUBLISHED:
            rows.append({**base, "kind": "published", "value": claim["ratio"]})
    return rows


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """Panels side by side at two columns, stacked at one."""
    shown = sorted({levels.of_entry(row) for row in rows}, key=abs)
    names = list(dict.fromkeys(row["title"] for row in rows))
    side_by_side = width > 4
    shape = (1, len(shown)) if side_by_side else (len(shown), 1)
    figure = new_figure(width, (0.5 + 0.24 * len(names)) * shape[0] + 0.7)
    axes = figure.subplots(*shape, sharex=True, sharey=True, squeeze=False).ravel()
    values = [v for row in rows for k in ("value", "low", "high") if (v := row.get(k)) and v > 0]
    limits = log_limits([*values, 1.0])
    for ax, level in zip(axes, shown, strict=True):
        ax.set_xscale("log")
        ax.set_xlim(*limits)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.set_yticks(range(len(names)), names)
        ax.tick_params(axis="y", length=0)
        ax.grid(True, axis="x")
        ax.axvline(1, color=GREY, linewidth=0.8)
        for line in range(len(names) - 1):
            ax.axhline(line + 0.5, color=RULE, linewidth=0.5)
        ax.set_title(levels.text(level), loc="left", pad=3)
        for row in rows:
            if levels.of_entry(row) == level:
                _mark(ax, row, names.index(row["title"]), limits)
        log_ticks(ax, "x")
        if side_by_side or ax is axes[-1]:
            ax.set_xlabel("top / monitor (×)")
    figure.legend(handles=_legend(rows), loc="outside lower center", ncols=4 if side_by_side else 1)
    return figure


def _mark(ax: Any, row: Row, y: int, limits: tuple[float, float]) -> None:
    value, at = row["value"], y + OFFSETS[row["monitor"]]
    if value is None or value <= 0:
        if row["monitor"] == own.CORRECTED:
            return  # once is enough
        ax.text(limits[0] * 1.1, y, "no ratio", color=GREY, va="center", style="italic")
        return
    if row["kind"] == "published":
        ax.plot([value], [y], marker="|", color=BLACK, markersize=13, markeredgewidth=1.2)
        return
    colour = WHOLE if row["measure"] in WITH_PROGRAM else ALONE
    if row["low"] is not None or row["high"] is not None:
        low = limits[0] if row["low"] is None else max(row["low"], limits[0])
        ax.plot([low, row["high"] or limits[1]], [at, at], color=colour)
    face = colour if row["monitor"] == own.PUBLISHED else "white"
    ax.plot([value], [at], marker="o", color=colour, markerfacecolor=face, markersize=4.5)


def _legend(rows: list[Row]) -> list[Line2D]:
    measures = {row["measure"] for row in rows}
    dot: dict[str, Any] = {"marker": "o", "markersize": 4.5}
    handles = [Line2D([], [], color=ALONE, **dot, label="the process alone")]
    if WITH_PROGRAM & measures:
        handles.append(Line2D([], [], color=WHOLE, **dot, label="with its kernel program"))
    if any(row["monitor"] == own.CORRECTED for row in rows):
        open_dot: dict[str, Any] = {**dot, "markerfacecolor": "white", "linewidth": 0}
        handles.append(Line2D([], [], color=GREY, **open_dot, label="the corrected monitor"))
    if any(row["kind"] == "published" for row in rows):
        tick: dict[str, Any] = {"marker": "|", "markersize": 9, "markeredgewidth": 1.2}
        handles.append(Line2D([], [], color=BLACK, linewidth=0, **tick, label="published"))
    return handles


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    del rows
    if exact.counted(r.run):
        return (
            "Instructions of top over those of the eBPF monitor, each from start to end, in the "
            "exact virtual machine: of the process alone, and of the whole machine, its kernel "
            "program in other tasks included; median and range over declared perturbations. Bars: "
            "what was published, by a hardware counter of the process alone."
        )
    return (
        "What perf stat counts of top over what it counts of the eBPF monitor, each from its "
        "start to its end: means with 95 % intervals (Fieller); left of 1 the monitor is the "
        "dearer one. Bars: what was published. With its kernel program: what that takes of "
        "other tasks' time, which that method leaves out, is added."
    )


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    del r
    parts = ["Ratios of top to the eBPF monitor, a panel a level."]
    for row in rows:
        where = levels.text(levels.of_entry(row))
        if row["kind"] == "published":
            parts.append(f"{row['title']}, {where}: the source says {row['value']:g}.")
        elif row["value"] is not None:
            ends = span(row["low"], row["high"], row["value"])
            which = "corrected" if row["monitor"] == own.CORRECTED else "published"
            said = f"{row['title']}, {where}, over the {which} monitor"
            parts.append(f"{said}: {number(row['value'])} {ends}.")
    return " ".join(parts)
