"""Rules on slopes, levels and errors: what a process or a switch adds, what is reported of a use.

A slope is flat by equivalence, as a contrast is: its whole interval lies within a margin, a share
of the slope that it is set against. An interval that only holds 0 says nothing by itself.
"""

from __future__ import annotations

from dataclasses import replace

from analysis.claims import evidence, frontier
from analysis.claims.answer import (
    CONTRADICTED,
    HOLDS,
    HOLDS_WHEN,
    UNDETERMINED,
    Answer,
    Index,
    not_yet,
    size,
    too_wide,
)
from analysis.claims.data import Claim, ledger
from analysis.claims.evidence import Entry, Measured, as_interval
from analysis.text import interval, number

STEADY = "steady"  # workload of a fidelity trial whose row names none


def _slopes(claim: Claim, run: Entry) -> tuple[Measured | None, Measured | None, str]:
    """Slopes of the rising and the flat arm, in µs, and what they are per."""
    c = claim.criterion
    per = str(c["slope"]).removeprefix("ns_per_").removesuffix("_and_scrape").replace("_", " ")
    unit = f"µs per {per} and scrape"
    made = [evidence.slope(run, c[side], c["slope"], 1e-3, unit) for side in ("rising", "flat")]
    return made[0], made[1], per


def _many(noun: str) -> str:
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def _range(run: Entry) -> str:
    levels = [level for level in run.get("levels") or [] if level is not None]
    return f"from {min(levels):,} to {max(levels):,}" if levels else "over the measured numbers of"


def _flatness(rising: Measured, flat: Measured) -> tuple[str, str]:
    """Verdict on the flat slope, and its interval set against the rising one in words."""
    margin = ledger().limits["flat_share"] * abs(rising.value.estimate or 0.0)
    low, high = flat.value.low, flat.value.high
    assert low is not None and high is not None  # evidence.slope gives none without ends
    share = max(abs(low), abs(high)) / abs(rising.value.estimate or 1.0)
    said = f"{flat.number}: at most {number(high, 2)} µs"
    said += f", {number(100 * share, 2)} % of the rising slope" if high > 0 else ""
    if -margin <= low and high <= margin:
        return HOLDS, said
    if low > margin or high < -margin:
        return CONTRADICTED, said
    return UNDETERMINED, f"{said}; smallest detectable slope {number((high - low) / 2, 2)} µs"


def line(claim: Claim, index: Index) -> Answer:
    """One arm on a rising straight line, the other one flat: by the cost model where it decides."""
    found = _modelled(claim, index)
    if found is not None and found.verdict != UNDETERMINED:
        return found
    answer = _measured(claim, index)
    return found if found is not None and answer.measured is None else answer


def _modelled(claim: Claim, index: Index) -> Answer | None:
    found = frontier.line(claim, index)
    if found is None:
        return None
    run, rising, flat, error, half = found
    c, limit = claim.criterion, ledger().limits["misfit"]
    verdict, text = _flatness(rising, flat)
    said = (
        f"by the cost model, from {frontier.region(run, 'processes')} processes: {c['rising']} is "
        f"off by {100 * error:.2g} % (median) at points it was not fitted to; {c['flat']} adds "
        f"{text}"
    )
    if error > limit:
        sure = error - half > limit
        verdict = CONTRADICTED if sure else UNDETERMINED
        said += "" if sure else f"; the model there is sure to ±{100 * half:.2g} % only"
    return _of_line(claim, rising, flat, verdict, said)


def _measured(claim: Claim, index: Index) -> Answer:
    """The same by the lines of a run of process counts."""
    c = claim.criterion
    run = evidence.newest(index, c["study"], c["presets"])
    rising, flat, per = _slopes(claim, run) if run else (None, None, "")
    if run is None or rising is None or flat is None:
        return not_yet(claim)
    entry = evidence.first(run["scaling"], rising.place.row) or {}
    misfit, limit = entry.get("largest_relative_misfit"), ledger().limits["misfit"]
    if misfit is None:
        return not_yet(claim, "two levels alone show no curve")
    said = f"{_range(run)} {_many(per)} no level of {c['rising']} is further than "
    said += f"{100 * misfit:.2g} % from its line; "
    verdict, text = _flatness(rising, flat)
    said += f"{c['flat']} adds {text}"
    other = (evidence.first(run["scaling"], flat.place.row) or {}).get("largest_relative_misfit")
    if other is not None and other > limit:
        said += f"; its levels scatter by up to {100 * other:.0f} % around its line"
    return _of_line(claim, rising, flat, verdict if misfit <= limit else CONTRADICTED, said)


