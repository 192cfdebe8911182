"""The tables of where two collectors meet, and of what a fleet saves on either side of it."""

from __future__ import annotations

from analysis.crossover import outcome
from analysis.crossover.break_even import Crossing
from analysis.crossover.outcome import Crossover, MeetingPoint
from analysis.crossover.region import COMBINATION, REACH
from analysis.results import Results
from analysis.statistics.intervals import Interval
from analysis.tables.costs import Row, make_table
from analysis.text import NOTHING, Table, about, ends, number, span


def rate_text(value: Interval) -> str:
    """A rate with its band, in whole switches a second, to three digits."""
    if value.estimate is None:
        return NOTHING
    low, high = (None if v is None else float(f"{v:.3g}") for v in (value.low, value.high))
    text = about(value.estimate)
    return text if low is None and high is None else f"{text} {span(low, high, value.estimate)}"


def _mixed(c: Crossover, found: Crossing) -> bool:
    """True for a hook against a collector without one: the pairs that a rate decides."""
    return outcome.hooked(c, found.steeper) != outcome.hooked(c, found.flatter)


def _outcome(r: Results, e: MeetingPoint) -> str:
    if e.found.always is not None:
        return f"{r.run.title(e.found.always)} is cheaper at any rate"
    if e.beyond == (COMBINATION,):
        return "no such combination was measured"
    if e.beyond:
        return f"beyond the measured {', '.join(e.beyond).replace('_', ' ')}"
    down = "" if e.found.again is None else f", down to {about(float(f'{e.found.again:.3g}'))}"
    return f"{r.run.title(e.found.steeper)} is cheaper below{down}"


def break_even(r: Results) -> Table | None:
    """Every pair at every process count and interval of the plan."""
    c = r.crossover
    if c is None or not c.break_even:
        return None
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in c.break_even:
        found, at = e.found, e.where
        row: Row = {"steeper": found.steeper, "flatter": found.flatter}
        row |= {"processes": int(at.processes), "interval_s": at.interval_s}
        row |= {"threads": at.threads, "active": at.active}
        row |= ends("switches_per_s", found.rate)
        row |= {"always_cheaper": found.always, "measured": not e.beyond}
        row |= {"beyond": " ".join(e.beyond), "again_below": found.again, "blocks": found.rate.n}
        rows.append(row)
        if _mixed(c, found):
            names = [r.run.title(arm) for arm in (found.steeper, found.flatter)]
            place = [f"{row['processes']:,}", f"{at.interval_s:g} s"]
            rate = NOTHING if found.always else rate_text(found.rate)
            shown.append([*names, *place, rate, _outcome(r, e)])
    head = ["hook", "without one", "processes", "interval", "break-even, switches/s", "outcome"]
    ends_are = (
        "least and greatest over perturbations"
        if c.exact
        else "Fieller's 95 % interval over blocks"
    )
    note = (
        f"{outcome.machine(r.run)}. Context switches of the whole machine a second at which both "
        f"cost the same, with {ends_are}; {about(c.usual.threads)} further threads and "
        f"{about(c.usual.active)} switching tasks. Below it the hook is cheaper, above it the "
        "other. Beyond the measured region, which is the hull of the measured points and a factor "
        f"of {REACH:g} around it, a rate is the model's word alone. The CSV has every pair of "
        "collectors."
    )
    return make_table("break_even", rows, head, shown, note)


def fleet(r: Results) -> Table | None:
    """Cores that 1,000 nodes save; None without a live model."""
    c = r.crossover
    if c is None or not c.fleet:
        return None
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in c.fleet:
        saved: Interval = e["cores_per_1000_nodes"]
        row: Row = {key: e[key] for key in ("numerator", "denominator", "processes", "interval_s")}
        row |= {"switches_per_s": float(e["switches_per_s"]), "idle": e["idle"]}
        rows.append({**row, **ends("cores_per_1000_nodes", saved)})
        names = f"{r.run.title(e['numerator'])} → {r.run.title(e['denominator'])}"
        rate = f"{e['switches_per_s']:,.0f}{' (idle)' if e['idle'] else ''}"
        text = number(saved.estimate)
        if saved.low is not None:
            text += f" {span(saved.low, saved.high, saved.estimate)}"
        shown.append([names, f"{e['processes']:,}", f"{e['interval_s']:g} s", rate, text])
    head = ["from → to", "processes a node", "interval", "switches/s a node"]
    head += ["cores that 1,000 nodes save"]
    note = (
        f"{outcome.machine(r.run)}, by the model, inside what was measured; mean [95 % t interval] "
        "over blocks. Below zero it costs that much more."
    )
    return make_table("fleet", rows, head, shown, note)
