"""Duty cycles on every CPU, the truth of trials of kind ``cores``, read from a preset."""

from __future__ import annotations

from dataclasses import dataclass

from experiment.reader import Reader

#: The generator of the load.
PROGRAM = "duty_cores"


@dataclass(frozen=True)
class DutyCycle:
    """Each CPU is busy for a share of the time, for ``burst_us`` at a stretch."""

    duty_percent: int
    burst_us: int


@dataclass(frozen=True)
class Cores:
    """Trials of what a collector says of each CPU. ``arms`` None: those whose cost is measured."""

    window_ms: int
    blocks: int
    loads: tuple[DutyCycle, ...]
    arms: tuple[str, ...] | None = None


def read(reader: Reader | None) -> Cores | None:
    """The section ``cores`` of a preset. Raises PresetError for a bad key."""
    if reader is None:
        return None
    cores = Cores(
        window_ms=round(1000 * reader.take("window_s", int, float)),
        blocks=reader.take("blocks", int),
        loads=tuple(_load(part) for part in reader.sections("loads")),
        arms=reader.texts_or_none("arms"),
    )
    reader.end()
    return cores


def _load(reader: Reader) -> DutyCycle:
    load = DutyCycle(reader.take("duty_percent", int), reader.take("burst_us", int))
    if not 1 <= load.duty_percent <= 99:
        raise reader.fail("duty_percent", load.duty_percent, "from 1 to 99")
    if not 1 <= load.burst_us <= 10_000_000:
        raise reader.fail("burst_us", load.burst_us, "from 1 to 10,000,000")
    reader.end()
    return load
