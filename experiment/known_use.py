"""Trials of what a collector reports of processes of known CPU use, read from a preset."""

from __future__ import annotations

from dataclasses import dataclass

from experiment import loads
from experiment.reader import Reader


@dataclass(frozen=True)
class Fidelity:
    """``arms`` None: those whose cost is measured. ``blocks`` 0: no such trial."""

    window_ms: int
    workloads: tuple[str, ...] = ("steady",)
    blocks: int = 1
    children: int = loads.CHILDREN
    arms: tuple[str, ...] | None = None


def read(reader: Reader) -> Fidelity:
    """The section ``fidelity`` of a preset. Raises PresetError for a bad key."""
    fidelity = Fidelity(
        window_ms=round(1000 * reader.take("window_s", int, float)),
        workloads=reader.some_of("workloads", loads.KNOWN_USE, ("steady",)),
        blocks=reader.take_or("blocks", 1, int),
        children=reader.take_or("children", loads.CHILDREN, int),
        arms=reader.texts_or_none("arms"),
    )
    reader.end()
    return fidelity
