"""The tables of study `sensor`: hooks, their shares, the trie, and what was lost."""

from __future__ import annotations

from analysis.results import Results
from analysis.sensor.costs import PARTS, VALUES
from analysis.tables.costs import Row, make_table
from analysis.text import NOTHING, Table, ends, interval, number

LIVE = "ns per event of the load; mean [95 % t interval] over blocks."
COUNTED = (
    "Instructions per event of the load, by the exact machine's clock: median and range over "
    "declared perturbations, which is no interval."
)
PARTED = (
    "Inline: what the task that makes the event takes longer; reader: CPU time of the sensor's own "
    "process, at rest included; total: both. Trials that lost events are left out."
)


def note(r: Results) -> str:
    """What the numbers are and over what."""
    assert r.sensor is not None
    return LIVE if r.sensor.unit == "ns" else COUNTED


def hooks(r: Results) -> Table | None:
    """Each hook alone, under the load that makes its events. None for a run without."""
    if r.sensor is None or not r.sensor.alone:
        return None
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.sensor.alone:
        row: Row = {key: e[key] for key in ("hook", "load", "attachments", "n")}
        for part in PARTS:
            row |= ends(part, e[part])
        rows.append({**row, "unit": r.sensor.unit})
        costs = [interval(e[part]) for part in PARTS]
        shown.append([e["hook"], e["load"], e["attachments"] or NOTHING, *costs, str(e["n"])])
    head = ["hook", "load", "attached by", *PARTS, "blocks"]
    return make_table("hooks", rows, head, shown, note(r), PARTED)


def hook_shares(r: Results) -> Table | None:
    """The nine under mixed loads: alone, left out, share; the residual is a row of each load."""
    if r.sensor is None or not r.sensor.shares:
        return None
    rows: list[Row] = []
    shown: list[list[str]] = []
    names = ("added", "added_inline", "added_reader", "left_out", "share")
    for e in r.sensor.shares:
        row: Row = {"load": e["load"], "hook": e["hook"]}
        for name in names:
            row |= ends(name, e[name])
        rows.append(row)
        shown.append([e["load"], e["hook"], *(interval(e[name]) for name in names)])
    for e in r.sensor.residuals:
        for hook in ("whole", "sum", "residual"):
            rows.append({"load": e["load"], "hook": hook, **ends("added", e[hook])})
            shown.append([e["load"], hook, interval(e[hook]), *[NOTHING] * 4])
    for e in r.sensor.accounting:
        for name in ("bytes", "margin", "saved"):
            rows.append({"load": e["load"], "hook": name, **ends("added", e[name])})
            said = {
                "bytes": "both byte-accounting hooks",
                "margin": f"the same less the dearest other, {e['largest_other']}",
                "saved": "whole sensor less metadata only",
            }[name]
            shown.append([e["load"], said, interval(e[name]), *[NOTHING] * 4])
    head = ["load", "hook", "alone, less none", "of it inline", "of it reader"]
    head += ["whole less that without it", "share of the sum, %"]
    said = "Whole: all nine, less none; residual: whole less the sum of hooks alone, by block."
    return make_table("hook_shares", rows, head, shown, note(r), said)


def trie(r: Results) -> Table | None:
    """Cost by number of prefixes, and the line over log2 of it."""
    if r.sensor is None or not r.sensor.sizes:
        return None
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.sensor.sizes:
        row: Row = {"load": e["load"], "prefixes": e["prefixes"]}
        for part in PARTS:
            row |= ends(part, e[part])
        rows.append(row)
        costs = [interval(e[part]) for part in PARTS]
        shown.append([e["load"], f"{e['prefixes']:,}", *costs, NOTHING])
    for e in r.sensor.lines:
        row = {"load": e["load"], "prefixes": None, **ends("per_doubling", e["slope"])}
        rows.append({**row, **ends("at_one", e["at_one"]), "largest_relative_misfit": e["misfit"]})
        misfit = NOTHING if e["misfit"] is None else f"{100 * e['misfit']:.0f} %"
        texts = [NOTHING, NOTHING, f"{interval(e['slope'])} a doubling"]
        shown.append([e["load"], "line", *texts, misfit])
    head = ["load", "prefixes", *PARTS, "largest misfit"]
    said = "Line: least squares over log2 of the prefixes, in each block."
    return make_table("trie", rows, head, shown, note(r), PARTED, said)


def losses(r: Results) -> Table | None:
    """Every variant under every load: cost, events reported, and what was lost beside it."""
    if r.sensor is None or not r.sensor.cells:
        return None
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.sensor.cells:
        row: Row = {"load": e["load"], "variant": e["variant"], "n": e["n"]}
        for name in VALUES:
            row |= ends(name, e[name])
        row |= {"lossy_trials": e["lossy"], "lost": e["lost"], "loss_rate": e["loss_rate"]}
        row |= {**ends("lossy_total", e["lossy_total"]), "reason": e["reason"]}
        rows.append({**row, "attachments": e["attachments"]})
        lossy = NOTHING
        if e["lossy"]:
            rate = number(100 * e["loss_rate"], 2) if e["loss_rate"] is not None else NOTHING
            lossy = f"{e['lossy']} trials, {rate} % of events; cost then "
            lossy += f"{interval(e['lossy_total'])}: no cost of this variant"
        total = interval(e["total"]) if e["n"] else e["reason"] or NOTHING
        volume = interval(e["volume"]) if e["n"] else NOTHING
        shown.append([e["load"], e["variant"], total, volume, lossy, str(e["n"])])
    head = ["load", "variant", "total", "events reported per event", "lost", "blocks"]
    said = "A trial that lost events is in no ratio, difference or line."
    return make_table("losses", rows, head, shown, note(r), said)
