"""Rules on slopes, levels and errors: what a process or a switch adds, what is reported of a use.

A slope is flat by equivalence, as a contrast is: its whole interval lies within a margin, a share
of the slope that it is set against. An interval that only holds 0 says nothing by itself.
"""

from __future__ import annotations

from dataclasses import replace

from analysis.claims import evidence
from analysis.claims.answer import (
    CONTRADICTED,
    HOLDS,
    HOLDS_WHEN,
    NOT_TESTABLE,
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
    return f"from {min(levels):,} to {max(levels):,}" if levels else "over the measured levels"


def _flatness(rising: Measured, flat: Measured) -> tuple[str, str]:
    """Verdict on the flat slope, and its interval set against the rising one in words."""
    margin = ledger().limits["flat_share"] * abs(rising.value.estimate or 0.0)
    low, high = flat.value.low, flat.value.high
    assert low is not None and high is not None  # evidence.slope gives none without ends
    share = max(abs(low), abs(high)) / abs(rising.value.estimate or 1.0)
    said = f"{flat.number}: at most {number(high, 2)} µs"
    said += f", {100 * share:.2g} % of the rising slope" if high > 0 else ""
    if -margin <= low and high <= margin:
        return HOLDS, said
    if low > margin or high < -margin:
        return CONTRADICTED, said
    return UNDETERMINED, f"{said}; smallest detectable slope {number((high - low) / 2, 2)} µs"


def line(claim: Claim, index: Index) -> Answer:
    """One arm on a rising straight line, the other one flat."""
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
    rising = replace(rising, aside=f"eBPF: {interval(flat.value)}")
    if rising.value.low is None or rising.value.low <= 0:
        return Answer(UNDETERMINED, f"the slope of {c['rising']} is not clearly above 0", rising)
    if misfit > limit:
        return Answer(CONTRADICTED, said, rising, "", rising.runs)
    return Answer(verdict, said, rising, "", rising.runs)


def flat(claim: Claim, index: Index) -> Answer:
    """What an idle process adds is nothing, and the collector tells the truth all the same."""
    c = claim.criterion
    run = evidence.newest(index, c["study"], c["presets"])
    rising, slope, per = _slopes(claim, run) if run else (None, None, "")
    if run is None or rising is None or slope is None:
        return not_yet(claim)
    wrong = [e for e in _fidelity(run, c["flat"]).values() if e["verdict"] == "wrong"]
    if wrong:
        said = f"{c['flat']} fails its fidelity trials ({100 * wrong[0]['worst']:+.1f} %)"
        return Answer(UNDETERMINED, said.replace("-", "−"), slope, "", slope.runs)
    verdict, text = _flatness(rising, slope)
    said = (
        f"{_range(run)} {_many(per)}, all but a few asleep: {text} ({rising.number} through /proc)"
    )
    slope = replace(slope, aside=f"/proc: {interval(rising.value)}")
    return Answer(verdict, said, slope, "", slope.runs)


def rises(claim: Claim, index: Index) -> Answer:
    """Cost over the switch rate; until that is measured, what one switch was calibrated to cost."""
    c = claim.criterion
    run = evidence.newest(index, c["study"], c["presets"])
    found = evidence.slope(run, c["arm"], c["slope"], 1e-3, "µs per switch") if run else None
    if found is None or found.value.low is None or found.value.high is None:
        return not_yet(claim, _calibrated(c, index))
    said = f"{c['arm']}: {found.number}"
    if found.value.low > 0:
        return Answer(HOLDS, said, found, "", found.runs)
    return Answer(CONTRADICTED if found.value.high < 0 else UNDETERMINED, said, found)


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


def accuracy(claim: Claim, index: Index) -> Answer:
    """Largest errors against known use, workload by workload."""
    c = claim.criterion
    own = evidence.newest(index, c["study"], c["presets"])
    if own is not None and _fidelity(own, c["better"]):
        return _compared(claim, own, c["better"], c["worse"], "")
    also = c["also"]
    run = evidence.newest(index, also["study"], also["presets"])
    if run is None or len(_fidelity(run, also["better"])) < 2:
        return not_yet(claim, _steady(also, index))
    said = "as far as CPU time per process goes; "
    return _compared(claim, run, also["better"], also["worse"], said)


def _steady(also: Entry, index: Index) -> str:
    """Errors in the one fidelity trial that the newest run of processes has."""
    run = evidence.newest(index, "processes", ["paper"])
    made = [
        f"{arm} {100 * entry['worst']:+.1f} %".replace("-", "−")
        for arm in (also["better"], also["worse"])
        for entry in (_fidelity(run, arm).values() if run else [])
    ]
    return f"CPU time per process of a steady load: {', '.join(made)}" if made else ""


def _compared(claim: Claim, run: Entry, better: str, worse: str, scope: str) -> Answer:
    mine, theirs = _fidelity(run, better), _fidelity(run, worse)
    shared = [workload for workload in mine if workload in theirs]
    if not shared:
        return Answer(NOT_TESTABLE, f"{better} and {worse} share no workload of known use")
    margin = ledger().limits["accuracy_points"]
    gain = {w: abs(theirs[w]["worst"]) - abs(mine[w]["worst"]) for w in shared}
    pairs = [
        (w.replace("_", " "), 100 * mine[w]["worst"], 100 * theirs[w]["worst"]) for w in shared
    ]
    errors = "; ".join(f"{w} {a:+.1f} against {b:+.1f} %" for w, a, b in pairs).replace("-", "−")
    ahead = [w for w in shared if gain[w] > margin]
    behind = [w for w in shared if gain[w] < -margin]
    at = max(shared, key=lambda w: abs(mine[w]["worst"]))
    place = evidence.Place(
        evidence.folder_of(run), "fidelity", {"arm": better, "workload": at}, "worst", 100
    )
    worst = as_interval({"estimate": 100 * mine[at]["worst"], "n": mine[at]["n"]})
    measured = Measured(worst, "% largest error", place, (str(run["run"]),))
    said = f"{scope}largest errors of {better} against {worse}: {errors}"
    if not ahead:
        return Answer(CONTRADICTED, said, measured, "", measured.runs)
    if not behind and len(ahead) == len(shared) and not scope:
        return Answer(HOLDS, said, measured, "", measured.runs)
    condition = f"{scope.removesuffix('; ')}{', ' if scope else ''}{', '.join(ahead)}"
    return Answer(HOLDS_WHEN, said, measured, condition, measured.runs)
