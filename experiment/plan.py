"""Turn a preset, overrides and arms into a plan: everything the runner needs, and nothing more.

The plan is fixed before the first measurement: its blocks, its order (from a logged seed), its
contrasts and its A/A pair. The runner reads it as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from experiment import arms as arm_files
from experiment import (
    backends,
    estimate,
    order,
    overrides,
    perturbations,
    pilot,
    point_overrides,
    power,
    presets,
)
from experiment.layout import lay_out
from experiment.parameters import PlanError, levels, positive, set_by_points, timed, whole
from experiment.plan_hash import plan_hash, portable
from experiment.presets import Preset, PresetError
from experiment.run_folder import schema_version

__all__ = ["PlanError", "build", "plan_hash", "portable", "preset_names", "studies"]

SCHEMA = schema_version()
MAX_BLOCKS = 1000


def studies() -> list[str]:
    """Names of the studies that have presets."""
    return list(presets.load()[1])


def preset_names(study: str) -> list[str]:
    """Names of a study's presets."""
    return list(_presets_of(study)[1])


def build(
    study: str,
    preset: str,
    *,
    root: Path,
    build_dir: Path | None = None,
    python: str = "python3",
    system_python: str = "/usr/bin/python3",
    backend: str = backends.HERE,
    guest: str | None = None,
    present: int = 0,
    arms: Sequence[str] | None = None,
    seed: int | None = None,
    blocks: int | None = None,
    interval_ms: int | None = None,
    window_s: float | None = None,
    process_counts: Sequence[int] | None = None,
    minutes: float | None = None,
) -> dict[str, Any]:
    """Make a plan; None takes the preset's value.

    Args:
        study: name of a study in ``presets.yaml``.
        preset: name of one of its presets.
        root: the project's folder; arms are read from ``bpf/*/*.yaml`` below it.
        build_dir: where the collectors are; default ``<root>/bpf/build``.
        backend: where it will run, see :mod:`experiment.backends`. ``exact`` has no warm-up: each
            block is a boot of its own, under a declared perturbation, and holds an empty window for
            each process count.
        guest: kernel and architecture of the exact machine.
        present: processes on this machine now; process counts below it are raised, with a note.
        arms: names of built-in arms or paths of YAML files, in place of the preset's.
        blocks: analysed blocks; the warm-up is one more.
        window_s: length of a trial's window in seconds, a whole number of intervals.
        process_counts: process counts of the whole machine, in place of the preset's.
        minutes: a budget; as many blocks as it buys. Excludes ``blocks``.

    Raises:
        PlanError: an unknown study or preset, or a parameter of the wrong type or range.
        experiment.arms.ArmError: an unknown arm or a bad arm file.
    """
    default_seed, named = _presets_of(study)
    if preset not in named:
        raise PlanError(f"unknown preset '{preset}'; {study} knows {', '.join(named)}")
    chosen = named[preset]
    seed = default_seed if seed is None else whole("seed", seed, 0, 2**63 - 1)
    notes: list[str] = []
    if chosen.points:
        set_by_points(interval_ms=interval_ms, window_s=window_s, process_counts=process_counts)
    chosen = timed(chosen, interval_ms, window_s, notes)
    chosen, used = _armed(chosen, study, named.values(), root, arms, notes)
    if process_counts is not None:
        chosen = overrides.use_levels(chosen, levels(process_counts), notes)
    exact = backend == backends.EXACT
    if exact:
        chosen, present = replace(chosen, warm_up_blocks=0), backends.PRESENT_IN_GUEST
    elif guest is not None:
        raise PlanError(f"guest = {guest!r}: only the backend exact has one")
    change = point_overrides if chosen.points else overrides
    chosen = change.raise_levels(chosen, whole("present", present, 0, 10**7), notes)
    if blocks is not None:
        if minutes is not None:
            raise PlanError("give blocks or minutes, not both: minutes choose the blocks")
        chosen = replace(chosen, blocks=whole("blocks", blocks, 2, MAX_BLOCKS))
    if minutes is not None:
        chosen = _affordable(chosen, used, seed, positive("minutes", minutes), notes, exact)
    trials = order.trials(lay_out(chosen, used, notes, exact), seed)
    return {
        "schema": SCHEMA,
        "study": study,
        "preset": preset,
        "backend": backend,
        **(_of_exact(guest, trials, chosen.interval_ms) if exact else {}),
        "seed": seed,
        "interval_ms": chosen.interval_ms,
        "window_s": chosen.window_ms / 1000,
        "blocks": chosen.blocks,
        "warm_up_blocks": chosen.warm_up_blocks,
        "process_counts": sorted(chosen.levels, key=lambda level: level or 0),
        "paths": {
            "root": str(root),
            "build": str(build_dir or root / "bpf" / "build"),
            "python": python,
            "system_python": system_python,
        },
        "arms": {name: used[name] for name in _named_by(trials)},
        "contrasts": [contrast.planned() for contrast in chosen.contrasts],
        "a_a": chosen.a_a.planned(),
        **({"points": [p.planned() for p in chosen.points]} if chosen.points else {}),
        **({"sensor": chosen.sensor.planned()} if chosen.sensor else {}),
        "exclusion": asdict(chosen.exclusion) if chosen.exclusion else None,
        "trials": trials,
        "estimate": _estimate(study, chosen, trials, used, notes, exact),
        "notes": notes,
    }


