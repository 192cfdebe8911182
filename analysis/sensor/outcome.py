"""Everything computed of the sensor's trials, once."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.load import Run
from analysis.sensor import costs, factorial, hooks, ratios, trie
from analysis.sensor.costs import Costs, Entry


@dataclass(frozen=True)
class Sensor:
    """See the functions that make each part for its keys. unit: of every cost, per event."""

    unit: str
    cells: list[Entry]
    alone: list[Entry]
    shares: list[Entry]
    residuals: list[Entry]
    accounting: list[Entry]
    effects: list[Entry]
    steps: list[Entry]
    sizes: list[Entry]
    lines: list[Entry]
    ratios: list[Entry]


def compute(run: Run) -> Sensor | None:
    """None for a run without such trials."""
    if not costs.has_trials(run):
        return None
    found = Costs(run)
    return Sensor(
        unit=costs.unit(run),
        cells=costs.cells(found),
        alone=hooks.alone(found),
        shares=hooks.shares(found),
        residuals=hooks.residuals(found),
        accounting=hooks.accounting(found),
        effects=factorial.effects(found),
        steps=factorial.one_by_one(found),
        sizes=trie.points(found),
        lines=trie.lines(found),
        ratios=ratios.ratios(found),
    )
