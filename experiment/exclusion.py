"""Limits of disturbance beyond which a block is left out of every analysis; part of each plan.

They are declared before the first measurement and see neither the arm nor its cost. The analysis
applies them; docs/validation.md says where they come from.
"""

from __future__ import annotations

from dataclasses import dataclass

from experiment.reader import Reader

KEYS = ("steal_percent_core", "foreign_percent_core")


@dataclass(frozen=True)
class Exclusion:
    """Limits in percent of one core, for any cost window of a block; None: no limit."""

    steal_percent_core: float | None
    foreign_percent_core: float | None


def read(reader: Reader | None) -> Exclusion | None:
    """The limits of a section, all of its keys given; None leaves no block out.

    Raises:
        PresetError: a missing or unknown key, or a limit that is not above 0.
    """
    if reader is None:
        return None
    limits: dict[str, float | None] = {}
    for key in KEYS:
        limit = reader.take(key, int, float, type(None))
        if limit is not None and not 0 < limit < float("inf"):
            raise reader.fail(key, limit, "above 0, or null")
        limits[key] = None if limit is None else float(limit)
    reader.end()
    return Exclusion(**limits)
