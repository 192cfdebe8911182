"""The presets of each study, read from ``presets.yaml`` and checked."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiment import core_loads, exclusion, loads, paces, points, sensor_designs, strict_yaml
from experiment.compared import Contrast, Level, Twin
from experiment.core_loads import Cores
from experiment.exclusion import Exclusion
from experiment.paces import STATISTICS, External
from experiment.points import Point
from experiment.reader import PresetError, Reader
from experiment.sensor_designs import Sensor

__all__ = [
    "Contrast",
    "Cores",
    "External",
    "Fidelity",
    "Group",
    "Level",
    "Preset",
    "PresetError",
    "Sensor",
    "Twin",
]

MAX_CONTRASTS = 6
#: Kinds of trials that cells can be of.
KINDS = ("cost", "from_start")


@dataclass(frozen=True)
class Group:
    """Cells that share a kind of trial and a statistics state: every arm at every level.

    ``stress``: numbers of threads that press the scheduler, each at every process count; None where
    the study has no such load. ``window_ms`` None: the preset's.
    """

    statistics: str
    levels: tuple[Level, ...]
    arms: tuple[str, ...]
    stress: tuple[int | None, ...] = (None,)
    kind: str = "cost"
    window_ms: int | None = None


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
    """What a study measures, before overrides. Windows and intervals in ms.

    Either groups of cells, or points; then ``interval_ms`` and ``window_ms`` are those of the point
    of the A/A pair.
    """

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
    points: tuple[Point, ...] = ()
    cores: Cores | None = None
    sensor: Sensor | None = None

    @property
    def levels(self) -> list[Level]:
        """Process counts in the order of the file, each once."""
        found = [level for group in self.groups for level in group.levels]
        return list(dict.fromkeys([*found, *(point.processes for point in self.points)]))

    @property
    def arms(self) -> list[str]:
        """Names of the arms whose cost is measured, in the order of the file, each once."""
        found = [arm for group in self.groups for arm in group.arms]
        return list(dict.fromkeys([*found, *(arm for p in self.points for arm in p.arms)]))

    @property
    def named(self) -> list[str]:
        """Names of all arms, those too that have external or fidelity trials alone."""
        return list(dict.fromkeys([*self._measured, *self._reporting]))

    @property
    def only_reporting(self) -> list[str]:
        """Names of those of which nothing is measured but what they say of each CPU."""
        return [arm for arm in self._reporting if arm not in self._measured]

    @property
    def _measured(self) -> list[str]:
        more = (self.external.arms if self.external else None) or ()
        watching = [self.sensor.arm] if self.sensor else []
        return [*self.arms, *more, *(self.fidelity.arms or ()), *watching]

    @property
    def _reporting(self) -> tuple[str, ...]:
        return (self.cores.arms if self.cores else None) or ()


def _level(reader: Reader) -> Level:
    value: Level = reader.take("processes", int, type(None))
    return value


def _group(reader: Reader) -> Group:
    window_s = reader.take_or("window_s", None, int, float)
    group = Group(
        statistics=reader.one_of("statistics", *STATISTICS),
        levels=tuple(reader.take("processes", list)),
        arms=tuple(reader.take("arms", list)),
        stress=tuple(reader.take_or("stress_threads", [None], list)),
        kind=reader.one_of("kind", *KINDS) if reader.has("kind") else KINDS[0],
        window_ms=None if window_s is None else _milliseconds(window_s),
    )
    reader.end()
    return group


def _contrast(reader: Reader, planned: Sequence[Point]) -> Contrast:
    name: str = reader.take("name", str)
    above: str = reader.take("numerator", str)
    below: str = reader.take("denominator", str)
    place = _place(reader, planned, [above, below], f"contrast {name}")
    contrast = Contrast(
        name, above, below, *place, stress=reader.take_or("stress_threads", None, int)
    )
    reader.end()
    return contrast


def _twin(reader: Reader, planned: Sequence[Point]) -> Twin:
    arm: str = reader.take("arm", str)
    place = _place(reader, planned, [arm], "a_a")
    twin = Twin(arm, *place, stress=reader.take_or("stress_threads", None, int))
    reader.end()
    return twin


def _place(
    reader: Reader, planned: Sequence[Point], arms: Sequence[str], what: str
) -> tuple[str, Level, int | None]:
    """Where arms are compared: statistics, process count, and point if there are any."""
    if not planned:
        return reader.one_of("statistics", *STATISTICS), _level(reader), None
    number: int = reader.take("point", int)
    found = [points.check_references(planned, arm, number, what) for arm in arms]
    return STATISTICS[0], found[0].processes, number


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
    planned = points.read(reader)
    twin = _twin(reader.section("a_a"), planned)
    home = planned[twin.point - 1] if twin.point else None
    preset = Preset(
        interval_ms=home.interval_ms if home else reader.take("interval_ms", int),
        window_ms=home.window_ms if home else _milliseconds(reader.take("window_s", int, float)),
        blocks=reader.take("blocks", int),
        warm_up_blocks=warm_up.take("blocks", int),
        warm_up_window_ms=_milliseconds(warm_up.take("window_s", int, float)),
        groups=() if planned else tuple(_group(part) for part in reader.sections("cells")),
        a_a=twin,
        contrasts=tuple(_contrast(part, planned) for part in reader.sections("contrasts")),
        external=paces.read(reader.optional("external")),
        fidelity=_fidelity(reader.section("fidelity")),
        exclusion=limits,
        points=planned,
        cores=core_loads.read(reader.optional("cores") if reader.has("cores") else None),
        sensor=sensor_designs.read(reader.optional("sensor") if reader.has("sensor") else None),
    )
    for part in (warm_up, reader):
        part.end()
    _check_references(preset, where)
    return preset


def _check_references(preset: Preset, where: str) -> None:
    cells = {
        (arm, group.statistics, level, stress)
        for group in preset.groups
        for level in group.levels
        for stress in group.stress
        for arm in group.arms
        if group.kind == "cost"
    }
    more = len(preset.sensor.contrasts) if preset.sensor else 0
    if not 1 <= len(preset.contrasts) + more <= MAX_CONTRASTS or not preset.contrasts:
        raise PresetError(f"{where}: contrasts: declare 1 to {MAX_CONTRASTS}")
    if preset.points:  # have been looked up
        return
    twin = preset.a_a
    if (twin.arm, twin.statistics, twin.level, twin.stress) not in cells:
        raise PresetError(f"{where}: a_a: is not one of the cells")
    for contrast in preset.contrasts:
        for arm in (contrast.numerator, contrast.denominator):
            if (arm, contrast.statistics, contrast.level, contrast.stress) not in cells:
                load = "" if contrast.stress is None else f", {contrast.stress} stress_threads"
                raise PresetError(
                    f"{where}: contrast {contrast.name}: {arm} is not measured at"
                    f" {contrast.level} processes{load} with statistics {contrast.statistics}"
                )


def load(path: Path | None = None) -> tuple[int, Mapping[str, Mapping[str, Preset]]]:
    """Read a presets file (by default the one beside this module).

    Returns:
        The default seed, and the presets by study and name.

    Raises:
        PresetError: a missing, unknown or mistyped key, or a contrast between cells that the
            preset does not measure.
    """
    return _load(path) if path else _shipped()


@functools.cache
def _shipped() -> tuple[int, Mapping[str, Mapping[str, Preset]]]:
    return _load(Path(__file__).with_name("presets.yaml"))


def _load(path: Path) -> tuple[int, Mapping[str, Mapping[str, Preset]]]:
    try:
        document = strict_yaml.load(path)
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
