"""What a user's arms and this machine change in a preset of design points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from experiment import points
from experiment.arms import Arm
from experiment.overrides import HEADROOM, NULL_AGENT, first_real, use_elsewhere
from experiment.presets import MAX_CONTRASTS, Contrast, Preset


def use_arms(preset: Preset, arms: Mapping[str, Arm], notes: list[str], *, only: bool) -> Preset:
    """Measure the given arms at every point, in place of those it names (``only``), or beside them.

    A point that names some of the arms itself keeps those. Contrasts between arms that are gone go
    too; if none is left, the first arm that reads anything is contrasted with each of the others.
    """
    kept = [arm for arm in preset.named if not only or arm in arms or arm == NULL_AGENT]
    new = [arm for arm in arms if arm not in preset.named]
    chosen = []
    for point in preset.points:
        names = (*(arm for arm in point.arms if arm in kept), *new)
        chosen.append(replace(point, arms=names))
    home = chosen[(preset.a_a.point or 1) - 1]
    twin = preset.a_a
    if twin.arm not in home.arms:
        twin = replace(twin, arm=first_real(home.arms))
    contrasts = [
        c
        for c in preset.contrasts
        if {c.numerator, c.denominator} <= set(chosen[(c.point or 1) - 1].arms)
    ]
    if len(contrasts) < len(preset.contrasts):
        gone = [c.name for c in preset.contrasts if c not in contrasts]
        notes.append(f"contrasts without their arms left out: {', '.join(dict.fromkeys(gone))}")
    if not contrasts:
        real = [arm for arm in home.arms if arm != NULL_AGENT]
        contrasts = [
            Contrast(f"{real[0]}_vs_{other}", real[0], other, "off", twin.level, twin.point)
            for other in real[1 : MAX_CONTRASTS + 1]
        ]
        named = ", ".join(contrast.name for contrast in contrasts) or "none"
        notes.append(f"contrasts declared for these arms: {named}")
    measured = tuple(point for point in chosen if point.arms)
    preset = replace(preset, points=tuple(chosen), contrasts=tuple(contrasts), a_a=twin)
    if len(measured) < len(chosen):
        notes.append(f"{len(chosen) - len(measured)} points without any of these arms are left out")
    return use_elsewhere(preset, kept, new)


def raise_levels(preset: Preset, present: int, notes: list[str]) -> Preset:
    """Raise process counts that this machine and the point's load already exceed.

    ``present`` is the number of processes running now.
    """
    moved: dict[int, int] = {}
    for point in preset.points:
        least = present + points.needed(point) + HEADROOM
        if point.processes < least:
            moved[point.number] = -(-least // 10) * 10
            notes.append(
                f"point {point.number}: {point.processes} processes cannot be reached, {present}"
                f" run already: measured at {moved[point.number]} instead"
            )
    chosen = tuple(
        replace(point, processes=moved.get(point.number, point.processes))
        for point in preset.points
    )

    def level(number: int | None) -> int:
        return chosen[(number or 1) - 1].processes

    external = preset.external
    if external is not None and external.level is not None:
        floor = -(-(present + HEADROOM) // 10) * 10
        external = replace(external, level=max(external.level, floor))
    return replace(
        preset,
        points=chosen,
        contrasts=tuple(replace(c, level=level(c.point)) for c in preset.contrasts),
        a_a=replace(preset.a_a, level=level(preset.a_a.point)),
        external=external,
    )
