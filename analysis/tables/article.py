"""The article's own table beside ours, as CSV and Markdown."""

from __future__ import annotations

from analysis import contrasts, levels
from analysis.measures import NOT_PLANNED, level_text
from analysis.published import article_of, claim_at
from analysis.results import Results
from analysis.tables.costs import Row, make_table, mean_sd, plus_minus, ratio_text
from analysis.text import NOTHING, Table, ends, interval, p_text

METHODS = ("published", "headline", "headline_net")
SIDES = ("proc", "ebpf")


def _claimed(claim: Row | None, side: str) -> str:
    if claim is None:
        return NOTHING
    mean, sd = claim[f"{side}_percent_core"], claim.get(f"{side}_sd")
    return f"{mean:g}" if sd is None else f"{mean:g} ± {sd:g}"


def _adjusted(r: Results, arms: tuple[str, str], level: int, measure: str) -> float | None:
    """Holm's p where the pair is a declared contrast under its own method."""
    for e in r.contrasts:
        same = {e["numerator"], e["denominator"]} == set(arms)
        if same and (e["level"], e["measure"]) == (level, measure):
            p: float | None = e["p_adjusted"]
            return p
    return None


def _p(p: float | None, adjusted: float | None) -> str:
    return p_text(p) if adjusted is None else f"{p_text(p)} (adjusted {p_text(adjusted)})"


def _costs(r: Results, arms: tuple[str, str], level: int, measure: str) -> tuple[Row, list[str]]:
    """Mean, sd, interval and n of both sides by one method, and the two as text."""
    row: Row = {}
    shown: list[str] = []
    for side, arm in zip(SIDES, arms, strict=True):
        values = r.measures.get(measure, arm, level)
        mean, sd = mean_sd(values)
        name = f"{side}_{measure}"
        row |= ends(f"{name}_percent_core", r.interval(measure, arm, level))
        row |= {f"{name}_sd": sd, f"{name}_n": len(values)}
        text = plus_minus(mean, sd)
        if measure != "published":
            text = interval(r.interval(measure, arm, level))
        if not len(values):
            reason = row[f"{name}_reason"] = r.measures.reason(measure, arm, level)
            text = NOTHING if reason.startswith(NOT_PLANNED) else reason
        shown.append(text)
    return row, shown


def article(r: Results) -> Table | None:
    """The article's table, its own numbers beside ours. None for a study without an article."""
    source = article_of(r.run.study)
    if source is None or source["proc"] not in r.run.arms:
        return None
    arms = (str(source["proc"]), str(source["ebpf"]))
    rows: list[Row] = []
    shown: list[list[str]] = []
    for level in r.levels:
        claim = claim_at(r.run.study, level)
        if claim is None and len(r.levels) > 2:
            continue  # a scaling run's other levels are in its own table
        row: Row = {**levels.at(level), "claim": claim and claim["id"]}
        line = [level_text(level)]
        for measure in METHODS:
            costs, text = _costs(r, arms, level, measure)
            x, y = (r.measures.get(measure, arm, level) for arm in arms)
            c = contrasts.compare(x, y)
            adjusted = _adjusted(r, arms, level, measure)
            row |= {**costs, **ends(f"ratio_{measure}", c.ratio)}
            row |= {f"p_{measure}": c.p, f"p_adjusted_{measure}": adjusted}
            if measure != "headline_net":  # the ratio alone: its p is the headline's
                line += text
            line.append(ratio_text(c if c.blocks else None))
            if measure == "headline":
                line.append(_p(c.p, adjusted))
        for key in ("proc_percent_core", "proc_sd", "ebpf_percent_core", "ebpf_sd", "ratio"):
            row[f"article_{key}"] = claim.get(key) if claim else None
        rows.append(row)
        line += [_claimed(claim, side) for side in SIDES]
        shown.append([*line, f"{claim['ratio']}×" if claim else NOTHING])
    if not rows:
        return None
    head = ["% of one core"]
    for method in ("published method", "headline"):
        head += [f"/proc, {method}", f"eBPF, {method}", f"ratio, {method}"]
    head += ["p", "net ratio", "/proc, article", "eBPF, article", "ratio, article"]
    return make_table(
        "article",
        rows,
        head,
        shown,
        "Published method: reader and program run time with kernel statistics on, mean ± "
        "population sd over blocks. Headline: statistics off, reader and calibrated (a kernel "
        "timer's: self-timed) cost of the program in other tasks, mean [95 % interval]. Ratios: "
        "Fieller's 95 % interval over blocks; net: headline less the process that only sleeps. p: "
        "two-sided paired sign-flip permutation test of the difference, the same gross and net; "
        "adjusted (Holm) where it is a declared contrast.",
        f"Article: {source['title']}. {source['machine']}. {source['protocol']}.",
    )
