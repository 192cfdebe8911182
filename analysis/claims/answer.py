"""The verdicts on a claim, and what every rule answers with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.claims.data import Claim, ledger
from analysis.claims.evidence import Measured
from analysis.statistics.intervals import Interval

Index = Mapping[str, Any]

HOLDS = "holds"
HOLDS_WHEN = "holds when…"
CONTRADICTED = "contradicted"
UNDETERMINED = "undetermined"
NOT_TESTABLE = "not testable here"
NOT_YET = "not yet measured"
VERDICTS = (HOLDS, HOLDS_WHEN, CONTRADICTED, UNDETERMINED, NOT_TESTABLE, NOT_YET)


@dataclass(frozen=True)
class Answer:
    """A verdict with its reason; `condition` completes `holds when…`; numbers in `measured`."""

    verdict: str
    reason: str
    measured: Measured | None = None
    condition: str = ""
    runs: tuple[str, ...] = ()


def not_yet(claim: Claim, so_far: str = "") -> Answer:
    """No run has what the criterion asks for; `so_far`: evidence that is no verdict."""
    presets = " or ".join(f"`{preset}`" for preset in claim.criterion["presets"])
    said = f"study `{claim.criterion['study']}`, preset {presets}, will answer it"
    return Answer(NOT_YET, ". ".join(filter(None, (said, so_far, claim.meanwhile))))


def expected(claim: Claim) -> float:
    """The published number that the rule compares with; a change of −80 % is a ratio of 5."""
    name = claim.criterion["value"]
    value = claim.published[name]
    return 1 / (1 + value / 100) if name.endswith("change_percent") else value


def size(value: float, ours: Interval) -> tuple[str | None, str]:
    """(verdict on a size or None, in words): how far a published number is from our interval."""
    limits = ledger().limits
    if ours.low is None or ours.high is None:
        return UNDETERMINED, ours.note or "our interval has no upper end"
    if ours.low <= value <= ours.high:
        return None, "inside our interval"
    if ours.low <= 0:
        return UNDETERMINED, "our interval reaches down to 0"
    factor = ours.low / value if value < ours.low else value / ours.high
    side = "below" if value < ours.low else "above"
    said = f"a factor of {factor:.2f} {side} our interval"
    return (None if factor <= limits["within_factor"] else CONTRADICTED), said


def too_wide(ours: Interval) -> str:
    """Why an interval decides nothing about a size; empty if it does."""
    widest = ledger().limits["widest_factor"]
    if ours.low is None or ours.high is None:
        return ours.note or "the interval is open"
    if ours.low <= 0 or ours.high / ours.low > widest:
        return f"its ends are more than a factor of {widest:g} apart"
    return ""
