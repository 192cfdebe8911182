"""The tables of a run's costs: every arm, its parts, verdicts. Each as CSV and Markdown."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis import levels
from analysis.contrasts import Comparison
from analysis.exclusion import counted, limits_text
from analysis.external import in_other_tasks, times_itself
from analysis.load import Run
from analysis.measures import MEASURES, NOT_PLANNED, level_text
from analysis.results import Results
from analysis.statistics.intervals import Interval
from analysis.text import NOTHING, Table, ends, interval, number, p_text, span

Row = dict[str, Any]


def make_table(
    name: str, rows: list[Row], head: list[str], shown: list[list[str]], *notes: str
) -> Table:
    """Columns are the rows' keys in the order of their first appearance."""
    keys = list(dict.fromkeys(key for row in rows for key in row)) or ["empty"]
    values = [[row.get(key) for key in keys] for row in rows]
    return Table(name, keys, values, head, shown, [note for note in notes if note])


def mean_sd(values: Any) -> tuple[float | None, float | None]:
    array = np.asarray(values, dtype=np.float64)
    return (float(array.mean()), float(array.std(ddof=0))) if len(array) else (None, None)


def plus_minus(mean: float | None, sd: float | None) -> str:
    return NOTHING if mean is None else f"{number(mean)} ± {number(sd, 2)}"


def ratio_text(c: Comparison | None) -> str:
    if c is None or c.ratio.estimate is None:
        return NOTHING if c is None else f"{NOTHING} ({c.ratio.note})"
    text = f"{number(c.ratio.estimate)}×"
    if c.ratio.low is None and c.ratio.high is None:
        return f"{text} ({c.ratio.note})"
    return f"{text} {span(c.ratio.low, c.ratio.high, c.ratio.estimate)}"


def arms(r: Results) -> Table:
    """Every arm at every level, those that could not run with their reason."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for level in r.levels:
        for arm in r.arms:
            row: Row = {"arm": arm, "title": r.run.title(arm), **levels.at(level)}
            published = r.measures.get("published", arm, level)
            row["published_mean"], row["published_sd"] = mean_sd(published)
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
                    plus_minus(row["published_mean"], row["published_sd"]),
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
        "off; net: less the process that only sleeps. An arm that cannot run has no cost, not 0. "
        f"Measured: the blocks given{r.window_text()} each."
    )
    return make_table("arms", rows, head, shown, note)


def _bpf_run(r: Results, arm: str, level: int) -> str:
    if r.run.arms[arm].get("context") in (None, "none"):
        return "none"
    if not times_itself(r.run, arm):
        return interval(r.interval("bpf_run", arm, level))
    timed = r.interval("self_timed", arm, level)
    return f"unseen; by its own clock {interval(timed)}" if timed.n else NOTHING


def parts(r: Results) -> Table:
    """What each arm is written in and holds, and three parts of its cost that are never one."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for level in r.levels:
        for arm in r.arms:
            asked = [r.measures.reason(name, arm, level) for name in ("agent", "agent_on")]
            if all(reason.startswith(NOT_PLANNED) for reason in asked):
                continue
            about = r.run.arms[arm]
            fields = [str(field) for field in about.get("fields") or []]
            row: Row = {"arm": arm, "title": r.run.title(arm), **levels.at(level)}
            row |= {"language": about.get("language"), "fields": " ".join(fields)}
            for measure in ("agent", "bpf_run", "self_timed", "system"):
                row |= ends(measure, r.interval(measure, arm, level))
            rows.append(row)
            shown.append(
                [
                    r.run.title(arm),
                    level_text(level),
                    str(about.get("language") or NOTHING),
                    ", ".join(fields).replace("_", " ") or "nothing",
                    interval(r.interval("agent", arm, level)),
                    _bpf_run(r, arm, level),
                    interval(r.interval("system", arm, level)),
                ]
            )
    head = ["arm", "level", "language", "fields read", "reader only", "BPF run time"]
    head += ["whole machine's change"]
    note = (
        "Percent of one core, mean [95 % interval] over blocks. Reader only: its cgroup, with "
        "statistics off. BPF run time: by kernel statistics, while they are on. Whole machine's "
        "change: busy time of all CPUs less that of the null agent's trial in the same block, "
        "statistics off, with all else that ran. Two arms that differ in language or fields differ "
        "in cost for that too."
    )
    return make_table("cost_parts", rows, head, shown, note)


def _compared(prefix: str, c: Comparison) -> Row:
    return {
        "n": len(c.blocks),
        "dropped_blocks": c.dropped,
        # not "numerator": that column names the arm
        **ends(f"{prefix}numerator_cost", c.numerator),
        **ends(f"{prefix}denominator_cost", c.denominator),
        **ends(f"{prefix}difference", c.difference),
        **ends(f"{prefix}ratio", c.ratio),
        "ratio_note": c.ratio.note,
        "p": c.p,
        "detectable_percent_core": c.detectable,
    }


def left_out(run: Run) -> str:
    """How many blocks the run's own limits took, in a sentence; empty without such limits."""
    limits = run.plan.get("exclusion")
    if not limits:
        return ""
    said = counted(len(run.excluded), run.plan)
    return (
        f"{said} left out as disturbed: a window with more than the declared "
        f"{limits_text(limits)}, in whichever arm."
    )


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
        row |= {"statistics": e["statistics"], **levels.at(e["level"])}
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
                ratio_text(c),
                interval(c.difference) if c else NOTHING,
                p_text(c.p if c else None),
                p_text(e["p_adjusted"]),
                number(c.detectable, 2) if c and c.detectable else NOTHING,
                str(len(c.blocks)) if c else "0",
                e["verdict"],
                e["why"],
            ]
        )
    head = ["contrast", "level", "method", "ratio", "difference, % of a core", "p", "adjusted p"]
    head += ["smallest detectable, % of a core", "blocks", "verdict on the first", "why"]
    note = (
        "Ratio and difference with 95 % intervals (Fieller; t; widened on the side of a skew), "
        "p: two-sided paired sign-flip permutation test over blocks, Holm-adjusted over the "
        "declared contrasts. Smallest detectable: true difference that is found with 80 % power. "
        "The verdicts generalise over blocks of this run on this machine, not over machines or "
        "boots."
    )
    return make_table("verdicts", rows, head, shown, note, left_out(r.run))


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
                    ratio_text(c),
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
