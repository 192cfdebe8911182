"""What a user's parameters and this machine change in a preset. Each change leaves a note."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from experiment.arms import Arm
from experiment.presets import MAX_CONTRASTS, Contrast, Group, Level, Preset, Twin

NULL_AGENT = "null_agent"
#: Processes that measuring itself adds: sudo, the runner, the workload's parent, a collector.
HEADROOM = 10

Placed = TypeVar("Placed", Contrast, Twin)


def use_arms(preset: Preset, arms: Mapping[str, Arm], notes: list[str], *, only: bool) -> Preset:
    """Measure the given arms.

    With ``only`` they replace the preset's (its null agent stays: costs are stated net of it);
    otherwise they join them. An arm the preset does not name is measured in every group, and in
    external and fidelity trials if it can be.
    Contrasts between arms that are gone go too; if none is left, the first arm that reads anything
    is contrasted with each of the others.
    """
    kept = [arm for arm in preset.named if not only or arm in arms or arm == NULL_AGENT]
    asked_for = preset.only_reporting if only else []
    new = [arm for arm in arms if arm not in preset.named or arm in asked_for]
    groups = []
    for group in preset.groups:
        names = (*(arm for arm in group.arms if arm in kept), *new)
        if names:
            groups.append(replace(group, arms=names))
    measured = list(dict.fromkeys(arm for group in groups for arm in group.arms))
    contrasts = [
        c for c in preset.contrasts if c.numerator in measured and c.denominator in measured
    ]
    if len(contrasts) < len(preset.contrasts):
        gone = [c.name for c in preset.contrasts if c not in contrasts]
        notes.append(f"contrasts without their arms left out: {', '.join(dict.fromkeys(gone))}")
    home = preset.a_a
    twin = home if home.arm in measured else replace(home, arm=first_real(measured))
    twin = _settled(twin, groups)
    if not contrasts:
        contrasts = _declare(measured, twin, groups)
        names_text = ", ".join(contrast.name for contrast in contrasts) or "none"
        notes.append(f"contrasts declared for these arms: {names_text}")
    preset = replace(preset, groups=tuple(groups), contrasts=tuple(contrasts), a_a=twin)
    return use_elsewhere(preset, kept, new)


def use_elsewhere(preset: Preset, kept: Sequence[str], new: Sequence[str]) -> Preset:
    """The same choice for external and fidelity trials where they list their arms.

    Trials of kind ``sensor`` are of one arm, whose flags nobody else knows: they go with it.
    """

    def chosen(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if names is None:
            return None
        return tuple(dict.fromkeys([*(arm for arm in names if arm in kept), *new]))

    external = preset.external
    if external is not None:
        external = replace(external, arms=chosen(external.arms))
    fidelity = replace(preset.fidelity, arms=chosen(preset.fidelity.arms))
    cores = preset.cores and replace(preset.cores, arms=chosen(preset.cores.arms))
    sensor = preset.sensor if preset.sensor and preset.sensor.arm in kept else None
    return replace(preset, external=external, fidelity=fidelity, cores=cores, sensor=sensor)


def first_real(measured: Sequence[str]) -> str:
    """The first arm that reads anything, or the first."""
    return next((arm for arm in measured if arm != NULL_AGENT), measured[0])


def _settled(twin: Twin, groups: Sequence[Group]) -> Twin:
    """The twin where its arm is really measured: its own cell if it can be, else the first."""
    homes = [
        (group.statistics, level, stress)
        for group in groups
        if twin.arm in group.arms and group.kind == "cost"
        for level in group.levels
        for stress in group.stress
    ]
    if (twin.statistics, twin.level, twin.stress) in homes:
        return twin
    return replace(twin, statistics=homes[0][0], level=homes[0][1], stress=homes[0][2])


def _declare(measured: Sequence[str], twin: Twin, groups: Sequence[Group]) -> list[Contrast]:
    here = {
        arm
        for group in groups
        if group.statistics == twin.statistics
        and twin.level in group.levels
        and twin.stress in group.stress
        for arm in group.arms
    }
    real = [arm for arm in measured if arm != NULL_AGENT and arm in here]
    place = twin.statistics, twin.level
    return [
        Contrast(f"{real[0]}_vs_{other}", real[0], other, *place, stress=twin.stress)
        for other in real[1 : MAX_CONTRASTS + 1]
    ]


def use_levels(preset: Preset, levels: Sequence[int], notes: list[str]) -> Preset:
    """Measure every group of cells at the given process counts.

    Contrasts, the A/A pair and external trials stay at their count if it is among them and move
    to the nearest otherwise. The preset's own counts change nothing.
    """
    if set(levels) == set(preset.levels):
        return preset
    moved = replace(
        preset,
        groups=tuple(replace(group, levels=tuple(levels)) for group in preset.groups),
    )
    return _move(moved, {level: _nearest(level, levels) for level in preset.levels}, notes)


def _nearest(level: Level, levels: Sequence[int]) -> int:
    if level is None:
        return max(levels)
    return min(levels, key=lambda other: (abs(other - level), -other))


def raise_levels(preset: Preset, present: int, notes: list[str]) -> Preset:
    """Raise process counts that this machine already exceeds.

    ``present`` is the number of processes running now; the smallest count that can be reached is
    that plus :data:`HEADROOM`, rounded up to the next ten.
    """
    floor = -(-(present + HEADROOM) // 10) * 10
    moves: dict[Level, Level] = {}
    for level in preset.levels:
        moves[level] = level
        if level is not None and level < present + HEADROOM:
            moves[level] = floor
            notes.append(
                f"{level} processes cannot be reached, {present} run already:"
                f" measured at {floor} instead"
            )
    groups = tuple(
        replace(group, levels=tuple(dict.fromkeys(moves[level] for level in group.levels)))
        for group in preset.groups
    )
    return _move(replace(preset, groups=groups), moves, notes)


def _move(preset: Preset, moves: Mapping[Level, Level], notes: list[str]) -> Preset:
    def placed(item: Placed) -> Placed:
        return replace(item, level=moves.get(item.level, item.level))

    contrasts = tuple(dict.fromkeys(placed(contrast) for contrast in preset.contrasts))
    if len(contrasts) < len(preset.contrasts):
        notes.append("contrasts that now fall on one process count are declared once")
    external = preset.external
    if external is not None:
        external = replace(external, level=moves.get(external.level, external.level))
    return replace(preset, contrasts=contrasts, a_a=placed(preset.a_a), external=external)
