"""Rules on the second source's table: what `perf stat` counts of two tools, and what it leaves out.

The measures are the source's own (see `analysis.cores.own`); whether its way of counting is fair is
said beside the verdict: the ratio with the kernel program's time in other tasks added.
"""

from __future__ import annotations

from dataclasses import replace
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
from analysis.claims.data import Claim, ledger
from analysis.claims.evidence import Entry, Measured, as_interval
from analysis.cores.own import PUBLISHED, WHOLE
from analysis.text import interval, number

TABLE = "source"


def _run(claim: Claim, index: Index) -> Entry | None:
    """The run that answers: in the exact machine the source's own architecture before ours."""
    c = claim.criterion
    found = [run for run in evidence.runs_of(index, c["study"], c["presets"]) if run.get("cores")]
    first = c.get("architecture")
    return next(
        (run for run in found if run["fingerprint"].get("architecture") == first),
        next(iter(found), None),
    )


def _ratio(run: Entry, measure: str, threads: int) -> Entry | None:
    where = {"measure": measure, "stress_threads": threads, "denominator": PUBLISHED}
    return evidence.first(run["cores"]["ratios"], where)


def _measured(run: Entry, entry: Entry) -> Measured:
    place = evidence.Place(evidence.folder_of(run), TABLE, {"id": entry["id"]}, "ratio")
    return Measured(as_interval(entry["ratio"]), "×", place, (str(run["run"]),))


def published_ratio(claim: Claim, index: Index) -> Answer:
    """Direction by the run's own verdict on that measure, size by its interval or range."""
    c = claim.criterion
    run = _run(claim, index)
    entry = _ratio(run, c["measure"], c["stress_threads"]) if run else None
    if run is None or entry is None:
        return not_yet(claim)
    measured, verdict, why = _measured(run, entry), str(entry["verdict"]), str(entry["why"])
    beside = _beside(run, c, index)
    if verdict == UNDETERMINED:
        return Answer(UNDETERMINED, why + beside, measured, "", measured.runs)
    if verdict not in c["expect"]:
        said = f"{entry['numerator']} is {verdict} ({why})" + beside
        return Answer(CONTRADICTED, said, measured, "", measured.runs)
    if wide := too_wide(measured.value):
        said = f"{verdict}, but of the size: {wide}{beside}"
        return Answer(UNDETERMINED, said, measured, "", measured.runs)
    value = expected(claim)
    word, distance = size(value, measured.value)
    size_said = "same direction" if word is None else "same direction, another size"
    said = f"{size_said} ({why}): {measured.number} against {value:g}×, which lies {distance}"
    whole = _whole(run, c)
    if word is None and whole is not None and not _same(claim, whole):
        condition = "the process alone is counted, without its program in other tasks"
        return Answer(HOLDS_WHEN, said + beside, measured, condition, measured.runs)
    return Answer(word or HOLDS, said + beside, measured, "", measured.runs)


def _whole(run: Entry, c: Entry) -> Entry | None:
    """The ratio with the program's share in other tasks added, for the measures that have one."""
    whole = WHOLE.get(c["measure"])
    return _ratio(run, whole, c["stress_threads"]) if whole else None


def _same(claim: Claim, whole: Entry) -> bool:
    """True if the claim is met with the program's time added as well."""
    ours = as_interval(whole["ratio"])
    if whole["verdict"] not in claim.criterion["expect"] or too_wide(ours):
        return False
    return size(expected(claim), ours)[0] is None


def _beside(run: Entry, c: Entry, index: Index) -> str:
    """What stands beside a verdict: the program's share added, and the other architecture."""
    whole = _whole(run, c)
    said = ""
    if whole is not None and as_interval(whole["ratio"]).estimate is not None:
        added = "with the program's time in other tasks"
        if whole["measure"] == "instructions_whole":
            added = "of the whole machine, its program in other tasks included,"
        ratio = replace(_measured(run, whole)).number
        said = f"; {added} {ratio} ({whole['verdict']})"
    others = evidence.runs_of(index, c["study"], c["presets"]) if "architecture" in c else []
    for other in others:
        mine = run["fingerprint"].get("architecture")
        theirs = other["fingerprint"].get("architecture")
        found = _ratio(other, c["measure"], c["stress_threads"]) if other.get("cores") else None
        if found is not None and theirs != mine:
            ratio = found["ratio"]
            ends = ", ".join(number(ratio[end]) for end in ("low", "high"))
            return f"{said}; on {mine}, on {theirs} {number(ratio['estimate'])}× [{ends}]"
    return said


def published_level(claim: Claim, index: Index) -> Answer:
    """Each published value against the interval of its tool."""
    c, limits = claim.criterion, ledger().limits
    run = _run(claim, index)
    entry = _ratio(run, c["measure"], c["stress_threads"]) if run else None
    if run is None or entry is None:
        return not_yet(claim)
    words: list[str] = []
    said: list[str] = []
    shown: Measured | None = None
    for name, arm in c["values"].items():
        side = "numerator" if entry["numerator"] == arm else "denominator"
        ours, value = as_interval(entry[f"{side}_cost"]), claim.published[name]
        place = evidence.Place(evidence.folder_of(run), TABLE, {"id": entry["id"]}, f"{side}_value")
        unit = name.partition("_")[2].replace("_", " ")
        shown = shown or Measured(ours, unit, place, (str(run["run"]),), arm)
        word, distance = _level(value, ours, limits)
        words.append(word or HOLDS)
        said.append(f"{arm}: {interval(ours)} against {value:g}, {distance}")
    verdict = next((w for w in (CONTRADICTED, UNDETERMINED) if w in words), HOLDS)
    return Answer(verdict, "; ".join(said), shown, "", shown.runs if shown else ())


def _level(value: float, ours: Any, limits: dict[str, float]) -> tuple[str | None, str]:
    if value == 0:
        met = ours.low is not None and ours.low <= limits["zero_ms"]
        return (None if met else CONTRADICTED), "one clock tick is the resolution"
    if wide := too_wide(ours):
        return UNDETERMINED, wide
    return size(value, ours)
