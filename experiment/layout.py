"""What a block holds: the cells of a plan, before their order is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from experiment import core_reports
from experiment.arms import Arm
from experiment.overrides import NULL_AGENT
from experiment.points import Point
from experiment.presets import Cores, External, Fidelity, Level, Preset, Sensor

#: Events that a workload can count out, so that a program's cost at one can be calibrated.
CALIBRATED_HOOKS = {
    "sched_switch": "switch",
    "sched_process_exec": "exec",
    "openat": "open",
    "sendto": "send",
}


class Stress(NamedTuple):
    """A machine whose scheduler so many threads press."""

    threads: int


#: A point, a process count, or scheduler pressure.
Place = Point | Level | Stress


@dataclass(frozen=True)
class Cell:
    """One thing measured once in each block."""

    level: Level
    arm: str
    replica: int
    statistics: str
    point: Point | None = None
    stress: int | None = None
    kind: str = "cost"
    window_ms: int | None = None

    @property
    def place(self) -> Place:
        """The state of the machine that it is measured in."""
        return self.point or (Stress(self.stress) if self.stress else self.level)


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
    external_arms: Mapping[str, tuple[str, ...]]
    fidelity: Fidelity
    fidelity_arms: tuple[str, ...]
    fidelity_level: Level
    cores: Cores | None = None
    core_arms: tuple[str, ...] = ()
    sensor: Sensor | None = None
    empty: bool = False  # whether each block has a window without any agent at each process count


def lay_out(
    preset: Preset,
    arms: Mapping[str, Arm],
    notes: list[str] | None = None,
    empty: bool = False,
) -> Layout:
    """The cells of a preset, its A/A twin, and which arms get external and fidelity trials.

    External trials are for arms whose programs run in other tasks at an event that a workload can
    count out; the null agent joins them under each workload, to show what the instrument sees of
    nothing. Fidelity trials are for arms that dump what they read.
    """
    cells = [
        Cell(level, arm, 1, group.statistics, None, stress, group.kind, group.window_ms)
        for group in preset.groups
        for level in group.levels
        for stress in group.stress
        for arm in group.arms
    ]
    cells += [Cell(p.processes, arm, 1, "off", p) for p in preset.points for arm in p.arms]
    home = preset.points[preset.a_a.point - 1] if preset.a_a.point else None
    pair = preset.a_a
    twin = Cell(pair.level, pair.arm, 2, pair.statistics, home, pair.stress)
    measured = list(dict.fromkeys(cell.arm for cell in cells))
    if notes is not None:
        watching = preset.sensor.arm if preset.sensor else None
        notes += _unknown_cost([arm for arm in measured if arm != watching], arms)
    external, fidelity = preset.external, preset.fidelity
    listed = measured if external is None or external.arms is None else external.arms
    by_workload = {
        workload: tuple(arm for arm in listed if _outside(arms[arm]) and arms[arm]["hook"] == hook)
        for hook, workload in CALIBRATED_HOOKS.items()
    }
    tested = measured if fidelity.arms is None else fidelity.arms
    reporting = (preset.cores.arms if preset.cores else ()) or measured
    return Layout(
        cells=(*dict.fromkeys(cells), twin),
        blocks=preset.blocks,
        warm_up_blocks=preset.warm_up_blocks,
        interval_ms=preset.interval_ms,
        window_ms=preset.window_ms,
        warm_up_window_ms=preset.warm_up_window_ms,
        external=external,
        external_arms={w: (NULL_AGENT, *hooked) for w, hooked in by_workload.items() if hooked},
        fidelity=fidelity,
        fidelity_arms=tuple(
            arm for arm in tested if arms[arm]["dump"] and arms[arm]["source"] != "none"
        ),
        fidelity_level=preset.a_a.level,
        cores=preset.cores,
        core_arms=tuple(arm for arm in reporting if core_reports.form(arms[arm])),
        sensor=preset.sensor,
        empty=empty,
    )


def _outside(arm: Arm) -> bool:
    """Whether its programs run in other tasks than its reader's."""
    return arm["context"] in ("others", "both")


def _unknown_cost(measured: list[str], arms: Mapping[str, Arm]) -> list[str]:
    """A note for each arm whose cost in other tasks a run cannot state per second."""
    notes = []
    for arm in measured:
        hook = arms[arm]["hook"]
        if not _outside(arms[arm]) or CALIBRATED_HOOKS.get(hook) == "switch":
            continue
        if hook in CALIBRATED_HOOKS:
            cause = f"no row counts the events of {hook}: its cost is calibrated per event"
        else:
            cause = f"no workload counts out its event, {hook}: no external trials"
        notes.append(
            f"{arm}: {cause}; its cost in other tasks is known only if its program times itself"
        )
    return notes