def _of_line(claim: Claim, rising: Measured, flat: Measured, verdict: str, said: str) -> Answer:
    """The verdict, unless the rising line is not known to rise."""
    rising = replace(rising, aside=f"eBPF: {interval(flat.value)}")
    if rising.value.low is None or rising.value.low <= 0:
        said = f"the slope of {claim.criterion['rising']} is not clearly above 0"
        return Answer(UNDETERMINED, said, rising)
    return Answer(verdict, said, rising, "", rising.runs)


def flat(claim: Claim, index: Index) -> Answer:
    """What an idle process adds is nothing, and the collector tells the truth all the same."""
    c = claim.criterion
    run = evidence.newest(index, c["study"], c["presets"])
    rising, slope, per = _slopes(claim, run) if run else (None, None, "")
    if run is None or rising is None or slope is None:
        return not_yet(claim)
    if false := _false(run, c["flat"]):
        said = f"{c['flat']} fails its fidelity trials: {false}"
        return Answer(UNDETERMINED, said, slope, "", slope.runs)
    verdict, text = _flatness(rising, slope)
    said = (
        f"{_range(run)} {_many(per)}, all but a few asleep: {text} ({rising.number} through /proc)"
    )
    if (steady := _fidelity(run, c["flat"]).get(STEADY)) is not None:
        said += f"; its error on a known use is {_signed(steady)}"
    slope = replace(slope, aside=f"/proc: {interval(rising.value)}")
    return Answer(verdict, said, slope, "", slope.runs)


def rises(claim: Claim, index: Index) -> Answer:
    """Cost over the switch rate; until that is measured, what one switch was calibrated to cost."""
    found = frontier.rises(claim, index)
    return found or not_yet(claim, _calibrated(claim.criterion, index))


def _calibrated(c: Entry, index: Index) -> str:
    run = evidence.newest(index, c["calibrated"]["study"], c["calibrated"]["presets"])
    made = []
    for pace in ("paced", "hot"):
        where = {"arm": c["arm"], "pace": pace}
        entry = evidence.first(run["calibration"], where) if run else None
        value = as_interval(entry["interval"] if entry else None).scaled(1e-3)
        if value.estimate is not None:
            made.append(f"{interval(value)} µs {pace}")
    if not made:
        return ""
    return (
        f"Calibrated: a switch costs {', '.join(made)}; that cost times a rate is no measured rise"
    )


def level(claim: Claim, index: Index) -> Answer:
    """Each published value against the interval of its cell."""
    c, limits = claim.criterion, ledger().limits
    run = evidence.newest(index, c["study"], c["presets"])
    said: list[str] = []
    words: list[str] = []
    shown: Measured | None = None
    for name, (arm, measure) in c["values"].items() if run else []:
        where = {"arm": arm, **c["cell"]}
        value, ours = (
            claim.published[name],
            as_interval(evidence.cell(run or {}, where).get(measure)),
        )
        if run is None or ours.estimate is None:
            return not_yet(claim)
        place = evidence.Place(evidence.folder_of(run), claim.table, where, measure)
        shown = shown or Measured(ours, measure.replace("_", " "), place, (str(run["run"]),))
        if value == 0:
            met = ours.low is not None and ours.low <= limits["zero_ms"]
            word, distance = (None if met else CONTRADICTED), "one clock tick is the resolution"
        elif wide := too_wide(ours):
            word, distance = UNDETERMINED, wide
        else:
            word, distance = size(value, ours)
        words.append(word or HOLDS)
        said.append(f"{name}: {interval(ours)} against {value:g}, {distance}")
    if not words or shown is None:
        return not_yet(claim)
    verdict = next((w for w in (CONTRADICTED, UNDETERMINED) if w in words), HOLDS)
    return Answer(verdict, "; ".join(said), shown, "", shown.runs)


