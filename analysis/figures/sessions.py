"""sessions: forest plot, the ratio of every contrast in each session and over all of them."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.figures.style import BLACK, GREY, RULE, log_limits, log_ticks, new_figure
from analysis.tables.sessions import level, stated, times
from analysis.text import NOTHING

Row = dict[str, Any]
NAME = "sessions"
EQUAL = (0.9, 1.1)


def plotted(group: dict[str, Any]) -> list[Row]:
    """Rows of kind session and pooled: contrast, value (the ratio), low, high, n, reason."""
    rows: list[Row] = []
    for e in group["contrasts"]:
        title = f"{e['titles'][0]} / {e['titles'][1]}"
        base: Row = {"contrast": e["id"], "title": title, "processes": e["level"]}
        entries = [("session", s["run"], stated(s.get("ratio")), s) for s in e["per_session"]]
        if e["pooled"] is not None:
            entries.append(("pooled", "pooled", e["pooled"]["ratio"], e["pooled"]))
        for kind, session, ratio, found in entries:
            row = {**base, "kind": kind, "session": session, "value": ratio.estimate}
            row |= {"low": ratio.low, "high": ratio.high, "n": ratio.n}
            row |= {"verdict": found.get("verdict"), "reason": found.get("reason", "")}
            rows.append(row)
    return rows


def draw(group: dict[str, Any], rows: list[Row], width: float) -> Figure:
    """One line a session, a diamond for the pooled ratio; contrasts below each other."""
    ends = [v for row in rows for v in (row["value"], row["low"], row["high"]) if v and v > 0]
    low, high = log_limits([*ends, *EQUAL])
    contrasts = list(dict.fromkeys(row["contrast"] for row in rows))
    lines = len(rows) + len(contrasts)
    figure = new_figure(width, 0.155 * lines + 0.85)
    ax = figure.subplots()
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    ax.axvspan(*EQUAL, color="#f2f2f2", linewidth=0, zorder=0)
    ax.axvline(1, color=RULE, linewidth=0.8)
    ticks: dict[float, str] = {}
    y = 0.0
    names = {s: str(n) for n, s in enumerate(_sessions(group), 1)}
    for name in contrasts:
        here = [row for row in rows if row["contrast"] == name]
        text = f"{here[0]['title']}, {level(here[0]['processes'])}"
        ax.text(0, y, text, transform=ax.get_yaxis_transform(), va="center", ha="left")
        for row in here:
            y += 1
            ticks[y] = "pooled" if row["kind"] == "pooled" else names[row["session"]]
            _mark(ax, row, y, (low, high))
            if width > 4 or row["kind"] == "pooled":
                said = times(stated({**row, "estimate": row["value"]}))
                said = row["reason"] and "not counted" or said
                shade = BLACK if row["kind"] == "pooled" else GREY
                place: dict[str, Any] = {"va": "center", "ha": "left", "color": shade}
                ax.text(1.01, y, said, transform=ax.get_yaxis_transform(), **place)
        y += 1
    ax.set_ylim(y - 0.4, -0.6)
    ax.set_yticks(list(ticks), list(ticks.values()))
    ax.tick_params(axis="y", length=0)
    ax.grid(True, axis="x")
    log_ticks(ax, "x", 6)
    ax.set_xlabel("ratio of mean costs")
    figure.legend(handles=_legend(), loc="outside lower center", ncols=2)
    return figure


def _sessions(group: dict[str, Any]) -> list[str]:
    return [str(run) for run in group["runs"]]


def _mark(ax: Any, row: Row, y: float, limits: tuple[float, float]) -> None:
    if row["value"] is None or row["value"] <= 0:
        ax.text(limits[0] * 1.05, y, NOTHING, color=GREY, va="center")
        return
    pooled = row["kind"] == "pooled"
    colour = BLACK if pooled else GREY
    ends = [row["low"], row["high"]]
    if row["low"] is not None or row["high"] is not None:
        left = limits[0] if ends[0] is None else max(ends[0], limits[0])
        right = limits[1] if ends[1] is None else ends[1]
        ax.plot([left, right], [y, y], color=colour, linewidth=1.4 if pooled else 1.0)
    face = "white" if row["reason"] else colour
    look: dict[str, Any] = {"marker": "D" if pooled else "o", "markersize": 5 if pooled else 3.5}
    ax.plot([row["value"]], [y], color=colour, markerfacecolor=face, **look)


def _legend() -> list[Line2D]:
    one: dict[str, Any] = {"color": GREY, "marker": "o", "markersize": 3.5}
    all_: dict[str, Any] = {"color": BLACK, "marker": "D", "markersize": 5}
    return [Line2D([], [], **one, label="one session"), Line2D([], [], **all_, label="pooled")]


def caption(group: dict[str, Any], rows: list[Row]) -> str:
    """What is shown, over what it generalises, and which session is which number."""
    numbered = ", ".join(f"{n}: {run}" for n, run in enumerate(_sessions(group), 1))
    text = (
        "Ratio of mean costs of each declared contrast, log scale. Grey: one session, 95 % Fieller "
        "interval over its blocks. Black: over the means of the sessions, Fieller with as many "
        "degrees of freedom as sessions less one. Shaded: ratios that count as indistinguishable. "
        f"Pooled verdicts generalise {group['generalises']}. Sessions: {numbered}."
    )
    if any(row["reason"] for row in rows):
        text += " Open: not counted, see the table."
    return text


def alt(group: dict[str, Any], rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    parts = ["Forest plot of ratios of mean costs, one line a session and one for all."]
    for row in rows:
        if row["kind"] == "pooled" and row["value"] is not None:
            ratio = stated({**row, "estimate": row["value"]})
            parts.append(
                f"{row['title']}, {level(row['processes'])}: pooled {times(ratio)}, "
                f"{row['verdict']}."
            )
    return " ".join(parts)
