"""Pilots: the spread of contrasts that were measured, from which a plan's precision is forecast."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiment import power, strict_yaml
from experiment.presets import Level, PresetError

PILOTS_YAML = Path(__file__).with_name("pilots.yaml")
#: A count of processes is near a pilot's if it differs by at most this share.
NEAR = 0.25
FIELDS: dict[str, tuple[type, ...]] = {
    "run": (str,),
    "study": (str,),
    "numerator": (str,),
    "denominator": (str,),
    "statistics": (str,),
    "processes": (int, type(None)),
    "interval_ms": (int,),
    "window_s": (int, float),
    "blocks": (int,),
    "cv_numerator": (int, float),
    "cv_denominator": (int, float),
    "correlation": (int, float),
}
#: Of a study whose levels are threads that press the scheduler.
OPTIONAL: dict[str, tuple[type, ...]] = {"stress_threads": (int, type(None))}


@dataclass(frozen=True)
class Pilot:
    """One measured contrast. cv: sample sd over blocks / mean; correlation within blocks."""

    run: str
    study: str
    numerator: str
    denominator: str
    statistics: str
    processes: Level
    interval_ms: int
    window_s: float
    blocks: int
    cv_numerator: float
    cv_denominator: float
    correlation: float
    stress_threads: int | None = None

    @property
    def spread(self) -> float:
        """sd over blocks of the ratio, to first order, as a share of it."""
        return power.relative_spread(self.cv_numerator, self.cv_denominator, self.correlation)

    def half_width(self, blocks: int) -> float | None:
        """Half-width of the ratio's 95 % interval with so many blocks, as a share of the ratio."""
        return power.ratio_half_width(
            self.cv_numerator, self.cv_denominator, self.correlation, blocks
        )

    def blocks_for(self, half_width: float) -> int | None:
        """Fewest blocks that reach that half-width (a share of the ratio); None: 1,000 do not."""
        return power.blocks_for_half_width(
            self.cv_numerator, self.cv_denominator, self.correlation, half_width
        )

    def differs(self, processes: Level, interval_ms: int, window_s: float) -> str:
        """In what the pilot was measured otherwise than a plan; empty if in nothing."""
        found = []
        if self.processes != processes:
            found.append(f"{self.processes} processes, here {processes}")
        if self.interval_ms != interval_ms:
            found.append(f"a scrape every {self.interval_ms} ms, here {interval_ms}")
        if self.window_s != window_s:
            found.append(f"windows of {self.window_s:g} s, here {window_s:g}")
        return "; ".join(found)


def load(path: Path | None = None) -> list[Pilot]:
    """Read the pilots. Raises PresetError, one line, for a missing, unknown or mistyped key."""
    return list(_load(path or PILOTS_YAML))


@functools.cache
def _load(path: Path) -> tuple[Pilot, ...]:
    try:
        document = strict_yaml.load(path)
    except strict_yaml.YamlError as error:
        raise PresetError(str(error)) from None
    entries = document.get("pilots")
    if set(document) != {"pilots"} or not isinstance(entries, list):
        raise PresetError(f"{path.name}: must hold a list named pilots, and nothing else")
    return tuple(_pilot(entry, f"{path.name}: pilot {n}") for n, entry in enumerate(entries, 1))


def _pilot(entry: Any, where: str) -> Pilot:
    if not isinstance(entry, dict):
        raise PresetError(f"{where}: must be a mapping")
    for key in entry:
        if key not in FIELDS and key not in OPTIONAL:
            raise PresetError(f"{where}: unknown key '{key}'")
    for key, kinds in (FIELDS | OPTIONAL).items():
        if key in FIELDS and key not in entry:
            raise PresetError(f"{where}: key '{key}' is missing")
        if key in entry and type(entry[key]) not in kinds:
            raise PresetError(f"{where}: {key}: {entry[key]!r} is of another type")
    made = Pilot(**entry)
    if min(made.cv_numerator, made.cv_denominator) < 0 or not -1 <= made.correlation <= 1:
        raise PresetError(f"{where}: a cv is at least 0, a correlation within ±1")
    return made


def find(
    study: str, contrast: Mapping[str, Any], interval_ms: int, window_s: float
) -> Pilot | None:
    """The pilot of a contrast: the same arms, statistics and stress, at the nearest processes.

    Among several the one with the plan's window and interval, then the one with most blocks.
    """
    same = ("numerator", "denominator", "statistics")
    wanted: Level = contrast["processes"]

    def away(pilot: Pilot) -> float:
        if pilot.processes is None or wanted is None:
            return 0.0 if pilot.processes == wanted else float("inf")
        return float(abs(pilot.processes - wanted)) / max(wanted, 1)

    usable = [
        pilot
        for pilot in load()
        if pilot.study == study
        and all(getattr(pilot, key) == contrast[key] for key in same)
        and pilot.stress_threads == contrast.get("stress_threads")
        and away(pilot) <= NEAR
    ]

    def rank(pilot: Pilot) -> tuple[float, bool, bool, int]:
        other = (pilot.interval_ms != interval_ms, pilot.window_s != window_s)
        return away(pilot), *other, -pilot.blocks

    return min(usable, key=rank, default=None)
