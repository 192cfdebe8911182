"""The presets of each study, read from ``presets.yaml`` and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiment import strict_yaml

#: A process count of the whole machine; None leaves the machine as it is.
Level = int | None

MAX_CONTRASTS = 6


class PresetError(ValueError):
    """One line: study, preset, key and cause."""


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
class External:
    """Trials of a fixed count of work with the program attached; ``blocks`` None: every block."""

    level: Level
    blocks: int | None
    rounds: int
    hot_events: int
    paced_events: int


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
    fidelity_window_ms: int
    pilot_sd_percent: float | None

    @property
    def levels(self) -> list[Level]:
        """Process counts in the order of the file, each once."""
        return list(dict.fromkeys(level for group in self.groups for level in group.levels))

    @property
    def arms(self) -> list[str]:
        """Names of the arms in the order of the file, each once."""
        return list(dict.fromkeys(arm for group in self.groups for arm in group.arms))


class _Reader:
    """Typed access to a mapping whose every key must be used."""

    def __init__(self, values: object, where: str) -> None:
        if not isinstance(values, dict):
            raise PresetError(f"{where}: must be a mapping")
        self._values: dict[str, Any] = dict(values)
        self._where = where

    def take(self, key: str, *kinds: type) -> Any:
        if key not in self._values:
            raise PresetError(f"{self._where}: key '{key}' is missing")
        value = self._values.pop(key)
        if type(value) not in kinds:
            wanted = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
            raise PresetError(f"{self._where}: {key}: {value!r} must be {wanted}")
        return value

    def section(self, key: str) -> _Reader:
        return _Reader(self.take(key, dict), f"{self._where}: {key}")

    def optional(self, key: str) -> _Reader | None:
        value = self.take(key, dict, type(None))
        return None if value is None else _Reader(value, f"{self._where}: {key}")

    def sections(self, key: str) -> list[_Reader]:
        items = self.take(key, list)
        return [_Reader(item, f"{self._where}: {key} {n}") for n, item in enumerate(items, 1)]

    def statistics(self) -> str:
        value = self.take("statistics", str)
        if value not in ("on", "off"):
            raise PresetError(f"{self._where}: statistics: {value!r} must be on or off")
        return str(value)

    def level(self) -> Level:
        value: Level = self.take("processes", int, type(None))
        return value

    def end(self) -> None:
        for key in self._values:
            raise PresetError(f"{self._where}: unknown key '{key}'")


def _group(reader: _Reader) -> Group:
    group = Group(
        statistics=reader.statistics(),
        levels=tuple(reader.take("processes", list)),
        arms=tuple(reader.take("arms", list)),
    )
    reader.end()
    return group


def _contrast(reader: _Reader) -> Contrast:
    contrast = Contrast(
        name=reader.take("name", str),
        numerator=reader.take("numerator", str),
        denominator=reader.take("denominator", str),
        statistics=reader.statistics(),
        level=reader.level(),
    )
    reader.end()
    return contrast


def _twin(reader: _Reader) -> Twin:
    twin = Twin(reader.take("arm", str), reader.statistics(), reader.level())
    reader.end()
    return twin


def _external(reader: _Reader | None) -> External | None:
    if reader is None:
        return None
    blocks = reader.take("blocks", int, str)
    if isinstance(blocks, str) and blocks != "every":
        raise PresetError(f"external: blocks: {blocks!r} must be a number or every")
    hot, paced = reader.section("hot"), reader.section("paced")
    external = External(
        level=reader.level(),
        blocks=blocks if isinstance(blocks, int) else None,
        rounds=reader.take("rounds", int),
        hot_events=hot.take("events", int),
        paced_events=paced.take("events", int),
    )
    for part in (hot, paced, reader):
        part.end()
    return external


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _preset(reader: _Reader, where: str) -> Preset:
    reader.take("summary", str)
    warm_up, fidelity = reader.section("warm_up"), reader.section("fidelity")
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
        fidelity_window_ms=_milliseconds(fidelity.take("window_s", int, float)),
        pilot_sd_percent=reader.take("pilot_sd_percent", int, float, type(None)),
    )
    for part in (warm_up, fidelity, reader):
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
    reader = _Reader(document, "presets.yaml")
    seed: int = reader.take("seed", int)
    studies: dict[str, dict[str, Preset]] = {}
    for study, presets in reader.take("studies", dict).items():
        studies[study] = {
            name: _preset(_Reader(values, f"{study}/{name}"), f"{study}/{name}")
            for name, values in presets.items()
        }
    reader.end()
    return seed, studies
