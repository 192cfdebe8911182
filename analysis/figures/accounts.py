"""accounts_of_one_cost: what one run of each program takes, by every instrument that can tell."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.external import PACES
from analysis.figures.style import GREY, RULE, log_limits, log_ticks, new_figure
from analysis.results import Results
from analysis.text import interval
from analysis.workloads import in_words

Row = dict[str, Any]
# Colour, marker, filled: no two accounts share a marker with the same filling.
LOOKS = {
    "external_off": ("external, statistics off", "#0072B2", "o", True),
    "external_on": ("external, statistics on", "#0072B2", "o", False),
    "statistics_ns": ("kernel statistics", "#D55E00", "^", True),
    "published_in_place": ("published, in place", "#009E73", "s", False),
}
OFFSETS = dict(zip(LOOKS, (-0.27, -0.09, 0.09, 0.27), strict=True))
ROOM_BELOW = 5.0  # the axis begins at most this factor below the smallest mean


def applies(r: Results) -> bool:
    """Only a run that times its programs with statistics off and on."""
    return bool(r.accounts)


def plotted(r: Results) -> list[Row]:
    """A row an account (ns per event or run), and one with a reason where there is none at all."""
    rows: list[Row] = []
    for e in r.accounts:
        base: Row = {key: e[key] for key in ("arm", "title", "workload", "pace")}
        found = {name: e[name] for name in LOOKS if e[name] and e[name].estimate is not None}
        for name, v in found.items():
            value = {"value": v.estimate, "low": v.low, "high": v.high, "n": v.n}
            rows.append({**base, "account": name, **value})
        if not found:
            rows.append({**base, "account": "none", "reason": e["text"]})
    return rows


def _label(row: Row, with_event: bool) -> str:
    event = in_words(row["workload"])
    return f"{row['title']}\nper {event}" if with_event else str(row["title"])


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """A panel a pace, stacked at one column; a line of the panel a program and its event."""
    wide = width > 4
    paces = [pace for pace in PACES if any(row["pace"] == pace for row in rows)]
    lines = list(dict.fromkeys((row["arm"], row["workload"]) for row in rows))
    first = {key: next(x for x in rows if (x["arm"], x["workload"]) == key) for key in lines}
    with_event = len({workload for _, workload in lines}) > 1
    shape = (1, len(paces)) if wide else (len(paces), 1)
    figure = new_figure(width, (0.45 + 0.36 * len(lines)) * shape[0] + (0.6 if wide else 0.75))
    axes = figure.subplots(*shape, sharex=True, sharey=True, squeeze=False).ravel()
    limits = _limits(rows)
    for number, (ax, pace) in enumerate(zip(axes, paces, strict=True)):
        ax.set_xscale("log")
        ax.set_xlim(*limits)
        ax.set_ylim(len(lines) - 0.45, -0.55)
        ax.set_yticks(range(len(lines)), [_label(first[key], with_event) for key in lines])
        ax.tick_params(axis="y", length=0)
        ax.grid(True, axis="x")
        for line in range(len(lines) - 1):
            ax.axhline(line + 0.5, color=RULE, linewidth=0.5)
        ax.set_title(pace, loc="left", pad=3)
        for row in rows:
            if row["pace"] == pace:
                _mark(ax, row, lines.index((row["arm"], row["workload"])), limits)
        log_ticks(ax, "x", 5 if wide else 3)  # names of programs leave little room
        if wide or number == len(paces) - 1:
            ax.set_xlabel("time per event or run (ns)")
    seen = [name for name in LOOKS if any(row["account"] == name for row in rows)]
    handles = [_handle(name) for name in seen]
    figure.legend(handles=handles, loc="outside lower center", ncols=4 if wide else 2)
    return figure


def _limits(rows: list[Row]) -> tuple[float, float]:
    means = [row["value"] for row in rows if (row.get("value") or 0) > 0]
    if not means:
        return 1.0, 100.0
    floor = min(means) / ROOM_BELOW
    ends = [v for row in rows for v in (row.get("low"), row.get("high")) if v and v > floor]
    return log_limits([*means, *ends])


def _handle(name: str) -> Line2D:
    label, colour, marker, filled = LOOKS[name]
    face = colour if filled else "white"
    look: dict[str, Any] = {"color": colour, "marker": marker, "markerfacecolor": face}
    return Line2D([], [], **look, markersize=4.5, label=label)


def _mark(ax: Any, row: Row, y: int, limits: tuple[float, float]) -> None:
    if row["account"] == "none":
        ax.text(limits[0] * 1.08, y, "unavailable", color=GREY, va="center", style="italic")
        return
    _, colour, marker, filled = LOOKS[row["account"]]
    at = y + OFFSETS[row["account"]]
    if row["low"] is not None and row["high"] > limits[0]:
        ax.plot([max(row["low"], limits[0]), row["high"]], [at, at], color=colour)
    if row["value"] <= limits[0]:  # a mean at or below zero has no place on a log axis
        ax.plot([limits[0] * 1.05], [at], marker="<", color=colour, markersize=5)
        return
    face = colour if filled else "white"
    look: dict[str, Any] = {"color": colour, "marker": marker, "markerfacecolor": face}
    ax.plot([row["value"]], [at], **look, markersize=4.5, markeredgewidth=0.9)


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    text = (
        "Independent accounts of one cost, log scale. External: added time of a fixed count of "
        "events with the program attached, less the same without it, kernel statistics "
        "off (filled) and on (open); paced: 10 ms of idling before each, hot: back to back. Kernel "
        "statistics: run time per run in those same trials. "
    )
    if any(row["account"] == "published_in_place" for row in rows):
        text += "Published method in place: the same quotient while the machine runs by itself. "
    text += "Bars: 95 % t intervals over blocks; one that reaches the left edge goes on to zero."
    if any(row.get("value") is not None and row["value"] <= 0 for row in rows):
        text += " Arrowheads: means at or below zero; see the CSV."
    gone = {row["title"]: row["reason"] for row in rows if "reason" in row}
    return text + "".join(f" {title}: {reason}." for title, reason in gone.items())


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    parts = ["Dot plot of nanoseconds per event by instrument, log scale, one row a program."]
    for e in r.accounts:
        event = in_words(e["workload"])
        values = [
            f"{LOOKS[name][0]} {interval(e[name])}"
            for name in LOOKS
            if e[name] and e[name].estimate is not None
        ]
        told = ", ".join(values) or "unavailable"
        parts.append(f"{e['title']} per {event}, {e['pace']}: {told}.")
    return " ".join(parts)
