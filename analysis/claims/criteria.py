"""Rules on contrasts and cells: from summaries to a verdict, by limits that claims.yml declares.

Each rule is a pure function of a claim and the index of summaries. An interval decides, never an
estimate alone: a direction is the run's own verdict (equivalence first, then the adjusted p; D. J.
Schuirmann 1987, S. Holm 1979: see `analysis.contrasts`), a published size is compared with our
interval.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analysis.claims import evidence, frontier
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
from analysis.claims.evidence import Contrast, Measured, as_interval
from analysis.contrasts import DIFFERENCE_MARGIN
from analysis.statistics.permutation import ALPHA
from analysis.text import number


def _decided(claim: Claim, index: Index) -> tuple[Contrast | None, Answer | None]:
    """The contrast of a criterion, and the answer where its verdict alone gives it."""
    c = claim.criterion
    found = evidence.contrast(index, c["study"], c["presets"], c["contrast"])
    if found is None:
        return None, not_yet(claim)
    entry, ratio = found.entry, found.measured("ratio", "×")
    verdict, why = str(entry["verdict"]), str(entry["why"])
    if verdict == "unavailable":
        beside = evidence.by_instructions(index, c["study"], c["contrast"]) or claim.meanwhile
        said = f"{why}. {beside}" if beside else why
        return found, Answer(NOT_TESTABLE, said, None, "", found.runs)
    if verdict == UNDETERMINED:
        least = entry.get("detectable_percent_core")
        if least is not None and "detectable" not in why:
            why += f"; smallest detectable effect {number(least, 2)} % of a core"
        return found, Answer(UNDETERMINED, why, ratio, "", found.runs)
    if verdict not in c["expect"]:
        first = c["contrast"]["numerator"]
        return found, Answer(CONTRADICTED, f"{first} is {verdict} ({why})", ratio, "", found.runs)
    return found, None


def _beside(claim: Claim, index: Index) -> str:
    """The same pair and level under another preset, for the reason's sake."""
    preset = claim.criterion.get("beside")
    if preset is None:
        return ""
    where = {k: v for k, v in claim.criterion["contrast"].items() if k != "statistics"}
    found = evidence.contrast(index, claim.criterion["study"], [preset], where)
    measured = found.measured("ratio", "×") if found else None
    return f"by the article's protocol {measured.number}" if measured else ""


def _over(found: Contrast) -> str:
    return f"; {found.over}" if len(found.runs) > 1 else ""


def _at(found: Contrast, index: Index, processes: Any) -> str:
    runs = [run for run in index["runs"] if run["run"] in found.runs]
    arms = [found.entry["numerator"], found.entry["denominator"]]
    return evidence.conditions(runs, arms, processes)


def ratio(claim: Claim, index: Index) -> Answer:
    """Direction by our verdict, size by our interval."""
    found, answer = _decided(claim, index)
    if answer or found is None:
        return answer or not_yet(claim)
    entry, measured = found.entry, found.measured("ratio", "×")
    assert measured is not None  # a verdict of a contrast has a ratio or a difference
    value, runs = expected(claim), found.runs
    at = _at(found, index, claim.criterion["contrast"].get("processes"))
    if wide := too_wide(measured.value):
        return Answer(UNDETERMINED, f"{entry['verdict']}, but of the size: {wide}", measured)
    word, distance = size(value, measured.value)
    found_size = "same direction" if word is None else "same direction, another size"
    said = f"{found_size} ({entry['why']}): {measured.number} against {value:g}×, which lies "
    said += distance
    said += f"; at {at}{_over(found)}"
    measured = replace(measured, aside=_beside(claim, index))
    return Answer(word or HOLDS, said, measured, "", runs)


def direction(claim: Claim, index: Index) -> Answer:
    """Direction alone, by our verdict."""
    found, answer = _decided(claim, index)
    if answer or found is None:
        return answer or not_yet(claim)
    at = _at(found, index, claim.criterion["contrast"].get("processes"))
    said = f"{found.entry['verdict']} ({found.entry['why']}); at {at}"
    return Answer(HOLDS, said, found.measured("ratio", "×"), "", found.runs)


