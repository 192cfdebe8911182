"""How external trials pace the events that they count out, read from a preset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from experiment import loads
from experiment.reader import PresetError, Reader

STATISTICS = ("off", "on")


@dataclass(frozen=True)
class Pace:
    """How often in a block events follow each other so, and how many by workload in a turn.

    ``pause_us``: of context switches alone, with so much idling before each exchange.
    """

    rounds: int
    events: Mapping[str, int]
    pause_us: int | None = None


@dataclass(frozen=True)
class External:
    """Trials of a fixed count of work with the program attached; ``blocks`` None: every block.

    ``hot`` and ``paced`` are repetitions in a block, and numbers of events in a turn by workload;
    ``pauses`` stands in place of both. ``arms`` None: those whose cost is measured.
    """

    level: int | None
    blocks: int | None
    hot: Pace
    paced: Pace
    statistics: tuple[str, ...] = ("off",)
    arms: tuple[str, ...] | None = None
    pauses: tuple[Pace, ...] = ()

    @property
    def paces(self) -> list[tuple[str, Pace]]:
        """Every pace, with its name."""
        if self.pauses:
            return [("paced" if pace.pause_us else "hot", pace) for pace in self.pauses]
        return [("hot", self.hot), ("paced", self.paced)]


def read(reader: Reader | None) -> External | None:
    """The external trials of a preset. Raises PresetError for a bad key."""
    if reader is None:
        return None
    blocks = reader.take("blocks", int, str)
    if isinstance(blocks, str) and blocks != "every":
        raise PresetError(f"external: blocks: {blocks!r} must be a number or every")
    pauses: tuple[Pace, ...] = ()
    if reader.has("pauses"):
        pauses = tuple(_pause(part) for part in reader.sections("pauses"))
    external = External(
        level=reader.take("processes", int, type(None)),
        blocks=blocks if isinstance(blocks, int) else None,
        hot=pauses[0] if pauses else _pace(reader.section("hot")),
        paced=pauses[-1] if pauses else _pace(reader.section("paced")),
        statistics=reader.some_of("statistics", STATISTICS, ("off",)),
        arms=reader.texts_or_none("arms"),
        pauses=pauses,
    )
    reader.end()
    return external


def _pause(reader: Reader) -> Pace:
    pause_us: int = reader.take("pause_us", int)
    return replace(_pace(reader), pause_us=pause_us)


def _pace(reader: Reader) -> Pace:
    """A single number of events is that of each workload."""
    rounds: int = reader.take("rounds", int)
    value = reader.take("events", int, dict)
    reader.end()
    if isinstance(value, int):
        return Pace(rounds, dict.fromkeys(loads.EVENTS, value))
    of_each = Reader(value, "external: events")
    counts = {workload: of_each.take(workload, int) for workload in loads.EVENTS}
    of_each.end()
    return Pace(rounds, counts)
