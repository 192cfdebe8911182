"""Reads coefficients of cost: data/advice.json, or a file of a machine that was calibrated.

A model's cost per second, in its unit, is (fixed + per_process P + per_thread T + per_active A +
per_cold_scrape w) / interval + (per_switch + per_cold_switch w) S: P processes, T threads beyond
the first of each, A distinct tasks that run in an interval, S context switches a second, and w = S0
/ (S0 + S) the share of scrapes and switches that finds the machine cold. Each block of the
measurement gives one set.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cli.problem import Problem, did_you_mean

SCHEMA = 2
UNITS = ("ns", "instructions")
#: In the order of a row of features: see `model.Point.features`.
NAMES = (
    "fixed",
    "per_process",
    "per_thread",
    "per_active",
    "per_cold_scrape",
    "per_switch",
    "per_cold_switch",
)
FACTORS = ("processes", "threads", "switches_per_s", "active_tasks", "interval_s")
#: Those whose combinations have a hull, in the order of its planes.
TOGETHER = ("processes", "switches_per_s", "interval_s")
#: Only collectors that answer this question are compared.
QUESTION = "processes"
#: Only sleeps: a part of every collector's cost, and no way of collecting.
BASELINE = "null_agent"
#: Of a value that was typed or rounded against what was measured.
ROUNDING = 1e-9
#: As near as processes and switches came to the numbers asked for when they were measured.
NEAR = 0.02
#: As in analysis.crossover.model: a model that is further off at held-out points is said to be.
ERROR_LIMIT = 0.10


@dataclass(frozen=True, eq=False)  # itself is its identity, which caches go by
class Arm:
    """A collector. blocks: coefficients in the order of NAMES, by the block's number.

    interval_s: shortest and longest that it was measured at, where they are not the region's;
    error: median |fitted / measured - 1| at points that were not fitted, None without one.
    """

    name: str
    title: str
    blocks: dict[int, tuple[float, ...]]
    interval_s: tuple[float, float] | None = None
    error: float | None = None

    def measured_every(self, interval_s: float) -> bool:
        """Whether the interval lies inside of what this collector was measured at."""
        low, high = self.interval_s or (0.0, math.inf)
        return low * (1 - ROUNDING) <= interval_s <= high * (1 + ROUNDING)


@dataclass(frozen=True, eq=False)
class Model:
    """What one run says. region: lowest and highest measured, by the names of FACTORS.

    planes: of the hull of the measured points in the logarithms of TOGETHER, outward normals with
    an offset, reach included: the factor around it that counts as measured; half: S0, switches a
    second, 0 where nothing is cold.
    """

    run: str
    backend: str
    unit: str
    machine: str
    confidence: float
    region: dict[str, tuple[float, float]]
    arms: tuple[Arm, ...]
    half: float = 0.0
    planes: tuple[tuple[float, ...], ...] = ()
    reach: float = 1.0
    here: bool = False

    @property
    def is_time(self) -> bool:
        """Whether it knows time; instructions can only rank."""
        return self.unit == "ns"

    @property
    def level(self) -> float | None:
        """Of intervals over blocks; None for perturbations, whose range is stated."""
        return self.confidence if self.is_time else None


class Broken(ValueError):
    """The file is not what it should be; the text says where."""


def load(path: Path, *, empty: bool = False) -> list[Model]:
    """Every model of a file. Raises Problem, in one line, for a file that is none.

    empty: a file that holds no model yet, as the shipped one before its study was run, is fine.
    """
    cure = "restore it, or calibrate: ./study advise --calibrate"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Problem(
            f"{path} is missing, so no cost is known: measure this machine's with"
            " ./study advise --calibrate, or give --coefficients FILE"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: no JSON, or no UTF-8
        reason = error.strerror if isinstance(error, OSError) else "no JSON"
        raise Problem(f"{path} cannot be read ({reason}): {cure}") from None
    except RecursionError:
        raise Problem(f"{path} cannot be read (no JSON of ours): {cure}") from None
    try:
        return _models(content, empty)
    except Broken as error:
        raise Problem(f"{path}: {error}: {cure}") from None


def choose(models: list[Model], run: str | None = None) -> Model:
    """The model to answer with: of the named run, else the first that knows time, else the first.

    Raises Problem for a run that is none of them.
    """
    if run is not None:
        named = [model for model in models if model.run == run]
        if not named:
            raise Problem(f"no model '{run}'{did_you_mean(run, [model.run for model in models])}")
        return named[0]
    return next((model for model in models if model.is_time), models[0])


def _models(content: Any, empty: bool) -> list[Model]:
    top = _mapping(content, "it")
    if top.get("schema") != SCHEMA:
        raise Broken(f"schema is {top.get('schema')!r}, not {SCHEMA}")
    models = top.get("models")
    if not isinstance(models, list) or not (models or empty):
        raise Broken("it holds no models")
    return [_model(entry, f"models[{number}]") for number, entry in enumerate(models)]


def _model(entry: Any, where: str) -> Model:
    given = _mapping(entry, where)
    texts = [_text(given, name, where) for name in ("run", "backend", "unit", "machine")]
    if texts[2] not in UNITS:
        raise Broken(f"{where}.unit is '{texts[2]}', not one of {', '.join(UNITS)}")
    confidence = _number(given, "confidence", where)
    if not 0.5 <= confidence < 1:
        raise Broken(f"{where}.confidence is {confidence:g}, not from 0.5 to 1")
    region = _mapping(given.get("region"), f"{where}.region")
    arms = _mapping(given.get("arms"), f"{where}.arms")
    made = [_arm(name, arm, f"{where}.arms.{name}") for name, arm in arms.items()]
    kept = [arm for arm in made if arm is not None]
    numbered = any("block" in block for arm in kept for block in arms[arm.name]["blocks"])
    answering = _paired(kept, numbered)
    if not answering:
        raise Broken(f"{where}.arms has none that answers {QUESTION}")
    limits = {name: _range(region, name, f"{where}.region") for name in FACTORS}
    if limits["interval_s"][0] <= 0:
        raise Broken(f"{where}.region.interval_s starts at 0")
    half = _number(given, "half_cold_switches_per_s", where)
    if half < 0:
        raise Broken(f"{where}.half_cold_switches_per_s is below 0")
    planes, reach = _together(given, where)
    run, backend, unit, machine = texts
    return Model(run, backend, unit, machine, confidence, limits, answering, half, planes, reach)


def _together(given: dict[str, Any], where: str) -> tuple[tuple[tuple[float, ...], ...], float]:
    """The hull's planes, and how far around it counts as measured; a file may have no hull."""
    if "together" not in given:
        return (), 1.0
    at = f"{where}.together"
    found = _mapping(given["together"], at)
    planes, reach = found.get("planes"), _number(found, "factor", at)
    if reach < 1:
        raise Broken(f"{at}.factor is below 1")
    if not isinstance(planes, list):
        raise Broken(f"{at}.planes is no list")
    made = []
    for position, plane in enumerate(planes):
        if not isinstance(plane, list) or len(plane) != len(TOGETHER) + 1:
            raise Broken(f"{at}.planes[{position}] is no plane")
        made.append(tuple(_finite(value, f"{at}.planes[{position}]") for value in plane))
    return tuple(made), reach