def _of_exact(
    guest: str | None, trials: Sequence[Mapping[str, Any]], interval_ms: int
) -> dict[str, Any]:
    """What only the exact machine's plans have."""
    blocks = sorted({trial["block"] for trial in trials})
    return {
        "guest": guest or backends.GUESTS[0],
        "perturbations": [perturbations.of_block(block, interval_ms) for block in blocks],
    }


def _presets_of(study: str) -> tuple[int, Mapping[str, Preset]]:
    try:
        seed, all_studies = presets.load()
    except PresetError as error:
        raise PlanError(str(error)) from None
    if study not in all_studies:
        raise PlanError(f"unknown study '{study}'; known are {', '.join(all_studies)}")
    return seed, all_studies[study]


def _armed(
    preset: Preset,
    study: str,
    siblings: Any,
    root: Path,
    names: Sequence[str] | None,
    notes: list[str],
) -> tuple[Preset, dict[str, arm_files.Arm]]:
    """The preset with the arms that are measured, and those arms.

    A built-in arm of the study that no preset names is new: it joins every preset of cells.
    """
    known = arm_files.load_all(root)
    change = point_overrides if preset.points else overrides
    if names is not None:
        if isinstance(names, str) or not names:
            raise PlanError(f"arms = {names!r}: must be a list of names or of YAML files")
        picked = arm_files.select(study, names, root=root, known=known)
        preset = change.use_arms(preset, picked, notes, only=True)
        needed = [name for name in preset.named if name not in picked]
    else:
        named = {arm for other in siblings for arm in other.named}
        picked = {
            name: arm
            for name, arm in known.items()
            if arm["study"] == study
            and name not in named
            and arm["source"] != "none"
            and not preset.points
        }
        if picked:
            notes.append(f"no preset names {', '.join(picked)}: measured in every group of cells")
            preset = change.use_arms(preset, picked, notes, only=False)
        needed = [name for name in preset.named if name not in picked]
    if preset.external is not None and overrides.NULL_AGENT not in {*needed, *picked}:
        needed.append(overrides.NULL_AGENT)
    return preset, {**arm_files.select(study, needed, root=root, known=known), **picked}


def _affordable(
    preset: Preset,
    arms: Mapping[str, arm_files.Arm],
    seed: int,
    budget: float,
    notes: list[str],
    exact: bool,
) -> Preset:
    """The preset with as many blocks as fit into ``budget`` minutes."""

    def cost(blocks: int) -> float:
        layout = lay_out(replace(preset, blocks=blocks), arms, empty=exact)
        return estimate.minutes(order.trials(layout, seed), arms, exact)

    least = cost(2)
    if least > budget:
        raise PlanError(
            f"minutes = {budget:g}: two blocks, the fewest, take {least:.1f} minutes;"
            " allow that, or name fewer arms or process_counts"
        )
    low, high = 2, MAX_BLOCKS + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cost(middle) <= budget else (low, middle)
    notes.append(f"{budget:g} minutes buy {low} blocks")
    return replace(preset, blocks=low)


def _named_by(trials: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted({trial["arm"] for trial in trials} - {order.NO_ARM})


def _estimate(
    study: str,
    preset: Preset,
    trials: Sequence[Mapping[str, Any]],
    arms: Mapping[str, arm_files.Arm],
    notes: list[str],
    exact: bool,
) -> dict[str, Any]:
    family = len(preset.contrasts) + len(preset.sensor.contrasts if preset.sensor else ())
    adjusted = power.smallest_adjusted_p(preset.blocks, family)
    if adjusted is not None and adjusted >= power.ALPHA:
        where = " by a contrast, only by the model and point by point" if preset.points else ""
        notes.append(
            f"{preset.blocks} blocks cannot reach p < {power.ALPHA:g} (at best {adjusted:g}):"
            f" no arm can be called cheaper or dearer{where}"
        )
    return {
        "minutes": round(estimate.minutes(trials, arms, exact), 2),
        "disk_mb": round(estimate.disk_mb(trials), 2),
        "smallest_p": power.smallest_p(preset.blocks),
        "smallest_adjusted_p": adjusted,
        "forecast": _forecast(study, preset),
    }


def _forecast(study: str, preset: Preset) -> dict[str, Any] | None:
    """What the primary contrast, the first, will show by its pilot; None without a pilot.

    Percent of the ratio: its 95 % interval's half-width, and by how much the arms must differ, near
    a ratio of one, to be told apart with 80 % power in the plan's family.
    """
    primary = [contrast.planned() for contrast in preset.contrasts[:1]]
    window_s = preset.window_ms / 1000
    try:
        found = primary and pilot.find(study, primary[0], preset.interval_ms, window_s)
    except PresetError as error:
        raise PlanError(str(error)) from None
    if not found:
        return None
    half = found.half_width(preset.blocks)
    effect = power.smallest_effect(100 * found.spread, preset.blocks, len(preset.contrasts))
    return {
        "contrast": primary[0]["id"],
        "half_width_percent": None if half is None else round(100 * half, 2),
        "smallest_effect_percent": None if effect is None else round(effect, 2),
        "pilot": found.run,
        "pilot_blocks": found.blocks,
        "pilot_differs": found.differs(primary[0]["processes"], preset.interval_ms, window_s),
    }