def fleet(claim: Claim, index: Index) -> Answer:
    """The difference of one node times the number of nodes; by the cost model if there is one."""
    if (modelled := frontier.fleet(claim, index)) is not None:
        return modelled
    found, answer = _decided(claim, index)
    if answer or found is None:
        return answer or not_yet(claim)
    nodes = int(claim.criterion["nodes"])
    saved = found.measured("difference", f"cores per {nodes:,} nodes", nodes / 100)
    at = _at(found, index, claim.criterion["contrast"].get("processes"))
    value = expected(claim)
    if saved is None:
        return Answer(UNDETERMINED, "the difference has no interval", None, "", found.runs)
    word, distance = size(value, saved.value)
    said = f"{value:g} published, which lies {distance} ({found.entry['why']}){_over(found)}"
    condition = "" if word else f"a node has {at}"
    return Answer(word or HOLDS_WHEN, said, saved, condition, found.runs)


def left_out(claim: Claim, index: Index) -> Answer:
    """What the reader's own account leaves out, and which share of the whole that is."""
    c = claim.criterion
    run = evidence.newest(index, c["study"], c["presets"])
    where = {"arm": c["arm"], "processes": c["processes"]}
    cell = evidence.cell(run, where) if run else {}
    others, whole = as_interval(cell.get("others")), as_interval(cell.get("headline"))
    if run is None or others.estimate is None or whole.estimate is None:
        return Answer(NOT_TESTABLE, cell["reason"]) if cell.get("reason") else not_yet(claim)
    place = evidence.Place(evidence.folder_of(run), "arms", where, "others")
    name = str(run["run"])
    share = f"{100 * others.estimate / whole.estimate:.0f} % of the whole"
    measured = Measured(others, "% of a core", place, (name,), share)
    reader = as_interval(cell.get("agent")).estimate
    said = (
        f"the reader alone shows {number(reader)} of {number(whole.estimate)} % of a core and "
        f"leaves out {share}; at " + evidence.conditions([run], [c["arm"]], c["processes"])
    )
    if others.low is not None and others.low > 0:
        return Answer(HOLDS, said, measured, "", (name,))
    if others.inside(-DIFFERENCE_MARGIN, DIFFERENCE_MARGIN):
        return Answer(CONTRADICTED, said, measured, "", (name,))
    return Answer(UNDETERMINED, said, measured, "", (name,))


def bound(claim: Claim, index: Index) -> Answer:
    """One counterexample at the adjusted p is enough, wherever it is."""
    c = claim.criterion
    studies = [c["study"], *c["search"]]
    searched = 0
    for run in index["runs"]:
        for entry in run["contrasts"] if run["finished"] and run["study"] in studies else []:
            if [entry["numerator"], entry["denominator"]] not in c["pairs"]:
                continue
            searched += entry["verdict"] != "unavailable"
            p = entry["p_adjusted"]
            if entry["verdict"] == c["never"] and p is not None and p < ALPHA:
                place = evidence.Place(
                    evidence.folder_of(run), "verdicts", {"id": entry["id"]}, "ratio"
                )
                name = (str(run["run"]),)
                measured = Measured(as_interval(entry["ratio"]), "×", place, name)
                said = f"{entry['numerator']} is {c['never']} ({entry['why']})"
                return Answer(CONTRADICTED, said, measured, "", name)
    points, looked = frontier.counterexamples(claim, index)
    if points:
        return frontier.contradicted(claim, points, looked)
    if doubts := frontier.in_doubt(claim, index):
        return frontier.doubted(claim, doubts, looked)
    none = f"{searched} contrasts so far, none of them under load, hold no counterexample"
    if evidence.newest(index, c["study"], c["presets"]) is None:
        return not_yet(claim, none if searched else "")
    run = evidence.newest(index, c["study"], c["presets"])
    runs = (str(run["run"]),) if run else ()
    said = f"{searched} contrasts and {looked} measured points hold no counterexample"
    return Answer(HOLDS, said, None, "", runs)
