"""noise: where the scatter of each arm arises, and whether a block depends on the one before."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.figures.style import BLACK, GREY, KERNEL, READER, RULE, new_figure
from analysis.levels import at, of_entry
from analysis.measures import LEFT_ALONE, level_text
from analysis.repetition import percent_of_mean
from analysis.results import Results

Row = dict[str, Any]
PARTS = ("scrapes", "blocks")
LABELS = {"scrapes": "between scrapes of a trial", "blocks": "between blocks"}
_FACE = {"scrapes": (READER, ""), "blocks": (KERNEL, "////")}


def _level(r: Results) -> int | None:
    """The highest level that has a split with statistics off, or on where none is off."""
    levels = {e["level"] for e in r.variance}
    return max(levels, default=None)


def plotted(r: Results) -> list[Row]:
    """Rows of kind share (percent of the variance of a block's mean) and autocorrelation."""
    rows: list[Row] = []
    level = _level(r)
    here = [e for e in r.variance if e["level"] == level]
    states = {e["statistics"] for e in here}
    state = "off" if "off" in states else "on"
    for e in here:
        s = e["split"]
        if e["statistics"] != state or s.scrape_share is None:
            continue
        base: Row = {"kind": "share", "arm": e["arm"], "title": r.run.title(e["arm"])}
        base |= {**at(e["level"]), "statistics": state}
        cv = percent_of_mean(s, s.observed)
        for part, share in zip(PARTS, (s.scrape_share, 1 - s.scrape_share), strict=True):
            rows.append({**base, "part": part, "value": 100 * share, "cv_percent": cv})
    for e in r.noise:
        rho = e["autocorrelation"]
        if rho.estimate is None:
            continue
        name = "A/A" if e["id"] == "a_a" else str(e["id"]).replace("_", " ")
        ends = {"value": rho.estimate, "low": rho.low, "high": rho.high, "n": rho.n}
        rows.append({"kind": "autocorrelation", "title": name, **ends, "p": e["p_order"]})
    return rows


def _titles(rows: list[Row], kind: str) -> list[str]:
    return list(dict.fromkeys(row["title"] for row in rows if row["kind"] == kind))


def draw(r: Results, rows: list[Row], width: float) -> Figure:
    """Shares at the left, autocorrelation at the right; below each other at one column."""
    kinds = [k for k in ("share", "autocorrelation") if _titles(rows, k)]
    counts = [len(_titles(rows, kind)) for kind in kinds]
    wide = width > 4
    shape = (1, len(kinds)) if wide else (len(kinds), 1)
    lines = max(counts) if wide else sum(counts)
    figure = new_figure(width, 0.19 * lines + 0.75 * shape[0] + 0.2)
    heights = {} if wide else {"height_ratios": [count + 1 for count in counts]}
    axes = figure.subplots(*shape, squeeze=False, gridspec_kw=heights).ravel()
    for ax, kind in zip(axes, kinds, strict=True):
        titles = _titles(rows, kind)
        here = [row for row in rows if row["kind"] == kind]
        ax.set_ylim(len(titles) - 0.4, -0.6)
        ax.set_yticks(range(len(titles)), titles)
        ax.tick_params(axis="y", length=0)
        (_shares if kind == "share" else _autocorrelation)(ax, here, titles)
    if "share" in kinds:
        handles = [
            Patch(facecolor=_FACE[p][0], hatch=_FACE[p][1], edgecolor="white", label=LABELS[p])
            for p in PARTS
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2 if wide else 1)
    return figure


def _shares(ax: Any, rows: list[Row], titles: list[str]) -> None:
    left = dict.fromkeys(titles, 0.0)
    for row in rows:
        face, hatch = _FACE[row["part"]]
        look: dict[str, Any] = {"facecolor": face, "hatch": hatch, "edgecolor": "white"}
        at, y = left[row["title"]], titles.index(row["title"])
        ax.barh(y, row["value"], left=at, height=0.66, linewidth=0.4, **look)
        left[row["title"]] += row["value"]
        if row["part"] == PARTS[-1] and row["cv_percent"] is not None:
            ax.text(101.5, y, f"{row['cv_percent']:.2g} %", va="center")
    ax.set_xlim(0, 100)
    ax.set_xticks([0, 50, 100])
    ax.text(101.5, -0.62, "cv", va="bottom", color=GREY)
    ax.set_xlabel("share of the variance (%)")


def _autocorrelation(ax: Any, rows: list[Row], titles: list[str]) -> None:
    ax.axvline(0, color=RULE, linewidth=0.8)
    for row in rows:
        y = titles.index(row["title"])
        ax.plot([row["low"], row["high"]], [y, y], color=BLACK)
        ax.plot([row["value"]], [y], marker="o", color=BLACK, markersize=3.5)
    ax.set_xlim(-1, 1)
    ax.set_xticks([-1, 0, 1])
    ax.set_xlabel("autocorrelation over blocks")


def caption(r: Results, rows: list[Row]) -> str:
    """What is shown; the machine and the date are added by the caller."""
    text = ""
    shares = [row for row in rows if row["kind"] == "share"]
    if shares:
        level = of_entry(shares[0])
        where = "" if level == LEFT_ALONE else f" at {level_text(level)}"
        text += (
            f"Where the scatter of the reader's CPU{where} arises, kernel statistics "
            f"{shares[0]['statistics']}: shares of the variance of a block's mean, from unbiased "
            "components; at the right its coefficient of variation."
        )
    if any(row["kind"] == "autocorrelation" for row in rows):
        text += (
            " Points: correlation of a block with the one before in what each contrast's interval "
            "is made from, with approximate 95 % intervals; 0 is what the analysis assumes."
        )
    return text.strip()


def alt(r: Results, rows: list[Row]) -> str:
    """The same for those who cannot see it."""
    parts = ["Bars of where scatter arises, and points of autocorrelation over blocks."]
    for row in rows:
        if row["kind"] == "share" and row["part"] == "scrapes":
            parts.append(f"{row['title']}: {row['value']:.0f} % between scrapes.")
        if row["kind"] == "autocorrelation":
            parts.append(
                f"{row['title']}: {row['value']:.2f}, from {row['low']:.2f} to {row['high']:.2f}."
            )
    return " ".join(parts)
