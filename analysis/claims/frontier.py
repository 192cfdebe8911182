"""Rules answered from the cost model of a crossover run: slopes, savings, where two meet.

Each returns None where no run has what it asks for; the rule then falls back to what it asked
before there was a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, inf, log10
from typing import Any

from analysis.claims import evidence
from analysis.claims.answer import (
    CONTRADICTED,
    HOLDS,
    HOLDS_WHEN,
    UNDETERMINED,
    Answer,
    Index,
    expected,
    not_yet,
    size,
    too_wide,
)
from analysis.claims.data import Claim
from analysis.claims.evidence import Entry, Measured, Place, as_interval, folder_of
from analysis.text import about, number, span

#: A run, and its verdict at one of its points.
Found = tuple[Entry, Entry]


def modelled(claim: Claim, index: Index) -> Entry | None:
    """The newest run with a cost model that the criterion names; None without one."""
    asked = claim.criterion.get("model") or claim.criterion
    run = evidence.newest(index, asked["study"], asked["presets"])
    return run if run is not None and run.get("crossover") else None


def term(run: Entry, arm: str, name: str, scale: float, unit: str) -> Measured | None:
    """A coefficient of an arm, in another unit; None where it has no interval."""
    about = run["crossover"]["arms"].get(arm)
    value = as_interval(about["terms"][name] if about else None)
    if value.low is None or value.high is None:
        return None
    place = Place(folder_of(run), "model", {"arm": arm}, name, scale)
    return Measured(value.scaled(scale), unit, place, (str(run["run"]),))


def region(run: Entry, name: str) -> str:
    """From where to where something was measured: 60 to 5,000."""
    low, high = run["crossover"]["region"][name]
    return f"{about(low)} to {about(high)}"


def rises(claim: Claim, index: Index) -> Answer | None:
    """What a context switch costs a collector, from the model."""
    run, arm = modelled(claim, index), claim.criterion["arm"]
    found = term(run, arm, "per_switch", 1e-3, "µs per switch") if run else None
    if run is None or found is None or found.value.low is None or found.value.high is None:
        return None
    at = f"from {region(run, 'switches_per_s')} switches a second"
    said = f"{arm} costs {found.number} {at}, whatever the interval"
    cold = term(run, arm, "per_cold_switch", 1e-3, "µs more")
    half = run["crossover"].get("half_cold_switches_per_s")
    if cold is not None and half:
        said += f", and {cold.number} of those that find the machine cold, half of them at "
        said += f"{about(half)} a second"
    if found.value.low > 0:
        return Answer(HOLDS, said, found, "", found.runs)
    return Answer(UNDETERMINED, f"{said}; not clearly above 0", found, "", found.runs)


def fleet(claim: Claim, index: Index) -> Answer | None:
    """What a fleet saves at the published density, and over everything that was measured."""
    c, run = claim.criterion, modelled(claim, index)
    if run is None:
        return None
    pair = {key: c["contrast"][key] for key in ("numerator", "denominator")}
    saved = [e for e in run["crossover"]["fleet"] if all(e[k] == pair[k] for k in pair)]
    count, seconds = c["contrast"]["processes"], c["model"]["interval_s"]
    wanted = {"processes": count, "interval_s": seconds, "idle": True}
    entry = evidence.first(saved, wanted)
    if entry is None:
        return None
    ours = as_interval(entry["cores_per_1000_nodes"])
    place = Place(folder_of(run), "fleet", {**pair, **wanted}, "cores_per_1000_nodes")
    measured = Measured(ours, "cores per 1,000 nodes", place, (str(run["run"]),))
    ends = [as_interval(e["cores_per_1000_nodes"]).estimate or 0.0 for e in saved]
    over = (
        f"over {_of_table(saved, 'processes')} processes, {_of_table(saved, 'switches_per_s')} "
        f"switches a second and intervals of {_of_table(saved, 'interval_s')} s it goes from "
        f"{number(min(ends), 2)} to {number(max(ends), 2)}, so that no one number is a fleet's"
    )
    if wide := too_wide(ours):
        return Answer(UNDETERMINED, f"of the size: {wide}; {over}", measured)
    value = expected(claim)
    word, distance = size(value, ours)
    said = f"{value:g} published, which lies {distance}; {over}"
    condition = (
        f"a node has {count:,} processes, {about(entry['switches_per_s'])} context switches a "
        f"second and a scrape every {seconds:g} s"
    )
    return Answer(word or HOLDS_WHEN, said, measured, "" if word else condition, measured.runs)


def _of_table(entries: list[Entry], name: str) -> str:
    """From where to where a table's places go."""
    values = [float(e[name]) for e in entries]
    return f"{about(min(values))} to {about(max(values))}"


