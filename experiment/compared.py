"""What a plan declares before anything is measured: contrasts, and the A/A pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: A process count of the whole machine; None leaves the machine as it is.
Level = int | None


@dataclass(frozen=True)
class Contrast:
    """A declared comparison, ``numerator / denominator`` and ``numerator - denominator``."""

    name: str
    numerator: str
    denominator: str
    statistics: str
    level: Level
    point: int | None = None
    stress: int | None = None

    def planned(self) -> dict[str, Any]:
        """The entry of ``plan["contrasts"]``; its id says where it is measured."""
        where = "" if self.level is None else f"_{self.level}"
        at = self.point or self.stress
        return {
            "id": self.name + (where if at is None else f"_at_{at}"),
            "numerator": self.numerator,
            "denominator": self.denominator,
            **_planned_place(self),
        }


@dataclass(frozen=True)
class Twin:
    """The cell that is measured twice in each block: the A/A pair."""

    arm: str
    statistics: str
    level: Level
    point: int | None = None
    stress: int | None = None

    def planned(self) -> dict[str, Any]:
        """``plan["a_a"]``."""
        return {"arm": self.arm, **_planned_place(self)}


def _planned_place(item: Contrast | Twin) -> dict[str, Any]:
    place: dict[str, Any] = {"statistics": item.statistics, "processes": item.level}
    if item.stress is not None:
        place["stress_threads"] = item.stress
    return place if item.point is None else {**place, "point": item.point}
