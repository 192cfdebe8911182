"""What a block holds: the cells of a plan, before their order is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiment.arms import Arm
from experiment.overrides import NULL_AGENT
from experiment.presets import External, Level, Preset

#: Hooks whose events a workload can count out, so that their cost can be calibrated.
CALIBRATED_HOOKS = ("sched_switch",)


@dataclass(frozen=True)
class Cell:
    """One thing measured once in each block."""

    level: Level
    arm: str
    replica: int
    statistics: str


@dataclass(frozen=True)
class Layout:
    """Everything the order is drawn over. Windows in ms."""

    cells: tuple[Cell, ...]
    blocks: int
    warm_up_blocks: int
    interval_ms: int
    window_ms: int
    warm_up_window_ms: int
    external: External | None
    external_arms: tuple[str, ...]
    fidelity_arms: tuple[str, ...]
    fidelity_level: Level
    fidelity_window_ms: int


def lay_out(preset: Preset, arms: Mapping[str, Arm], notes: list[str] | None = None) -> Layout:
    """The cells of a preset, its A/A twin, and which arms get external and fidelity trials.

    External trials are for arms whose programs run in other tasks at an event that a workload can
    count out; the unattached null agent is their sibling. Fidelity trials are for arms that dump
    what they read.
    """
    cells = [
        Cell(level, arm, 1, group.statistics)
        for group in preset.groups
        for level in group.levels
        for arm in group.arms
    ]
    twin = Cell(preset.a_a.level, preset.a_a.arm, 2, preset.a_a.statistics)
    measured = list(dict.fromkeys(cell.arm for cell in cells))
    outside = [arm for arm in measured if arms[arm]["context"] in ("others", "both")]
    hooked = [arm for arm in outside if arms[arm]["hook"] in CALIBRATED_HOOKS]
    if notes is not None:
        notes += [
            f"{arm}: no workload counts out its event, {arms[arm]['hook']}: no external trials; its"
            " cost in other tasks is known only if its program times itself"
            for arm in outside
            if arm not in hooked
        ]
    return Layout(
        cells=(*dict.fromkeys(cells), twin),
        blocks=preset.blocks,
        warm_up_blocks=preset.warm_up_blocks,
        interval_ms=preset.interval_ms,
        window_ms=preset.window_ms,
        warm_up_window_ms=preset.warm_up_window_ms,
        external=preset.external,
        external_arms=(NULL_AGENT, *hooked) if hooked else (),
        fidelity_arms=tuple(
            arm for arm in measured if arms[arm]["dump"] and arms[arm]["source"] != "none"
        ),
        fidelity_level=preset.a_a.level,
        fidelity_window_ms=preset.fidelity_window_ms,
    )
