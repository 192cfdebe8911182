"""The presets of each study, read from ``presets.yaml`` and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from experiment import exclusion, loads, strict_yaml
from experiment.exclusion import Exclusion
from experiment.reader import PresetError, Reader

__all__ = ["Contrast", "External", "Fidelity", "Group", "Level", "Preset", "PresetError", "Twin"]

#: A process count of the whole machine; None leaves the machine as it is.
Level = int | None

MAX_CONTRASTS = 6
STATISTICS = ("off", "on")


@dataclass(frozen=True)
class Group:
    """Cells that share a statistics state: every arm at every level."""

    statistics: str
    levels: tuple[Level, ...]
    arms: tuple[str, ...]


@dataclass(frozen=True)
class Contrast:
    """A declared comparison, ``numerator / denominator`` and ``numerator - denominator``."""

    name: str
    numerator: str
    denominator: str
    statistics: str
    level: Level


@dataclass(frozen=True)
class Twin:
    """The cell that is measured twice in each block: the A/A pair."""

    arm: str
    statistics: str
    level: Level


@dataclass(frozen=True)
class Pace:
    """How often in a block events follow each other so, and how many by workload in a turn."""

    rounds: int
    events: Mapping[str, int]


@dataclass(frozen=True)
class External:
    """Trials of a fixed count of work with the program attached; ``blocks`` None: every block.

    ``hot`` and ``paced`` are repetitions in a block, and numbers of events in a turn by workload.
    ``arms`` None: those whose cost is measured.
    """

    level: Level
    blocks: int | None
    hot: Pace
    paced: Pace
    statistics: tuple[str, ...] = ("off",)
    arms: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Fidelity:
    """Trials of what a collector reports. ``arms`` None: those whose cost is measured."""

    window_ms: int
    workloads: tuple[str, ...] = ("steady",)
    blocks: int = 1
    children: int = loads.CHILDREN
    arms: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Preset:
    """What a study measures, before overrides. Windows and intervals in ms."""

    interval_ms: int
    window_ms: int
    blocks: int
    warm_up_blocks: int
    warm_up_window_ms: int
    groups: tuple[Group, ...]
    a_a: Twin
    contrasts: tuple[Contrast, ...]
    external: External | None
    fidelity: Fidelity
    exclusion: Exclusion | None

    @property
    def levels(self) -> list[Level]:
        """Process counts in the order of the file, each once."""
        return list(dict.fromkeys(level for group in self.groups for level in group.levels))

    @property
    def arms(self) -> list[str]:
        """Names of the arms whose cost is measured, in the order of the file, each once."""
        return list(dict.fromkeys(arm for group in self.groups for arm in group.arms))

    @property
    def named(self) -> list[str]:
        """Names of all arms, those too that have external or fidelity trials alone."""
        more = (self.external.arms if self.external else None) or ()
        return list(dict.fromkeys([*self.arms, *more, *(self.fidelity.arms or ())]))


def _level(reader: Reader) -> Level:
    value: Level = reader.take("processes", int, type(None))
    return value


def _group(reader: Reader) -> Group:
    group = Group(
        statistics=reader.one_of("statistics", *STATISTICS),
        levels=tuple(reader.take("processes", list)),
        arms=tuple(reader.take("arms", list)),
    )
    reader.end()
    return group


def _contrast(reader: Reader) -> Contrast:
    contrast = Contrast(
        name=reader.take("name", str),
        numerator=reader.take("numerator", str),
        denominator=reader.take("denominator", str),
        statistics=reader.one_of("statistics", *STATISTICS),
        level=_level(reader),
    )
    reader.end()
    return contrast


def _twin(reader: Reader) -> Twin:
    twin = Twin(reader.take("arm", str), reader.one_of("statistics", *STATISTICS), _level(reader))
    reader.end()
    return twin


def _external(reader: Reader | None) -> External | None:
    if reader is None:
        return None
    blocks = reader.take("blocks", int, str)
    if isinstance(blocks, str) and blocks != "every":
        raise PresetError(f"external: blocks: {blocks!r} must be a number or every")
    external = External(
        level=_level(reader),
        blocks=blocks if isinstance(blocks, int) else None,
        hot=_pace(reader.section("hot")),
        paced=_pace(reader.section("paced")),
        statistics=reader.some_of("statistics", STATISTICS, ("off",)),
        arms=reader.texts_or_none("arms"),
    )
    reader.end()
    return external


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


def _fidelity(reader: Reader) -> Fidelity:
    fidelity = Fidelity(
        window_ms=_milliseconds(reader.take("window_s", int, float)),
        workloads=reader.some_of("workloads", loads.KNOWN_USE, ("steady",)),
        blocks=reader.take_or("blocks", 1, int),
        children=reader.take_or("children", loads.CHILDREN, int),
        arms=reader.texts_or_none("arms"),
    )
    reader.end()
    return fidelity


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _preset(reader: Reader, where: str, limits: Exclusion | None) -> Preset:
    reader.take("summary", str)
    warm_up = reader.section("warm_up")
    if reader.has("exclusion"):  # its own limits, or null, in place of those for all
        limits = exclusion.read(reader.optional("exclusion"))
    preset = Preset(
        interval_ms=reader.take("interval_ms", int),
        window_ms=_milliseconds(reader.take("window_s", int, float)),
        blocks=reader.take("blocks", int),
        warm_up_blocks=warm_up.take("blocks", int),
        warm_up_window_ms=_milliseconds(warm_up.take("window_s", int, float)),
        groups=tuple(_group(part) for part in reader.sections("cells")),
        a_a=_twin(reader.section("a_a")),
        contrasts=tuple(_contrast(part) for part in reader.sections("contrasts")),
        external=_external(reader.optional("external")),
        fidelity=_fidelity(reader.section("fidelity")),
        exclusion=limits,
    )
    for part in (warm_up, reader):
        part.end()
    _check_references(preset, where)
    return preset


def _check_references(preset: Preset, where: str) -> None:
    cells = {
        (arm, group.statistics, level)
        for group in preset.groups
        for level in group.levels
        for arm in group.arms
    }
    if not 1 <= len(preset.contrasts) <= MAX_CONTRASTS:
        raise PresetError(f"{where}: contrasts: declare 1 to {MAX_CONTRASTS}")
    twin = preset.a_a
    if (twin.arm, twin.statistics, twin.level) not in cells:
        raise PresetError(f"{where}: a_a: is not one of the cells")
    for contrast in preset.contrasts:
        for arm in (contrast.numerator, contrast.denominator):
            if (arm, contrast.statistics, contrast.level) not in cells:
                raise PresetError(
                    f"{where}: contrast {contrast.name}: {arm} is not measured at"
                    f" {contrast.level} processes with statistics {contrast.statistics}"
                )


def load(path: Path | None = None) -> tuple[int, Mapping[str, Mapping[str, Preset]]]:
    """Read a presets file (by default the one beside this module).

    Returns:
        The default seed, and the presets by study and name.

    Raises:
        PresetError: a missing, unknown or mistyped key, or a contrast between cells that the
            preset does not measure.
    """
    try:
        document = strict_yaml.load(path or Path(__file__).with_name("presets.yaml"))
    except strict_yaml.YamlError as error:
        raise PresetError(str(error)) from None
    reader = Reader(document, "presets.yaml")
    seed: int = reader.take("seed", int)
    limits = exclusion.read(reader.optional("exclusion"))
    studies: dict[str, dict[str, Preset]] = {}
    for study, presets in reader.take("studies", dict).items():
        studies[study] = {
            name: _preset(Reader(values, f"{study}/{name}"), f"{study}/{name}", limits)
            for name, values in presets.items()
        }
    reader.end()
    return seed, studies