def _fidelity(run: Entry, arm: str) -> dict[str, Entry]:
    """An arm's fidelity entries by workload, those with an error alone."""
    found = [e for e in run.get("fidelity") or [] if e["arm"] == arm and e["worst"] is not None]
    return {str(e.get("workload") or STEADY): e for e in found}


def _signed(entry: Entry) -> str:
    return f"{100 * entry['worst']:+.1f} %".replace("-", "−")


def _false(run: Entry, arm: str) -> str:
    """Where an arm reports another CPU time than was used, undeclared; empty if nowhere."""
    return ", ".join(
        f"{workload} {_signed(entry)}"
        for workload, entry in _fidelity(run, arm).items()
        if entry["verdict"] == "wrong" or (workload == STEADY and entry["verdict"] == "misses")
    )


def accuracy(claim: Claim, index: Index) -> Answer:
    """Absolute errors against known use, load by load, as the run itself compared them."""
    c = claim.criterion
    for asked, scope in ((c, ""), (c["also"], "for the CPU time of processes")):
        run = evidence.newest(index, asked["study"], asked["presets"])
        found = (run.get("fidelity_answers") or {}).get(claim.id) if run else None
        if run is not None and found is not None:
            return _compared(run, found["workloads"], asked["arm"], scope)
    return not_yet(claim, _steady(index))


def _steady(index: Index) -> str:
    """Errors in the one fidelity trial that the newest run of processes has."""
    run = evidence.newest(index, "processes", ["paper"])
    made = [
        f"{arm} {_signed(entry)}"
        for arm in ("sched_switch_published", "proc_stat")
        for entry in (_fidelity(run, arm).values() if run else [])
    ]
    return f"CPU time per process of a steady load: {', '.join(made)}" if made else ""


def _compared(run: Entry, loads: list[Entry], arm: str, scope: str) -> Answer:
    """loads: workload, difference (interval, a share) and which side is closer, each."""
    closer: dict[str, list[str]] = {"sched_switch": [], "polling": [], UNDETERMINED: []}
    for load in loads:
        difference = as_interval(load["difference"]).scaled(100)
        name = str(load["workload"]).replace("_", " ")
        closer[load["closer"]].append(f"{name} ({interval(difference)} points)")
    who = {"sched_switch": "sched_switch is closer under", "polling": "polling is closer under"}
    made = [f"{who.get(side, side)} {', '.join(names)}" for side, names in closer.items() if names]
    said = f"{scope}: {'; '.join(made)}".removeprefix(": ")
    measured = _largest_error(run, arm)
    ahead, behind = closer["sched_switch"], closer["polling"]
    if not ahead:
        return Answer(CONTRADICTED if behind else UNDETERMINED, said, measured)
    if len(ahead) == len(loads) and not scope:
        return Answer(HOLDS, said, measured)
    names = ", ".join(name.partition(" (")[0] for name in ahead)
    condition = f"the load is {names}" + (f", {scope}" if scope else "")
    return Answer(HOLDS_WHEN, said, measured, condition)


def _largest_error(run: Entry, arm: str) -> Measured | None:
    """By a run of the study that asked: of each CPU's activity, or of the CPU time of processes."""
    if run.get("cores"):
        return _largest_of_cores(run, arm)
    errors = {w: as_interval(e["error"]) for w, e in _fidelity(run, arm).items()}
    if not errors:
        return None
    at = max(errors, key=lambda workload: abs(errors[workload].estimate or 0.0))
    where = {"arm": arm, "workload": at}
    place = evidence.Place(evidence.folder_of(run), "fidelity", where, "error", 100)
    unit = f"% error under the load {at.replace('_', ' ')}"
    return Measured(errors[at].scaled(100), unit, place, (str(run["run"]),))


def _largest_of_cores(run: Entry, arm: str) -> Measured | None:
    both = (arm, f"{arm}_published")  # those whose errors the verdict goes by
    made = [e for e in run["cores"]["accuracy"] if e["arm"] in both and e["n"]]
    if not made:
        return None
    worst = max(made, key=lambda e: as_interval(e["error"]).estimate or 0.0)
    where = {"arm": worst["arm"], "load": worst["load"]}
    place = evidence.Place(evidence.folder_of(run), "core_accuracy", where, "error_points")
    unit = f"points of a CPU off where it is worst, {worst['load']}"
    return Measured(as_interval(worst["error"]), unit, place, (str(run["run"]),))
