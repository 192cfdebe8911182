"""exact_beside_live: what each collector executes against the time it takes, both logarithmic."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.figures.style import GREY, RULE, log_limits, log_ticks, new_figure
from analysis.tables.beside import condition
from analysis.text import number

Row = dict[str, Any]
NAME = "exact_beside_live"
#: Lines of equal time per instruction, ns.
EQUAL = (0.1, 1.0, 10.0)
#: By source of the arm and kind of row: colour, marker, filled, name.
LOOKS = {
    ("proc", "scrape"): ("#D55E00", "o", True, "polling /proc, a scrape"),
    ("ebpf", "scrape"): ("#0072B2", "^", True, "eBPF, a scrape"),
    ("none", "scrape"): (GREY, "X", True, "sleeping only"),
    ("ebpf", "event"): ("#0072B2", "v", False, "eBPF, a context switch"),
}


def plotted(rows: list[Row], sources: dict[str, str]) -> list[Row]:
    """The table's rows with the source of their arm; value is the live time in ns."""
    return [
        {**row, "source": sources.get(row["arm"], "none"), "value": row["live_ns"]} for row in rows
    ]


def draw(rows: list[Row], width: float) -> Figure:
    """One panel; diagonals of equal time per instruction."""
    wide = width > 4
    figure = new_figure(width, 3.1 if wide else 3.0)
    ax = figure.subplots()
    ax.set_xscale("log")
    ax.set_yscale("log")
    xs = log_limits([row["instructions"] for row in rows], 2.0)
    ys = log_limits([row["value"] for row in rows if row["value"] > 0], 2.0)
    ax.set_xlim(*xs)
    ax.set_ylim(*ys)
    for each in EQUAL:
        ax.plot(xs, [x * each for x in xs], color=RULE, linewidth=0.8, zorder=0)
        at = min(xs[1], ys[1] / each)
        ax.annotate(
            f"{each:g} ns", (at, at * each), (-2, -8), textcoords="offset points", ha="right",
            color=GREY,
        )  # fmt: skip
    seen = []
    for row in rows:
        key = (row["source"], row["kind"])
        colour, marker, filled, _ = LOOKS.get(key, LOOKS["none", "scrape"])
        seen.append(key if key in LOOKS else ("none", "scrape"))
        face = colour if filled else "white"
        if row["live_low"] is not None and row["live_high"] is not None:
            ends = [max(row["live_low"], ys[0]), row["live_high"]]
            ax.plot([row["instructions"]] * 2, ends, color=colour, linewidth=1)
        ax.plot(
            [row["instructions"]], [row["value"]], marker=marker, color=colour,
            markerfacecolor=face, markersize=4.5, linewidth=0,
        )  # fmt: skip
    log_ticks(ax, "x", 6 if wide else 4)
    log_ticks(ax, "y", 6)
    ax.set_xlabel("instructions, exact virtual machine")
    ax.set_ylabel("time, live machine (ns)")
    handles = [
        Line2D([], [], color=c, marker=m, markerfacecolor=c if f else "white", linewidth=0,
               markersize=4.5, label=label)
        for key, (c, m, f, label) in LOOKS.items()
        if key in seen
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=4 if wide else 2)
    return figure


def caption(rows: list[Row]) -> str:
    """What is shown."""
    return (
        "What each collector executes (exact virtual machine) against the time it takes (live "
        "machine), both axes logarithmic; bars: 95 % intervals of the time over blocks. Diagonals "
        "join points of equal time per instruction: the higher above one, the more a point waits "
        "for memory. Instructions are the emulator's guest instructions, not a hardware counter's."
    )


def alt(rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    parts = ["Scatter plot of live nanoseconds against exact instructions, log scales."]
    parts += [
        f"{row['title']}, {condition(row)}: {number(row['instructions'], 3)} instructions, "
        f"{number(row['ns_per_instruction'], 2)} ns each."
        for row in rows
    ]
    return " ".join(parts)
