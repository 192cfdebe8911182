"""The tables about scatter: where it arises, whether order matters, what could be detected."""

from __future__ import annotations

from analysis.levels import at
from analysis.measures import MEASURES, level_text
from analysis.repetition import percent_of_mean
from analysis.results import Results
from analysis.tables.costs import Row, make_table
from analysis.text import NOTHING, Table, ends, interval, number, p_text


def _percent(value: float | None, digits: int = 2) -> str:
    return NOTHING if value is None else f"{number(value, digits)} %"


def _signed(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}".replace("-", "−")


def variance(r: Results) -> Table | None:
    """Scatter of the reader's CPU over scrapes and over blocks; None without scrapes."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.variance:
        s = e["split"]
        row: Row = {"arm": e["arm"], **at(e["level"])}
        row |= {"statistics": e["statistics"], "mean_percent_core": s.mean, "blocks": s.blocks}
        row |= {"scrapes": s.scrapes, "variance_of_block_means": s.observed}
        row |= {"variance_scrapes": s.scrape, "variance_blocks": s.block}
        cvs = [percent_of_mean(s, part) for part in (s.scrape, s.block, s.observed)]
        names = ("cv_scrapes_percent", "cv_blocks_percent", "cv_of_block_means_percent")
        row |= dict(zip(names, cvs, strict=True))
        share = None if s.scrape_share is None else 100 * s.scrape_share
        row |= {"share_of_scrapes_percent": share, "best_scrapes": e["best_scrapes"]}
        rows.append(row)
        best = e["best_scrapes"]
        shown.append(
            [
                r.run.title(e["arm"]),
                level_text(e["level"]),
                e["statistics"],
                f"{s.blocks} × {s.scrapes:.2g}",
                *(_percent(v) for v in cvs),
                NOTHING if share is None else f"{share:.0f} %",
                str(best) if best else "the more the better" if s.scrape is not None else NOTHING,
            ]
        )
    if not rows:
        return None
    head = ["arm", "level", "statistics", "blocks × scrapes", "cv of a scrape", "cv of a block"]
    head += ["cv of a block's mean", "of it from scrapes", "best scrapes a trial"]
    note = (
        "Reader's CPU from scrape to scrape, nested in blocks: unbiased variance components "
        "(Kalibera and Jones 2013), as sd over mean; below zero counts as none. What comes from "
        "scrapes, longer windows reduce; what comes from blocks, only more blocks. Best: scrapes "
        "in a window that give the narrowest interval in a given time, setting up included."
    )
    return make_table("variance", rows, head, shown, note)


def independence(r: Results) -> Table | None:
    """Noise of every contrast: spreads, correlation with the block before, detectable effect."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.noise:
        row: Row = {key: e[key] for key in ("id", "numerator", "denominator", "measure")}
        row |= {"statistics": e["statistics"], **at(e["level"])}
        row |= {key: e[key] for key in ("blocks", "cv_numerator", "cv_denominator", "correlation")}
        row |= ends("autocorrelation", e["autocorrelation"])
        row |= {"p_order": e["p_order"], "interval_too_narrow_by": e["widening"]}
        row |= {"detectable_percent_core": e["detectable"]}
        rows.append({**row, "detectable_of_denominator": e["detectable_of_denominator"]})
        cvs = [e["cv_numerator"], e["cv_denominator"]]
        found = e["detectable_of_denominator"]
        rho = e["autocorrelation"]
        shown.append(
            [
                f"{r.run.title(e['numerator'])} against itself (A/A)"
                if e["id"] == "a_a"
                else f"{r.run.title(e['numerator'])} against {r.run.title(e['denominator'])}",
                level_text(e["level"]),
                MEASURES[e["measure"]],
                str(e["blocks"]),
                *(_percent(None if cv is None else 100 * cv) for cv in cvs),
                _signed(e["correlation"]),
                interval(rho) if rho.estimate is not None else rho.note,
                p_text(e["p_order"]),
                "out of reach"
                if e["detectable"] is None
                else f"{number(e['detectable'], 2)} % of a core ({_percent(100 * found)})"
                if found is not None
                else f"{number(e['detectable'], 2)} % of a core",
            ]
        )
    if not rows:
        return None
    head = ["contrast", "level", "method", "blocks", "cv, numerator", "cv, denominator"]
    head += ["correlation", "autocorrelation over blocks", "p, order", "detectable"]
    note = (
        "cv: sd over blocks / mean. Correlation: of the two arms' costs in one block. "
        "Autocorrelation: of a block with the one before, in what the ratio's interval is made "
        "from; approximate 95 % interval, p by permuting the order of the blocks. Detectable: "
        "smallest true difference found with 80 % power in its family (in brackets: of the "
        "denominator's cost)."
    )
    return make_table("independence", rows, head, shown, note)


def position(r: Results) -> Table:
    """Whether the place of a trial inside its block matters, and the drift over the run."""
    parts = (
        ("last_against_first", "last place of a block against its first", r.position),
        ("after_change", "first trial after a change of the process count", r.position),
        ("slope", "one block later", r.drift),
    )
    rows: list[Row] = []
    shown: list[list[str]] = []
    for key, text, source in parts:
        found = source[key]
        rows.append({"effect": text, "n": found.n, **ends("percent_of_mean", found)})
        state = found.note or "no value"
        shown.append([text, interval(found) if found.n else state, str(found.n)])
    note = (
        "Change of the reader's CPU in percent of the mean of its arm, level and statistics; 95 % "
        "intervals over blocks, left out one at a time; for the drift of a fitted line. The order "
        "inside blocks is random, so that neither biases a contrast; a fixed order would have "
        "turned them into one."
    )
    return make_table("position", rows, ["effect", "% of the mean", "blocks"], shown, note)
