"""Design points of the study ``crossover``: the conditions that its model of cost is fitted to.

A point is a state of the machine and a pace of scraping. In a plan it is one object of
``plan["points"]``, by the keys of :meth:`Point.planned`; trials of kind ``cost`` and ``empty``
carry the point's number and its factors. Contrasts and the A/A pair name a point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Point:
    """One design point; times in ms.

    ``processes`` are those of the whole machine, each of the idle ones with so many threads. The
    load makes ``switches_per_s`` context switches a second between ``switching_tasks`` tasks (both
    0: no load). The model is not fitted to a point that is ``held_out``: it is tested there.
    """

    number: int
    processes: int
    threads_per_process: int
    switches_per_s: int
    switching_tasks: int
    interval_ms: int
    window_ms: int
    held_out: bool
    arms: tuple[str, ...]

    def factors(self) -> dict[str, Any]:
        """What a trial carries of its point."""
        return {
            "point": self.number,
            "processes": self.processes,
            "threads_per_process": self.threads_per_process,
            "switches_per_s": self.switches_per_s,
            "switching_tasks": self.switching_tasks,
            "interval_ms": self.interval_ms,
            "window_s": self.window_ms / 1000,
        }

    def planned(self) -> dict[str, Any]:
        """The entry of ``plan["points"]``."""
        return {**self.factors(), "held_out": self.held_out, "arms": list(self.arms)}