def frontier(claim: Claim, index: Index) -> Answer:
    """The rate below which the hook of a pair is the cheaper one."""
    c, run = claim.criterion, modelled(claim, index)
    pair, at = c["pair"], {"processes": c["processes"], "interval_s": c["interval_s"]}
    entry = None
    if run is not None:
        found = [e for e in run["crossover"]["break_even"] if _same(e, pair)]
        entry = evidence.first(found, at)
    if run is None or entry is None:
        return not_yet(claim)
    name = (str(run["run"]),)
    where = f"{c['processes']:,} processes and a scrape every {c['interval_s']:g} s"
    aside = f". {claim.meanwhile}" if claim.meanwhile else ""
    always = entry["always_cheaper"]
    if always is not None:
        verdict = HOLDS if always == pair["hook"] else CONTRADICTED
        return Answer(verdict, f"{always} is cheaper at any rate, {where}{aside}", None, "", name)
    rate = as_interval(entry["switches_per_s"])
    row = {"steeper": entry["steeper"], "flatter": entry["flatter"], **at}
    place = Place(folder_of(run), "break_even", row, "switches_per_s")
    measured = Measured(rate, "switches/s at break-even", place, name)
    least, most = run["crossover"]["region"]["switches_per_s"]
    if rate.low is None or not rate.low > 0 or rate.low < least:
        said = "where the two meet is not known within what was measured"
        return Answer(UNDETERMINED, f"{said}; {where}{aside}", measured, "", name)
    below = about(_floored(min(rate.low, most)))
    condition = f"a node switches fewer than {below} times a second, at {where}"
    near = float(f"{rate.estimate:.3g}") if rate.estimate else 0.0
    high = None if rate.high is None else float(f"{rate.high:.3g}")
    band = span(float(f"{rate.low:.3g}"), high, near)
    beyond = "" if entry["measured"] else ", beyond what was measured"
    said = f"the two cost the same at {about(near)} {band} switches a second{beyond}{aside}"
    return Answer(HOLDS_WHEN, said, measured, condition, name)


def _floored(rate: float) -> float:
    """Two significant digits, never above the rate: beyond it nothing is sure."""
    unit = 10.0 ** (floor(log10(rate)) - 1)
    return floor(rate / unit) * unit


def _same(entry: Mapping[str, Any], pair: Mapping[str, str]) -> bool:
    return {entry["steeper"], entry["flatter"]} == {pair["hook"], pair["polling"]}


def counterexamples(claim: Claim, index: Index) -> tuple[list[Found], int]:
    """Verdicts at points that contradict a bound, the furthest first; points looked at.

    Of live runs: instructions are no time.
    """
    looked = _looked_at(claim, index)
    found = [f for f in looked if f[1]["verdict"] == claim.criterion["never"]]
    return sorted(found, key=_ratio), len(looked)


def in_doubt(claim: Claim, index: Index) -> list[Found]:
    """Verdicts at points that may yet contradict a bound: undetermined, and on its wrong side.

    The likeliest first.
    """
    found = [f for f in _looked_at(claim, index) if f[1]["verdict"] == UNDETERMINED]
    against = [f for f in found if _ratio(f) < 1 or _ratio(f) == inf]
    return sorted(against, key=lambda f: (_p(f), _ratio(f)))


def _looked_at(claim: Claim, index: Index) -> list[Found]:
    """(run, verdict at a point) of every pair that a criterion names, in live runs."""
    return [
        (run, entry)
        for run in index["runs"]
        if run["finished"] and run.get("crossover") and not run["crossover"]["exact"]
        for entry in run["crossover"]["verdicts"]
        if [entry["numerator"], entry["denominator"]] in claim.criterion["pairs"]
    ]


def _ratio(found: Found) -> float:
    """Of a verdict at a point; one that is not known stands last."""
    ratio = as_interval(found[1]["ratio"]).estimate
    return inf if ratio is None else ratio


def _p(found: Found) -> float:
    """Adjusted; of a point with too few blocks for one, infinite."""
    p = found[1]["p_adjusted"]
    return inf if p is None else float(p)


def contradicted(claim: Claim, found: list[Found], looked: int) -> Answer:
    """The furthest counterexample, and at how many points of each pair there is one."""
    entry = found[0][1]
    said = f"{entry['numerator']} is {claim.criterion['never']} ({entry['why']})"
    return _furthest(CONTRADICTED, found, looked, said)


def doubted(claim: Claim, found: list[Found], looked: int) -> Answer:
    """No counterexample, and points that may be one."""
    entry = found[0][1]
    said = f"{entry['numerator']} may be {claim.criterion['never']} ({entry['why']})"
    return _furthest(UNDETERMINED, found, looked, said)


def _furthest(verdict: str, found: list[Found], looked: int, said: str) -> Answer:
    run, entry = found[0]
    name = (str(run["run"]),)
    row = {key: entry[key] for key in ("point", "numerator", "denominator")}
    place = Place(folder_of(run), "point_verdicts", row, "ratio")
    ratio = as_interval(entry["ratio"])
    measured = Measured(ratio, "×", place, name) if ratio.estimate is not None else None
    pairs: dict[str, int] = {}
    for _, e in found:
        pair = f"{e['numerator']} against {e['denominator']}"
        pairs[pair] = pairs.get(pair, 0) + 1
    each = ", ".join(f"{pair} at {n}" for pair, n in pairs.items())
    said += (
        f" at {entry['processes']:,.0f} processes, {entry['switches_per_s']:,.0f} switches a "
        f"second and a scrape every {entry['interval_s']:g} s; of {looked} comparisons at "
        f"measured points: {each}"
    )
    return Answer(verdict, said, measured, "", name)


def line(claim: Claim, index: Index) -> tuple[Entry, Measured, Measured, float, float] | None:
    """Run, per-process terms of both arms in µs, the rising one's held-out error, and the half
    width of its model's interval there."""
    c, run = claim.criterion, modelled(claim, index)
    if run is None or "model" not in c:
        return None
    per = "µs per process and scrape"
    sides = [term(run, c[side], "per_process", 1e-3, per) for side in ("rising", "flat")]
    about_rising = run["crossover"]["arms"].get(c["rising"]) or {}
    error = about_rising.get("held_out_error")
    if sides[0] is None or sides[1] is None or error is None:
        return None
    half = about_rising.get("held_out_half_width") or 0.0
    return run, sides[0], sides[1], float(error), float(half)
