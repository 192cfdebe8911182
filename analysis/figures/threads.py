"""cost_vs_threads: each tool's cost against the threads that press the scheduler."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from analysis.cores import threads
from analysis.figures.style import legend_of_arms, log_limits, log_ticks, looks, new_figure
from analysis.results import Results
from analysis.statistics.intervals import mean_interval
from analysis.text import interval

Row = dict[str, Any]


def applies(r: Results) -> bool:
    """Only a live run with several numbers of threads."""
    return bool(r.thread_lines) and not r.exact


def plotted(r: Results) -> list[Row]:
    """Rows of kind block, and mean (with low and high)."""
    rows: list[Row] = []
    for arm in r.arms:
        found = threads.points(r.measures, arm)
        base: Row = {"arm": arm, "title": r.run.title(arm), "measure": "headline"}
        for level, here in found.groupby("threads"):
            at = {**base, "threads": int(str(level))}
            for block, value in zip(here["block"], here["value"], strict=True):
                rows.append({**at, "kind": "block", "block": int(block), "value": float(value)})
            mean = mean_interval(here["value"].to_numpy(dtype=float))
            ends = {"value": mean.estimate, "low": mean.low, "high": mean.high}
            rate = float(here["switches_per_s"].mean())
            rows.append({**at, "kind": "mean", **ends, "switches_per_s": rate})
    return rows


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """One panel; the legend below it. Threads on an even axis, since there is a 0."""
    style = looks(r.run)
    arms = [a for a in r.arms if any(row["arm"] == a for row in rows)]
    wide = width > 4
    columns = 4 if wide else 2
    figure = new_figure(width, (2.9 if wide else 2.3) + 0.16 * (-(-len(arms) // columns)))
    ax = figure.subplots()
    ax.set_yscale("log")
    positive = [row["value"] for row in rows if row["value"] and row["value"] > 0]
    ax.set_ylim(*log_limits(positive) if positive else (0.01, 1))
    floor = ax.get_ylim()[0]
    at = sorted({row["threads"] for row in rows})
    for arm in arms:
        look = style[arm]
        mine = [row for row in rows if row["arm"] == arm and (row["value"] or 0) > 0]
        points = [row for row in mine if row["kind"] == "block"]
        x = [at.index(row["threads"]) for row in points]
        dots: dict[str, Any] = {"alpha": 0.35, "linewidth": 0, "markersize": 4}
        ax.plot(x, [row["value"] for row in points], ".", color=look.colour, **dots)
        means = [row for row in mine if row["kind"] == "mean"]
        x = [at.index(row["threads"]) for row in means]
        ax.plot(x, [row["value"] for row in means], marker=look.marker, color=look.colour, ms=4)
        for place, row in zip(x, means, strict=True):
            if row["low"] is not None:
                ends = [max(row["low"], floor), row["high"]]
                ax.plot([place, place], ends, color=look.colour)
    ax.xaxis.set_major_locator(FixedLocator(list(range(len(at)))))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{at[int(v)]:,}"))
    ax.xaxis.set_minor_locator(NullLocator())
    log_ticks(ax, "y", 6)
    ax.grid(True)
    ax.set_xlabel("threads that sleep and wake")
    ax.set_ylabel("CPU (% of one core)")
    legend_of_arms(figure, r.run, arms, columns)
    return figure


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    rates: dict[int, list[float]] = {}
    for row in rows:
        if row["kind"] == "mean":
            rates.setdefault(row["threads"], []).append(row["switches_per_s"])
    reached = ", ".join(f"{n}: {sum(v) / len(v):,.0f}" for n, v in sorted(rates.items()))
    text = (
        "CPU cost (headline: the reader and its program's runs in other tasks) against the threads "
        "that press the scheduler; means with 95 % t intervals over blocks, dots: one block. "
        f"Context switches a second that were reached: {reached}."
    )
    for line in r.thread_lines:
        text += f" {line['title']}: {interval(line['per_thread'])} ns per thread and scrape."
    return text


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    parts = ["CPU cost in percent of one core against the number of threads."]
    for arm in r.arms:
        mine = [row for row in rows if row["arm"] == arm and row["kind"] == "mean"]
        said = ", ".join(f"{row['value']:.3g} at {row['threads']}" for row in mine)
        if said:
            parts.append(f"{mine[0]['title']}: {said}.")
    return " ".join(parts)