def _paired(arms: list[Arm], numbered: bool) -> tuple[Arm, ...]:
    """Collectors whose blocks have no number and differ in count share none: which is missing from
    the shorter one cannot be known, so nothing is said of their difference."""
    if numbered or len({len(arm.blocks) for arm in arms}) < 2:
        return tuple(arms)
    return tuple(
        replace(arm, blocks={1000 * place + n: row for n, row in arm.blocks.items()})
        for place, arm in enumerate(arms)
    )


def _arm(name: str, entry: Any, where: str) -> Arm | None:
    given = _mapping(entry, where)
    if given.get("answers") != QUESTION or name == BASELINE:
        return None
    blocks = given.get("blocks")
    if not isinstance(blocks, list) or not blocks:
        raise Broken(f"{where}.blocks is empty")
    made: dict[int, tuple[float, ...]] = {}
    for position, block in enumerate(blocks):
        at = f"{where}.blocks[{position}]"
        values = _mapping(block, at)
        number = values.get("block", position)  # named, or as they stand: what pairs two collectors
        if type(number) not in (int, float) or number != number // 1 or number in made:
            raise Broken(f"{at}.block is {number!r}")
        made[int(number)] = tuple(_number(values, key, at) for key in NAMES)
    every = _range(given, "interval_s", where) if "interval_s" in given else None
    key = "held_out_median_error"
    error = None if given.get(key) is None else _number(given, key, where)
    return Arm(name, _text(given, "title", where), made, every, error)


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Broken(f"{where} is no object")
    return value


def _text(given: dict[str, Any], name: str, where: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise Broken(f"{where}.{name} is no text")
    return value


def _number(given: dict[str, Any], name: str, where: str) -> float:
    return _finite(given.get(name), f"{where}.{name}")


def _range(region: dict[str, Any], name: str, where: str) -> tuple[float, float]:
    ends = region.get(name)
    if not isinstance(ends, list) or len(ends) != 2:
        raise Broken(f"{where}.{name} is no pair of numbers")
    low, high = (_finite(end, f"{where}.{name}") for end in ends)
    if not 0 <= low <= high:
        raise Broken(f"{where}.{name} is no range")
    return low, high


def _finite(value: Any, where: str) -> float:
    if type(value) not in (int, float) or abs(value) > 1e300 or not math.isfinite(value):
        raise Broken(f"{where} is no number")
    return float(value)
