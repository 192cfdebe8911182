"""Rules on the third source: what its optimisations save, and which hooks carry the cost."""

from __future__ import annotations

from analysis.claims import evidence
from analysis.claims.answer import (
    CONTRADICTED,
    HOLDS,
    HOLDS_WHEN,
    NOT_TESTABLE,
    UNDETERMINED,
    Answer,
    Index,
    expected,
    not_yet,
    size,
    too_wide,
)
from analysis.claims.data import Claim
from analysis.claims.evidence import Entry, Measured, as_interval
from analysis.text import interval, number

PAIRS, SHARES = "sensor_pairs", "hook_shares"
METADATA = "metadata_total"
UNAVAILABLE = "unavailable"


def _run(claim: Claim, index: Index) -> Entry | None:
    c = claim.criterion
    found = evidence.runs_of(index, c["study"], c["presets"])
    return next((run for run in found if run.get("sensor")), None)


def _pair(run: Entry, name: str) -> Entry | None:
    return evidence.first(run["sensor"]["ratios"], {"id": name})


def _measured(run: Entry, entry: Entry) -> Measured:
    place = evidence.Place(evidence.folder_of(run), PAIRS, {"id": entry["id"]}, "ratio")
    return Measured(as_interval(entry.get("ratio")), "×", place, (str(run["run"]),))


def sensor_ratio(claim: Claim, index: Index) -> Answer:
    """Direction by the run's verdict on the declared pair, size by its interval."""
    c = claim.criterion
    run = _run(claim, index)
    entry = _pair(run, c["pair"]) if run else None
    if run is None or entry is None:
        return not_yet(claim)
    runs = (str(run["run"]),)
    word, why = str(entry["verdict"]), str(entry["why"])
    beside = _beside(run, c) + _counted(claim, index)
    if word == UNAVAILABLE:
        return Answer(NOT_TESTABLE, why + beside, None, "", runs)
    measured = _measured(run, entry)
    if word == UNDETERMINED:
        return Answer(UNDETERMINED, why + beside, measured, "", runs)
    if word not in c["expect"]:
        said = f"{entry['numerator']} is {word} ({why}){beside}"
        return Answer(CONTRADICTED, said, measured, "", runs)
    if wide := too_wide(measured.value):
        return Answer(UNDETERMINED, f"{word}, but of the size: {wide}{beside}", measured, "", runs)
    value = expected(claim)
    verdict, distance = size(value, measured.value)
    same = "same direction" if verdict is None else "same direction, another size"
    said = f"{same} ({why}): {measured.number} against {value:g}×, which lies {distance}{beside}"
    condition = _condition(entry, c)
    if verdict is None and condition:
        return Answer(HOLDS_WHEN, said, measured, condition, runs)
    return Answer(verdict or HOLDS, said, measured, "", runs)


def _condition(entry: Entry, c: Entry) -> str:
    """A ratio of event volumes is the sends a second of a socket, to one event a second."""
    if c.get("depends") != "rate":
        return ""
    rate = as_interval(entry["rate"]).estimate
    return f"a socket makes about {number(rate)} sends a second" if rate else ""


def _beside(run: Entry, c: Entry) -> str:
    """Ratios that stand beside the verdict, of other pairs of the same run."""
    said = []
    for name in c.get("beside", []):
        entry = _pair(run, name)
        if entry and as_interval(entry.get("ratio")).estimate is not None:
            pair = f"{entry['numerator']} over {entry['denominator']} under {entry['load']}"
            rate = as_interval(entry["rate"]).estimate
            events = f" at {number(rate)} events a second" if c.get("depends") and rate else ""
            said.append(f"{pair}{events} {_measured(run, entry).number}")
    return f"; beside: {', '.join(said)}" if said else ""


def _counted(claim: Claim, index: Index) -> str:
    """The same ratio in the exact machine, which has every hook."""
    c = claim.criterion
    found = evidence.runs_of(index, c["study"], ["exact"])
    run = next((run for run in found if run.get("sensor")), None)
    entry = _pair(run, c["pair"]) if run else None
    if entry is None or as_interval(entry.get("ratio")).estimate is None:
        return ""
    ratio = entry["ratio"]
    ends = ", ".join(number(ratio[end]) for end in ("low", "high"))
    return f"; by instructions in the exact machine {number(ratio['estimate'])}× [{ends}]"


def byte_accounting(claim: Claim, index: Index) -> Answer:
    """The two byte-accounting hooks above any other one, and gone with metadata alone."""
    c = claim.criterion
    run = _run(claim, index)
    entry = (
        evidence.first(run["sensor"]["accounting"], {"load": c["load"]})
        if run is not None
        else None
    )
    if run is None or entry is None:
        return not_yet(claim)
    runs, unit = (str(run["run"]),), f"{run['sensor']['unit']} per event"
    margin, saved = as_interval(entry["margin"]), as_interval(entry["saved"])
    row = {"load": c["load"], "hook": "margin"}
    place = evidence.Place(evidence.folder_of(run), SHARES, row, "added")
    measured = Measured(margin, unit, place, runs)
    said = (
        f"both together take {interval(as_interval(entry['bytes']))} {unit}, "
        f"{interval(margin)} more than the dearest other hook, {entry['largest_other']}; metadata "
        f"only saves {interval(saved)}"
    )
    if None in (margin.low, margin.high, saved.low, saved.high):
        return Answer(UNDETERMINED, f"{said}: no interval", measured, "", runs)
    assert margin.low is not None and margin.high is not None
    assert saved.low is not None and saved.high is not None
    if margin.high < 0 or saved.high < 0:
        return Answer(CONTRADICTED, said, measured, "", runs)
    if margin.low > 0 and saved.low > 0:
        return Answer(HOLDS, said, measured, "", runs)
    return Answer(UNDETERMINED, said, measured, "", runs)
