"""The tables over several runs: sessions of one preset, and every A/A pair there is."""

from __future__ import annotations

import math
from typing import Any

from analysis.levels import of_entry
from analysis.measures import LEFT_ALONE, MEASURES, level_text
from analysis.statistics.intervals import Interval
from analysis.tables.costs import Row, make_table
from analysis.text import NOTHING, Table, ends, interval, number, p_text, span


def _where(pair: dict[str, Any]) -> str:
    return level_text(of_entry(pair))


def level(processes: int | None) -> str:
    """Level for a table: "600 processes", or "processes as found"."""
    return level_text(LEFT_ALONE if processes is None else processes)


def stated(found: dict[str, Any] | None) -> Interval:
    """An interval from its place in a summary."""
    if found is None:
        return Interval(None, None, None, 0, "no value")
    ends_ = (found["estimate"], found["low"], found["high"])
    return Interval(*ends_, found["n"], found.get("note", ""))


def times(ratio: Interval) -> str:
    """A ratio for a table: 26.1× [19, 42]."""
    if ratio.estimate is None:
        return f"{NOTHING} ({ratio.note})"
    if ratio.low is None and ratio.high is None:
        return f"{number(ratio.estimate)}× ({ratio.note})"
    return f"{number(ratio.estimate)}× {span(ratio.low, ratio.high, ratio.estimate)}"


def sessions(group: dict[str, Any]) -> Table:
    """Every contrast: one row a session, then the pooled one with its verdict."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in group["contrasts"]:
        name = f"{e['titles'][0]} against {e['titles'][1]}"
        what: Row = {"id": e["id"], "measure": e["measure"], "statistics": e["statistics"]}
        what |= {"processes": e["level"]}
        first = [name, level(e["level"]), MEASURES[e["measure"]]]
        for s in e["per_session"]:
            ratio, apart = stated(s.get("ratio")), stated(s.get("difference"))
            row: Row = {**what, "session": s["run"], "blocks": s.get("blocks")}
            row |= {**ends("ratio", ratio), **ends("difference", apart)}
            p = s.get("p_adjusted")
            rows.append({**row, "p_adjusted": p, "verdict": s.get("verdict"), "why": s["reason"]})
            said = s["reason"] and f"not counted: {s['reason']}"
            shown.append(
                [*first, s["run"], times(ratio) if s.get("ratio") else NOTHING]
                + [interval(apart), p_text(p), said or s["verdict"]]
            )
            first = ["", "", ""]
        pooled = e["pooled"]
        row = {**what, "session": "pooled", "sessions": pooled["n_sessions"] if pooled else None}
        if pooled is None:
            rows.append({**row, "why": e["reason"]})
            shown.append([*first, "**pooled**", NOTHING, NOTHING, NOTHING, e["reason"]])
            continue
        row |= {**ends("ratio", pooled["ratio"]), **ends("difference", pooled["difference"])}
        row |= {key: pooled[key] for key in ("p_adjusted", "verdict", "why")}
        row |= {"detectable_percent_core": pooled["detectable"]}
        row |= {f"ratio_{key}": value for key, value in (e["between"] or {}).items()}
        rows.append(row)
        shown.append(
            [*first, f"**pooled, {pooled['n_sessions']} sessions**", times(pooled["ratio"])]
            + [interval(pooled["difference"]), p_text(pooled["p_adjusted"])]
            + [f"**{pooled['verdict']}** ({pooled['why']}){_apart(e['between'])}"]
        )
    head = ["contrast", "level", "method", "session", "ratio", "difference, % of a core"]
    head += ["adjusted p", "verdict on the first"]
    left = "".join(f" Not pooled: {e['run']} ({e['reason']})." for e in group["left_out"])
    note = (
        "A session: Fieller's and t intervals over its blocks, p by permutation, all 95 %. Pooled: "
        "the same over the means of the sessions, p of Student's test, Holm-adjusted; two degrees "
        f"of freedom for three sessions. The pooled verdicts generalise {group['generalises']}."
        f"{left}"
    )
    return make_table("sessions", rows, head, shown, note)


def _apart(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    extra = f"; sessions' ratios scatter by {number(found['sd_percent'], 2)} %, of which blocks "
    extra += f"explain {number(found['expected_percent'], 2)} %"
    return extra + ("" if found["p"] is None else f" (p = {p_text(found['p'])})")


def variance(group: dict[str, Any]) -> Table:
    """Scatter over scrapes, blocks and sessions, per arm and level."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in group["variance"]:
        row: Row = {key: e[key] for key in ("arm", "statistics", "processes", "mean", "sessions")}
        row |= {f"variance_{key}s": e[key] for key in ("scrape", "block", "session")}
        shares = e["shares"] or dict.fromkeys(("scrape", "block", "session"))
        row |= {f"share_{key}s": value for key, value in shares.items()}
        rows.append({**row, "p_sessions": e["p"]})
        cvs = [_cv(e[key], e["mean"]) for key in ("scrape", "block", "session")]
        parts = [NOTHING if v is None else f"{100 * v:.0f} %" for v in shares.values()]
        shown.append(
            [e["title"], level(e["processes"]), e["statistics"], *cvs, *parts, p_text(e["p"])]
        )
    head = ["arm", "level", "statistics", "cv of a scrape", "cv of a block", "cv of a session"]
    head += ["scrapes' share", "blocks' share", "sessions' share", "p, sessions"]
    note = (
        "Reader's CPU: unbiased variance components (Kalibera and Jones 2013), each as sd over "
        "mean, below zero counted as none; shares: of the variance of the mean over all sessions. "
        "p: F test of no variance between sessions beyond that of their blocks."
    )
    return make_table("variance", rows, head, shown, note)


def _cv(part: float | None, mean: float) -> str:
    if part is None or mean <= 0:
        return NOTHING
    return f"{number(100 * math.sqrt(max(part, 0.0)) / mean, 2)} %"


def a_a(summaries: list[dict[str, Any]], rate: Interval) -> Table:
    """Every A/A pair: two identical arms, which should be told apart in one run of twenty."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for s in summaries:
        pair = s["a_a"]
        if not pair:
            continue
        title = next((c["title"] for c in s["cells"] if c["arm"] == pair["arm"]), pair["arm"])
        ratio = stated(pair.get("ratio"))
        row: Row = {"study": s["study"], "preset": s["preset"], "run": s["run"]}
        row |= {"arm": pair["arm"], "processes": pair["processes"]}
        row |= {"statistics": pair["statistics"], "blocks": pair.get("blocks")}
        p = pair.get("p")
        row |= {**ends("ratio", ratio), "p": p, "verdict": pair["verdict"]}
        rows.append(row)
        shown.append(
            [s["run"], s["preset"], title, _where(pair), str(pair.get("blocks") or 0)]
            + [times(ratio) if p is not None else NOTHING, p_text(p), pair["verdict"]]
        )
    hits = round((rate.estimate or 0) * rate.n)
    share = rate.scaled(100)
    note = (
        f"Told apart at p < .05: {hits} of {rate.n} pairs, {interval(share)} % (Clopper and "
        "Pearson's 95 % interval); 5 % are expected of a valid test, a little less of an exact one "
        "with few blocks, as p takes steps of 2 / 2^blocks. Pairs of fewer than six blocks, which "
        "cannot reach .05, are not counted."
        if rate.n
        else "No run has a measured A/A pair."
    )
    head = ["run", "preset", "arm", "level", "blocks", "ratio to itself", "p", "verdict"]
    return make_table("a_a", rows, head, shown, note)
