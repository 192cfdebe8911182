"""The designs of trials of kind ``sensor``: its variants under loads, read from a preset."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from experiment.reader import PresetError, Reader
from experiment.sensor_loads import EVENTS

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MOST_EVENTS, _MOST_PAUSE_US, _MOST_SIZE = 10_000_000, 999_999, 1 << 20

#: A variant and a load, by their names.
Pair = tuple[str, str]


@dataclass(frozen=True)
class SensorLoad:
    """So many events of one kind in a turn; ``size`` of a message in bytes."""

    event: str
    events: int
    size: int = 1
    pause_us: int = 0


@dataclass(frozen=True)
class Design:
    """Pairs that are measured together; ``blocks`` None: in every block."""

    name: str
    pairs: tuple[Pair, ...]
    blocks: int | None

    def in_blocks(self, count: int) -> set[int]:
        """Numbers of the blocks of ``count`` that hold it, spread evenly over the run."""
        wanted = count if self.blocks is None else min(self.blocks, count)
        return {1 + index * count // wanted for index in range(wanted)}


@dataclass(frozen=True)
class SensorContrast:
    """A declared comparison of two variants under one load."""

    name: str
    numerator: str
    denominator: str
    load: str


@dataclass(frozen=True)
class Sensor:
    """All trials of kind ``sensor``. ``variants``: words that follow the arm's command."""

    arm: str
    variants: Mapping[str, tuple[str, ...]]
    loads: Mapping[str, SensorLoad]
    designs: tuple[Design, ...]
    contrasts: tuple[SensorContrast, ...]
    twin: Pair

    def pairs(self, block: int, blocks: int) -> list[Pair]:
        """What a block of so many holds: each pair once, whichever designs want it."""
        held = [design for design in self.designs if block in design.in_blocks(blocks)]
        return list(dict.fromkeys(pair for design in held for pair in design.pairs))

    def planned(self) -> dict[str, Any]:
        """``plan["sensor"]``."""
        return {
            "arm": self.arm,
            "variants": {name: list(words) for name, words in self.variants.items()},
            "loads": {name: asdict(load) for name, load in self.loads.items()},
            "designs": [
                {"name": d.name, "pairs": [list(pair) for pair in d.pairs], "blocks": d.blocks}
                for d in self.designs
            ],
            "contrasts": [asdict(contrast) for contrast in self.contrasts],
            "a_a": {"variant": self.twin[0], "load": self.twin[1]},
        }


def read(reader: Reader | None) -> Sensor | None:
    """The section ``sensor`` of a preset. Raises PresetError for a bad key."""
    if reader is None:
        return None
    common = _words(reader, "common")
    variants = {
        name: (*common, *_words_of(reader, name, words))
        for name, words in _named(reader, "variants").items()
    }
    loads = {
        name: _load(Reader(values, f"sensor: load {name}"))
        for name, values in _named(reader, "loads").items()
    }
    designs = tuple(_design(part, variants, loads) for part in reader.sections("designs"))
    twin = reader.section("a_a")
    sensor = Sensor(
        arm=reader.take("arm", str),
        variants=variants,
        loads=loads,
        designs=designs,
        contrasts=tuple(_contrast(part) for part in reader.sections("contrasts")),
        twin=(twin.take("variant", str), twin.take("load", str)),
    )
    for part in (twin, reader):
        part.end()
    _check(sensor)
    return sensor


def _named(reader: Reader, key: str) -> dict[str, Any]:
    found: dict[str, Any] = reader.take(key, dict)
    for name in found:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise reader.fail(key, name, "named in lower-case letters, digits and _")
    return found


def _words(reader: Reader, key: str) -> tuple[str, ...]:
    return _words_of(reader, key, reader.take(key, list))


def _words_of(reader: Reader, name: str, words: object) -> tuple[str, ...]:
    """Words of a command: plain, since they are filled into one that has placeholders."""
    if not isinstance(words, list):
        raise reader.fail(name, words, "a list of words")
    for word in words:
        if not isinstance(word, str) or not word or re.search(r"[\s{}]", word):
            raise reader.fail(name, word, "words without blanks and braces, numbers in quotes")
    return tuple(words)


def _load(reader: Reader) -> SensorLoad:
    load = SensorLoad(
        event=reader.one_of("event", *EVENTS),
        events=_whole(reader, "events", 1, _MOST_EVENTS),
        size=_whole(reader, "size", 1, _MOST_SIZE) if reader.has("size") else 1,
        pause_us=_whole(reader, "pause_us", 0, _MOST_PAUSE_US) if reader.has("pause_us") else 0,
    )
    reader.end()
    return load


def _whole(reader: Reader, key: str, low: int, high: int) -> int:
    value: int = reader.take(key, int)
    if not low <= value <= high:
        raise reader.fail(key, value, f"from {low:,} to {high:,}")
    return value


def _design(reader: Reader, variants: Mapping[str, Any], loads: Mapping[str, SensorLoad]) -> Design:
    """Every variant under every load, or ``pairs`` of one variant with one load each."""
    name: str = reader.take("name", str)
    if reader.has("pairs"):
        pairs = [_pair(reader, item) for item in reader.take("pairs", list)]
    else:
        chosen = reader.some_of("variants", tuple(variants), ())
        under = reader.some_of("loads", tuple(loads), ())
        pairs = [(variant, load) for variant in chosen for load in under]
    if not pairs or len(set(pairs)) < len(pairs):
        raise PresetError(f"sensor: design {name}: pairs: give some, each once")
    blocks = reader.take("blocks", int, str)
    if blocks != "every" and (isinstance(blocks, str) or blocks < 1):
        raise reader.fail("blocks", blocks, "a number from 1 on, or every")
    reader.end()
    return Design(name, tuple(pairs), blocks if isinstance(blocks, int) else None)


def _pair(reader: Reader, item: object) -> Pair:
    if not isinstance(item, list) or len(item) != 2 or not all(isinstance(i, str) for i in item):
        raise reader.fail("pairs", item, "[variant, load]")
    return item[0], item[1]


def _contrast(reader: Reader) -> SensorContrast:
    names = ("name", "numerator", "denominator", "load")
    contrast = SensorContrast(*(reader.take(name, str) for name in names))
    reader.end()
    return contrast


def _check(sensor: Sensor) -> None:
    """Every name is one of those given, and what is compared is measured."""
    measured = {pair for design in sensor.designs for pair in design.pairs}
    for variant, load in measured:
        if variant not in sensor.variants:
            raise PresetError(f"sensor: unknown variant '{variant}'")
        if load not in sensor.loads:
            raise PresetError(f"sensor: unknown load '{load}'")
    sides = [(c.name, c.numerator, c.load) for c in sensor.contrasts]
    sides += [(c.name, c.denominator, c.load) for c in sensor.contrasts]
    for name, variant, load in (*sides, ("a_a", *sensor.twin)):
        if (variant, load) not in measured:
            raise PresetError(f"sensor: {name}: {variant} is not measured under {load}")
    always = {pair for design in sensor.designs if design.blocks is None for pair in design.pairs}
    if sensor.twin not in always:
        raise PresetError("sensor: a_a: is not measured in every block")
