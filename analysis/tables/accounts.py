"""The table of independent accounts of one cost: a program by every instrument."""

from __future__ import annotations

from analysis.results import Results
from analysis.statistics.intervals import Interval
from analysis.tables.costs import Row, make_table
from analysis.text import NOTHING, Table, ends, interval, number
from analysis.workloads import in_words

PARTS = (
    "external_off",
    "external_on",
    "statistics_ns",
    "statistics_cost",
    "statistics_cost_unattached",
    "residual",
    "residual_empty",
    "unexplained",
    "published_in_place",
    "residual_in_place",
)
SHOWN = {
    "external_off": "external, statistics off",
    "external_on": "external, statistics on",
    "statistics_ns": "kernel statistics",
    "published_in_place": "published method in place",
}


def _text(value: Interval | None) -> str:
    return NOTHING if value is None else interval(value)


def accounts_of_one_cost(r: Results) -> Table | None:
    """Ns per event by every instrument. None for a run that times nothing with statistics on."""
    if not r.accounts:
        return None
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.accounts:
        row: Row = {key: e[key] for key in ("arm", "title", "workload", "pace")}
        for name in PARTS:
            row |= ends(name if name.endswith("_ns") else f"{name}_ns", e[name])
        row |= {"blocks": e["residual"].n, "runs_per_event": e["runs_per_event"]}
        rows.append({**row, "verdict": e["verdict"], "text": e["text"]})
        what = [e["title"], in_words(e["workload"]), e["pace"]]
        values = [_text(e[name]) for name in SHOWN]
        shown.append([*what, *values, str(e["residual"].n), e["verdict"], e["text"]])
    head = ["program of", "event", "pace", *SHOWN.values(), "blocks", "verdict", "in words"]
    return make_table(
        "accounts_of_one_cost",
        rows,
        head,
        shown,
        "Nanoseconds per event or run, mean [95 % t interval] over blocks; each difference is "
        "formed inside its block, so that its interval is the joint one. External: fixed work with "
        "the program attached less the same without it. Kernel statistics: run_time_ns / "
        "run_cnt in the same external trials. Published method in place: the same quotient in the "
        "cost trials. Agree: the interval of external (off) less kernel statistics holds 0 and is "
        "narrow, or lies inside a tenth of the cost. Explained: it does so once the residual of "
        "the empty program on the same event (reference) is taken off.",
    )


def cost_of_statistics(r: Results) -> Table | None:
    """What switching kernel statistics on costs by itself; None for a run that did not try."""
    if not r.accounts:
        return None
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.accounts:
        row: Row = {key: e[key] for key in ("arm", "title", "workload", "pace", "runs_per_event")}
        row |= ends("attached_ns", e["statistics_cost"])
        rows.append({**row, **ends("unattached_ns", e["statistics_cost_unattached"])})
        values = [interval(e[f"statistics_cost{which}"]) for which in ("", "_unattached")]
        counted = NOTHING if e["runs_per_event"] is None else number(e["runs_per_event"])
        shown.append([e["title"], in_words(e["workload"]), e["pace"], *values, counted])
    head = ["program of", "event", "pace", "attached, ns per event", "unattached, ns per event"]
    return make_table(
        "cost_of_statistics",
        rows,
        [*head, "runs per event"],
        shown,
        "The same fixed work with kernel statistics on less off, paired by block. Attached: what "
        "the program adds. Unattached: the work where no program runs. Runs per event above 1: the "
        "program also runs where nothing is counted, as on switches to the idle task and for the "
        "rest of the machine.",
    )


def external_of_nothing(r: Results) -> Table | None:
    """What the external instrument sees where nothing is attached; None where it was not tried."""
    if not r.of_nothing:
        return None
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.of_nothing:
        found: Interval = e["interval"]
        known = found.low is not None and found.high is not None
        row: Row = {key: e[key] for key in ("workload", "pace", "statistics")}
        row |= {**ends("added_ns", found), "blocks": found.n}
        row["holds_0"] = found.low <= 0 <= found.high if known else None  # type: ignore[operator]
        rows.append(row)
        what = [in_words(e["workload"]), e["pace"], e["statistics"]]
        word = {True: "nothing, as it should be", False: "an error", None: found.note}
        shown.append([*what, interval(found), str(found.n), word[row["holds_0"]]])
    return make_table(
        "external_of_nothing",
        rows,
        ["event", "pace", "statistics", "added, ns per event", "blocks", "it sees"],
        shown,
        "The external instrument on the null agent, which attaches nothing: what it says to be "
        "added is its own error. Of twenty such intervals one misses 0 by chance.",
    )
