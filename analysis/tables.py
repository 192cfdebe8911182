"""The tables: the article's own beside ours, every arm, verdicts. Each as CSV and Markdown."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis import contrasts
from analysis.contrasts import Comparison
from analysis.external import in_other_tasks
from analysis.intervals import Interval
from analysis.measures import LEFT_ALONE, MEASURES, NOT_PLANNED, level_text
from analysis.published import article_of, claim_at
from analysis.results import Results
from analysis.text import NOTHING, Table, ends, interval, number, p_text, span

Row = dict[str, Any]


def make_table(
    name: str, rows: list[Row], head: list[str], shown: list[list[str]], *notes: str
) -> Table:
    """Columns are the rows' keys in the order of their first appearance."""
    keys = list(dict.fromkeys(key for row in rows for key in row)) or ["empty"]
    values = [[row.get(key) for key in keys] for row in rows]
    return Table(name, keys, values, head, shown, [note for note in notes if note])


def level_cell(level: int) -> int | None:
    return None if level == LEFT_ALONE else level


def _mean_sd(values: Any) -> tuple[float | None, float | None]:
    array = np.asarray(values, dtype=np.float64)
    return (float(array.mean()), float(array.std(ddof=0))) if len(array) else (None, None)


def _plus_minus(mean: float | None, sd: float | None) -> str:
    return NOTHING if mean is None else f"{number(mean)} ± {number(sd, 2)}"


def _claimed(claim: Row | None, side: str) -> str:
    if claim is None:
        return NOTHING
    mean, sd = claim[f"{side}_percent_core"], claim.get(f"{side}_sd")
    return f"{mean:g}" if sd is None else f"{mean:g} ± {sd:g}"


def _ratio(c: Comparison | None) -> str:
    if c is None or c.ratio.estimate is None:
        return NOTHING if c is None else f"{NOTHING} ({c.ratio.note})"
    text = f"{number(c.ratio.estimate)}×"
    if c.ratio.low is None and c.ratio.high is None:
        return f"{text} ({c.ratio.note})"
    return f"{text} {span(c.ratio.low, c.ratio.high, c.ratio.estimate)}"


def article(r: Results) -> Table | None:
    """The article's table, its own numbers beside ours. None for a study without an article."""
    source = article_of(r.run.study)
    if source is None or source["proc"] not in r.run.arms:
        return None
    pair = {"proc": source["proc"], "ebpf": source["ebpf"]}
    rows: list[Row] = []
    shown: list[list[str]] = []
    for level in r.levels:
        claim = claim_at(r.run.study, level)
        if claim is None and len(r.levels) > 2:
            continue  # a scaling run's other levels are in its own table
        row: Row = {"processes": level_cell(level), "claim": claim and claim["id"]}
        text: dict[str, str] = {}
        both: dict[str, Comparison | None] = {}
        for measure in ("published", "headline"):
            for side, arm in pair.items():
                values = r.measures.get(measure, arm, level)
                mean, sd = _mean_sd(values)
                row |= {f"{side}_{measure}_percent_core": mean, f"{side}_{measure}_sd": sd}
                row[f"{side}_{measure}_n"] = len(values)
                if measure == "published":
                    text[side + measure] = _plus_minus(mean, sd)
                else:
                    text[side + measure] = interval(r.interval(measure, arm, level))
                if not len(values):
                    reason = r.measures.reason(measure, arm, level)
                    row[f"{side}_{measure}_reason"] = reason
                    text[side + measure] = NOTHING if reason.startswith(NOT_PLANNED) else reason
            x, y = (r.measures.get(measure, arm, level) for arm in pair.values())
            c = contrasts.compare(x, y)
            both[measure] = c if c.blocks else None
            row |= ends(f"ratio_{measure}", c.ratio)
        for key in ("proc_percent_core", "proc_sd", "ebpf_percent_core", "ebpf_sd", "ratio"):
            row[f"article_{key}"] = claim.get(key) if claim else None
        rows.append(row)
        shown.append(
            [
                level_text(level),
                *(text[side + "published"] for side in pair),
                _ratio(both["published"]),
                *(text[side + "headline"] for side in pair),
                _ratio(both["headline"]),
                *(_claimed(claim, side) for side in pair),
                f"{claim['ratio']}×" if claim else NOTHING,
            ]
        )
    if not rows:
        return None
    head = ["% of one core"]
    for method in ("published method", "headline"):
        head += [f"/proc, {method}", f"eBPF, {method}", f"ratio, {method}"]
    head += ["/proc, article", "eBPF, article", "ratio, article"]
    return make_table(
        "article",
        rows,
        head,
        shown,
        "Published method: reader and program run time with kernel statistics on, mean ± "
        "population sd over blocks. Headline: statistics off, reader and calibrated cost of the "
        "program in other tasks, mean [95 % interval]. Ratios: Fieller's 95 % "
        "interval over blocks.",
        f"Article: {source['title']}. {source['machine']}. {source['protocol']}.",
    )


