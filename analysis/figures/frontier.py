"""map: which collector costs least over processes and switches, a panel an interval."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from analysis.crossover import outcome
from analysis.crossover.outcome import ARTICLE, ARTICLE_INTERVAL_S, Crossover
from analysis.crossover.region import REACH, outside
from analysis.crossover.verdicts import PAIRS
from analysis.figures.style import BLACK, GREY, log_ticks, looks, new_figure
from analysis.results import Results
from analysis.text import about

Row = dict[str, Any]
GRID = 32  # cells of a panel's side
LINE = 40  # points of a line
HATCH = "////"
SHADES = ((1.1, 0.10), (2.0, 0.30), (10.0, 0.55), (float("inf"), 0.85))  # ratio below, ink
WORDS = ("less than 1.1×", "1.1 to 2×", "2 to 10×", "10× or more")
PUBLISHED, FLOOR = "published", "floor"
STYLES: dict[str, Any] = {PUBLISHED: "--", FLOOR: "-"}
LABELS = {
    PUBLISHED: "break-even, as published",
    FLOOR: "break-even, both at their floor",
}


def applies(r: Results) -> bool:
    """Only a run of design points whose model could be fitted for two collectors."""
    return r.crossover is not None and len(r.crossover.arms) > 1


def _grid(low: float, high: float, cells: int) -> list[float]:
    """Middles of cells that are equal on a log axis."""
    edges = np.geomspace(low, high, cells + 1)
    return [float(v) for v in np.sqrt(edges[1:] * edges[:-1])]


def plotted(r: Results) -> list[Row]:
    """Rows of kind cheapest (value: next one's cost over its), line, point and article.

    line: value is the rate at which a pair costs the same, with low and high; point: the cheapest
    as measured there.
    """
    c = r.crossover
    assert c is not None
    rows: list[Row] = []
    (first, last), (least, most) = c.region["processes"], c.region["switches_per_s"]
    for interval in c.intervals:
        at: Row = {"interval_s": interval}
        for count in _grid(first, last, GRID):
            for rate in _grid(least, most, GRID):
                here = {"processes": count, "switches_per_s": rate}
                where = replace(c.usual, interval_s=interval, **here)
                arm, ratio = c.cheapest(where)
                row: Row = {"kind": "cheapest", **here, "arm": arm, "value": min(ratio, 1e6)}
                rows.append({**at, **row, "measured": not outside(c.region, where)})
        for count in np.geomspace(first, last, LINE):
            rows += [{**at, **row} for row in _lines(c, interval, float(count))]
        rows += [{**at, **row} for row in _measured(c, interval)]
    near = min(c.intervals, key=lambda seconds: abs(np.log(seconds / ARTICLE_INTERVAL_S)))
    for count in ARTICLE:
        article: Row = {"interval_s": near, "kind": "article", "processes": float(count)}
        rows.append({**article, "value": c.usual.switches_per_s})
    return rows


def _lines(c: Crossover, interval: float, count: float) -> list[Row]:
    """Where the published pair meets, and the hook at its floor with the cheapest without one."""
    where = replace(c.usual, processes=count, interval_s=interval)
    published, hook = PAIRS[0], PAIRS[1][1]
    pairs = {PUBLISHED: published} if set(published) <= set(c.arms) else {}
    polling = [a for a in c.arms if not outcome.hooked(c, a)]
    if hook in c.arms and polling:
        best = min(polling, key=lambda a: c.fits[a].middle(where))
        pairs[FLOOR] = (best, hook)
    made = []
    for name, (one, other) in pairs.items():
        found = c.meet(one, other, where)
        rate = found.found.rate
        if rate.estimate is None:
            continue
        row: Row = {"kind": "line", "pair": name, "arm": one, "processes": count}
        row |= {"value": rate.estimate, "low": rate.low, "high": rate.high}
        made.append({**row, "measured": not found.beyond})
    return made


def _measured(c: Crossover, interval: float) -> list[Row]:
    """The cheapest of the arms at each measured point of an interval, without further threads."""
    made = []
    means: Any = c.cells[c.cells["arm"].isin(c.arms)].pivot_table(
        index="point", columns="arm", values="cost", aggfunc="median" if c.exact else "mean"
    )
    for point, planned in c.planned.items():
        same = abs(int(planned["interval_ms"]) / 1e3 - interval) < 1e-9
        if not same or planned["threads_per_process"] != 1 or point not in means.index:
            continue
        costs = means.loc[point].dropna().sort_values()
        ratio = float(costs.iloc[1] / costs.iloc[0]) if len(costs) > 1 else None
        place = c.place(point)
        row: Row = {"kind": "point", "point": point, "processes": place["processes"]}
        row |= {"switches_per_s": place["switches_per_s"], "arm": str(costs.index[0])}
        made.append({**row, "value": ratio, "held_out": bool(planned.get("held_out"))})
    return made


def _ink(ratio: float) -> float:
    return next(ink for below, ink in SHADES if ratio < below)


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """A panel an interval: three side by side at two columns, one above the other at one."""
    c = r.crossover
    assert c is not None
    wide = width > 4
    columns = min(3, len(c.intervals)) if wide else 1
    lines = -(-len(c.intervals) // columns)
    figure = new_figure(width, (2.35 if wide else 2.1) * lines + (1.05 if wide else 1.75))
    axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for number_, (ax, interval) in enumerate(zip(axes.ravel(), c.intervals, strict=False)):
        here = [row for row in rows if row["interval_s"] == interval]
        _panel(ax, c, r, here)
        ax.set_title(f"a scrape every {interval:g} s", loc="left", pad=3)
        if number_ + columns >= len(c.intervals):
            ax.set_xlabel("processes")
            ax.tick_params(labelbottom=True)
        if number_ % columns == 0:
            ax.set_ylabel("context switches/s")
    for ax in axes.ravel()[len(c.intervals) :]:
        ax.set_axis_off()
    figure.legend(handles=_legend(r, rows), loc="outside lower center", ncols=3 if wide else 1)
    return figure


def _panel(ax: Any, c: Crossover, r: Results, rows: list[Row]) -> None:
    style = looks(r.run)
    (first, last), (least, most) = c.region["processes"], c.region["switches_per_s"]
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(first / 1.12, last * 1.12)
    ax.set_ylim(least / 1.25, most * 1.25)
    cells = [row for row in rows if row["kind"] == "cheapest"]
    colours = np.ones((GRID, GRID, 3))
    for n, row in enumerate(cells):
        ink = _ink(row["value"])
        colours[n % GRID, n // GRID] = 1 - ink * (1 - np.array(to_rgb(style[row["arm"]].colour)))
    x, y = np.geomspace(first, last, GRID + 1), np.geomspace(least, most, GRID + 1)
    ax.pcolormesh(x, y, colours, rasterized=True)
    gone = np.array([row["measured"] for row in cells]).reshape(GRID, GRID).T
    # a mesh takes no hatching, a filled contour does
    mid = [np.sqrt(edges[1:] * edges[:-1]) for edges in (x, y)]
    mid[0][[0, -1]], mid[1][[0, -1]] = x[[0, -1]], y[[0, -1]]
    if not gone.all():
        area: Any = (*mid, np.where(gone, 0.0, 1.0), [0.5, 1.5])
        ax.contourf(*area, colors=["white"], alpha=0.55)
        ax.contourf(*area, colors="none", hatches=[HATCH])
    for name in (PUBLISHED, FLOOR):
        line = [row for row in rows if row["kind"] == "line" and row["pair"] == name]
        line = [row for row in line if row["measured"]]
        if not line:
            continue
        at = [row["processes"] for row in line]
        low = [max(row["low"] or least, least) for row in line]
        high = [min(row["high"] or most, most) for row in line]
        ax.fill_between(at, low, high, color=BLACK, alpha=0.18, linewidth=0)
        ax.plot(at, [row["value"] for row in line], STYLES[name], color=BLACK)
    for row in rows:
        if row["kind"] == "point":
            look = style[row["arm"]]
            ax.plot(
                row["processes"], row["switches_per_s"], marker=look.marker, color=look.colour,
                markersize=5, markeredgecolor=BLACK, markeredgewidth=0.6, clip_on=False,
            )  # fmt: skip
        if row["kind"] == "article" and first <= row["processes"] <= last:
            ax.axvline(row["processes"], color=BLACK, linewidth=0.8, linestyle=":")
            ax.plot(row["processes"], row["value"], marker="x", color=BLACK, markersize=6)
    log_ticks(ax, "x", 4)
    log_ticks(ax, "y", 6)


def _legend(r: Results, rows: list[Row]) -> list[Any]:
    style = looks(r.run)
    seen = {row["arm"] for row in rows if row["kind"] in ("cheapest", "point")}
    handles: list[Any] = [
        Patch(facecolor=style[arm].colour, label=f"{r.run.title(arm)} is cheapest")
        for arm in r.run.arms
        if arm in seen
    ]
    for pair in (FLOOR, PUBLISHED):
        if any(row["kind"] == "line" and row["pair"] == pair and row["measured"] for row in rows):
            handles.append(Line2D([], [], color=BLACK, linestyle=STYLES[pair], label=LABELS[pair]))
    for (_, ink), word in zip(SHADES, WORDS, strict=True):
        handles.append(Patch(facecolor=str(1 - ink), label=f"next one costs {word}"))
    ring: dict[str, Any] = {"markeredgecolor": BLACK, "markeredgewidth": 0.6, "linewidth": 0}
    handles.append(
        Line2D([], [], color="white", marker="o", **ring, label="measured, in its colour")
    )
    cross: dict[str, Any] = {"color": BLACK, "linestyle": ":", "marker": "x"}
    handles.append(Line2D([], [], **cross, label="article's processes, our idle rate"))
    if not all(row["measured"] for row in rows if row["kind"] == "cheapest"):
        hatched: dict[str, Any] = {"facecolor": "white", "edgecolor": GREY, "hatch": HATCH}
        handles.append(Patch(**hatched, label="no such combination measured"))
    return handles


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    c = r.crossover
    assert c is not None
    band = "least and greatest over perturbations" if c.exact else "95 % Fieller intervals"
    counts = " and ".join(f"about {count}" for count in ARTICLE)
    (first, last), (least, most) = c.region["processes"], c.region["switches_per_s"]
    return (
        f"Which collector costs least, by the cost model of {outcome.machine(r.run)}; the paler, "
        "the closer the next one. The axes go as far as this run's design points: "
        f"{about(first)} to {about(last)} processes, {about(least)} to {about(most)} switches a "
        "second. Hatched: further than a factor of "
        f"{REACH:g} from the hull of the points that were measured together (processes, switches "
        "and interval). Lines: where two cost the same; bands: "
        f"{band}. Solid: the hook at its floor against the cheapest collector without one; dashed: "
        "the published pair. Markers: measured points, in the colour and shape of the one that was "
        f"the cheapest there; {about(c.usual.threads)} further threads, "
        f"{about(c.usual.active)} switching tasks. Dotted: the article's {counts} processes at "
        "an interval of about 1 s; its switch rate is not known, the cross is this machine's idle "
        f"one, {about(c.usual.switches_per_s)} a second."
    )


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    c = r.crossover
    assert c is not None
    parts = ["Maps of the cheapest collector over processes and context switches a second."]
    for interval in c.intervals:
        cells = [e for e in rows if e["kind"] == "cheapest" and e["interval_s"] == interval]
        shares = {arm: sum(e["arm"] == arm for e in cells) / len(cells) for arm in c.arms}
        said = [f"{r.run.title(a)} {100 * s:.0f} %" for a, s in shares.items() if s > 0]
        parts.append(f"A scrape every {interval:g} s: share of the map {', '.join(said)}.")
    return " ".join(parts)