def arms(r: Results) -> Table:
    """Every arm at every level, those that could not run with their reason."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for level in r.levels:
        for arm in r.arms:
            row: Row = {"arm": arm, "title": r.run.title(arm), "processes": level_cell(level)}
            published = r.measures.get("published", arm, level)
            row["published_mean"], row["published_sd"] = _mean_sd(published)
            row["published_n"] = len(published)
            for measure in (
                "headline",
                "headline_net",
                "headline_hot",
                "agent",
                "others",
                "system",
            ):
                row |= ends(measure, r.interval(measure, arm, level))
            row["n"] = len(r.measures.get("headline", arm, level))
            outside = in_other_tasks(r.run, arm)
            reasons = [r.measures.reason(m, arm, level) for m in ("headline", "published")]
            planned = [reason for reason in reasons if not reason.startswith(NOT_PLANNED)]
            if not planned:
                continue
            reason = "; ".join(dict.fromkeys(filter(None, planned)))
            row["reason"] = reason
            rows.append(row)
            shown.append(
                [
                    r.run.title(arm),
                    level_text(level),
                    _plus_minus(row["published_mean"], row["published_sd"]),
                    *(
                        interval(r.interval(measure, arm, level))
                        for measure in ("headline", "headline_net", "agent")
                    ),
                    interval(r.interval("others", arm, level)) if outside else "none",
                    str(row["n"] or row["published_n"]),
                    reason or "measured",
                ]
            )
    head = ["arm", "level", "published, mean ± sd", "headline", "headline, net", "reader only"]
    head += ["programs in other tasks", "blocks", "state"]
    note = (
        "Percent of one core. Headline and its parts: mean [95 % interval] over blocks, statistics "
        "off; net: less the process that only sleeps. An arm that cannot run has no cost, not 0."
    )
    return make_table("arms", rows, head, shown, note)


def _compared(prefix: str, c: Comparison) -> Row:
    return {
        "n": len(c.blocks),
        "dropped_blocks": c.dropped,
        **ends(f"{prefix}numerator", c.numerator),
        **ends(f"{prefix}denominator", c.denominator),
        **ends(f"{prefix}difference", c.difference),
        **ends(f"{prefix}ratio", c.ratio),
        "ratio_note": c.ratio.note,
        "p": c.p,
        "detectable_percent_core": c.detectable,
    }


def verdicts(r: Results) -> Table:
    """The declared contrasts with their verdicts, and the A/A pair as the last row."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    entries = list(r.contrasts)
    if r.a_a is not None:
        pair = {"numerator": r.a_a["arm"], "denominator": r.a_a["arm"], "p_adjusted": None}
        method = "published" if r.a_a["statistics"] == "on" else "agent"
        entries.append({"id": "a_a", "measure": method, **pair, **r.a_a})
    for e in entries:
        c: Comparison | None = e["comparison"]
        row: Row = {key: e[key] for key in ("id", "numerator", "denominator", "measure")}
        row |= {"statistics": e["statistics"], "processes": level_cell(e["level"])}
        row |= _compared("", c) if c else {}
        row |= {"p_adjusted": e["p_adjusted"], "verdict": e["verdict"], "why": e["why"]}
        rows.append(row)
        is_twin = e["id"] == "a_a"
        names = [r.run.title(e[side]) for side in ("numerator", "denominator")]
        shown.append(
            [
                f"{names[0]} against itself (A/A)" if is_twin else f"{names[0]} against {names[1]}",
                level_text(e["level"]),
                MEASURES[e["measure"]],
                _ratio(c),
                interval(c.difference) if c else NOTHING,
                p_text(c.p if c else None),
                p_text(e["p_adjusted"]),
                str(len(c.blocks)) if c else "0",
                e["verdict"],
                e["why"],
            ]
        )
    head = ["contrast", "level", "method", "ratio", "difference, % of a core", "p", "adjusted p"]
    head += ["blocks", "verdict on the first", "why"]
    note = (
        "Ratio and difference with 95 % intervals (Fieller; t), p: two-sided paired sign-flip "
        "permutation test over blocks, Holm-adjusted over the declared contrasts. The verdicts "
        "generalise over blocks of this run on this machine, not over machines or boots."
    )
    return make_table("verdicts", rows, head, shown, note)


def methods(r: Results) -> Table:
    """Every declared contrast by every method, the declared one marked."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.contrasts:
        found = {e["measure"]: e["comparison"], **e["others"]}
        for measure in (m for m in MEASURES if found.get(m) is not None):
            c: Comparison = found[measure]
            declared = measure == e["measure"]
            row: Row = {"id": e["id"], "measure": measure, "declared": declared}
            rows.append({**row, **_compared("", c)})
            shown.append(
                [
                    e["id"],
                    MEASURES[measure] + (" (declared)" if declared else ""),
                    interval(c.numerator),
                    interval(c.denominator),
                    _ratio(c),
                    p_text(c.p),
                ]
            )
    head = ["contrast", "method", "numerator", "denominator", "ratio", "p, unadjusted"]
    return make_table("methods", rows, head, shown, "Percent of one core, 95 % intervals.")


def scaling(r: Results) -> Table | None:
    """Slope and intercept per arm; None if the run has one level only."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for line in r.lines:
        row: Row = {"arm": line.arm, "measure": line.measure, "n": line.slope.n}
        row |= ends("slope_percent_core_per_process", line.slope)
        row |= ends("intercept_percent_core", line.intercept)
        row |= ends("ns_per_process_and_scrape", line.ns_per_process)
        row["largest_relative_misfit"] = line.misfit
        rows.append(row)
        per_100: Interval = line.slope.scaled(100)
        misfit = NOTHING if line.misfit is None else f"{100 * line.misfit:.0f} %"
        shown.append(
            [
                r.run.title(line.arm),
                MEASURES[line.measure],
                interval(per_100),
                interval(line.ns_per_process),
                interval(line.intercept),
                misfit,
                str(line.slope.n),
            ]
        )
    if not rows:
        return None
    head = ["arm", "method", "% of a core per 100 processes", "ns per process and scrape"]
    head += ["intercept, % of a core", "largest misfit", "blocks"]
    note = "A line in each block, averaged; 95 % t intervals over blocks."
    return make_table("scaling", rows, head, shown, note)
