"""Independently randomised complete blocks: which trial runs when.

Block 0 is the warm-up. Each later block holds every cell once, in an order of its own: process
counts, or design points, in random order, so that the workload changes once for each, and inside it
the cells in random order. External trials form one run of neighbours at their process count, before
or after its cells by the toss of a coin; among design points they are a place of their own, without
a load, and a warm-up block holds the point of the A/A pair alone. One workload, state of the
statistics and pace comes at a time, as often as its pace has rounds, in random order, so that what
is compared lies close together: the machine drifts by more than the effect. A window without any
agent, where a layout wants one, is one more cell of its place. Fidelity trials come after the last
block, in blocks of their own from ``blocks + 1`` on, each with every arm under every load of known
use; those of kind ``cores`` are laid out likewise, after them. Trials of kind ``sensor`` are
neighbours in each block, before or after all else by the toss of a coin; in a warm-up there is one.

Shuffling is Fisher-Yates (Knuth, *TAOCP* 2, algorithm P) on :meth:`random.Random.getrandbits`,
whose output for a seed is the same in every Python; ``random.shuffle`` promises no such thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

from experiment.layout import Cell, Layout, Place
from experiment.points import Point
from experiment.presets import External
from experiment.sensor_designs import Pair, Sensor

Item = TypeVar("Item")

#: External trials run with the program attached and its reader asleep: an hour between scrapes.
EXTERNAL_INTERVAL_MS = 3_600_000
#: What stands in place of an arm where there is none.
NO_ARM = "none"


def randbelow(random: Random, limit: int) -> int:
    """A whole number from 0 to ``limit - 1``, each equally likely."""
    bits = (limit - 1).bit_length()
    while True:
        drawn = random.getrandbits(bits) if bits else 0
        if drawn < limit:
            return drawn


def shuffled(items: Sequence[Item], random: Random) -> list[Item]:
    """The items in random order; every order equally likely."""
    result = list(items)
    for last in range(len(result) - 1, 0, -1):
        other = randbelow(random, last + 1)
        result[last], result[other] = result[other], result[last]
    return result


def external_blocks(layout: Layout) -> set[int]:
    """Numbers of the blocks that hold external trials, spread evenly over the run."""
    if layout.external is None or not layout.external_arms:
        return set()
    wanted = layout.external.blocks
    count = layout.blocks if wanted is None else min(wanted, layout.blocks)
    return {1 + index * layout.blocks // count for index in range(count)}


def trials(layout: Layout, seed: int) -> list[dict[str, Any]]:
    """Every trial of the plan, in the order of execution."""
    random = Random(seed)
    with_external = external_blocks(layout)
    first = 1 - layout.warm_up_blocks
    result: list[dict[str, Any]] = []
    for block in range(first, layout.blocks + 1):
        window_ms = layout.window_ms if block > 0 else layout.warm_up_window_ms
        drawn = _block(layout, window_ms, block in with_external, random, warm_up=block <= 0)
        if layout.sensor is not None:
            watched = _sensor(layout, layout.sensor, block, random)
            drawn = drawn + watched if randbelow(random, 2) else watched + drawn
        result += [{"block": block, "position": n, **trial} for n, trial in enumerate(drawn)]
    pairs = [(load, arm) for load in layout.fidelity.workloads for arm in layout.fidelity_arms]
    for block in range(layout.blocks + 1, layout.blocks + 1 + layout.fidelity.blocks):
        drawn = [_fidelity(layout, load, arm) for load, arm in shuffled(pairs, random)]
        result += [{"block": block, "position": n, **trial} for n, trial in enumerate(drawn)]
    result += _cores(layout, random)
    return [{"trial": number, **trial} for number, trial in enumerate(result)]


def _block(
    layout: Layout, window_ms: int, with_external: bool, random: Random, warm_up: bool
) -> list[dict[str, Any]]:
    cells, external = layout.cells, layout.external if with_external else None
    if warm_up and (home := layout.cells[-1].point):
        cells = tuple(cell for cell in cells if cell.point == home)
    places: list[Place | External] = list(dict.fromkeys(cell.place for cell in cells))
    if external is not None and isinstance(places[0], Point):
        places.append(external)
    drawn: list[dict[str, Any]] = []
    for place in shuffled(places, random):
        planned = [_cost(layout, cell, window_ms, warm_up) for cell in cells if cell.place == place]
        if layout.empty and planned:
            planned.append(_empty(next((t for t in planned if t["kind"] == "cost"), planned[0])))
        part = shuffled(planned, random)
        if external is not None and place == external:
            part = _external(layout, external, random)
        elif external is not None and not isinstance(place, Point) and external.level == place:
            outside = _external(layout, external, random)
            part = part + outside if randbelow(random, 2) else outside + part
        drawn += part
    return drawn


def _cost(layout: Layout, cell: Cell, window_ms: int, warm_up: bool) -> dict[str, Any]:
    trial = {
        "kind": cell.kind,
        "arm": cell.arm,
        "replica": cell.replica,
        "statistics": cell.statistics,
    }
    if cell.point:
        return trial | cell.point.factors() | ({"window_s": window_ms / 1000} if warm_up else {})
    if cell.window_ms and not warm_up:
        window_ms = cell.window_ms
    return trial | {
        "processes": cell.level,
        "interval_ms": layout.interval_ms,
        "window_s": window_ms / 1000,
        **({} if cell.stress is None else {"stress_threads": cell.stress}),
    }


def _empty(cost: dict[str, Any]) -> dict[str, Any]:
    """The window without an agent that goes with one of its neighbours."""
    return cost | {"kind": "empty", "arm": NO_ARM, "replica": 1, "statistics": "off"}


def _external(layout: Layout, external: External, random: Random) -> list[dict[str, Any]]:
    conditions: list[dict[str, Any]] = [
        {"statistics": statistics, "workload": workload}
        | {"pace": name, "events": pace.events[workload]}
        | ({} if pace.pause_us is None else {"pause_us": pace.pause_us})
        for name, pace in external.paces
        for workload in layout.external_arms
        if pace.pause_us is None or workload == "switch"
        for statistics in external.statistics
        for _ in range(pace.rounds)
    ]
    return [
        {
            "kind": "external",
            "arm": arm,
            "replica": 1,
            "processes": external.level,
            "interval_ms": EXTERNAL_INTERVAL_MS,
            **condition,
        }
        for condition in shuffled(conditions, random)
        for arm in shuffled(layout.external_arms[condition["workload"]], random)
    ]


def _fidelity(layout: Layout, workload: str, arm: str) -> dict[str, Any]:
    children = {"children": layout.fidelity.children} if workload == "children" else {}
    return {
        "kind": "fidelity",
        "arm": arm,
        "replica": 1,
        "statistics": "off",
        "processes": layout.fidelity_level,
        "workload": workload,
        "interval_ms": layout.interval_ms,
        "window_s": layout.fidelity.window_ms / 1000,
        **children,
    }


def _cores(layout: Layout, random: Random) -> list[dict[str, Any]]:
    """Blocks of their own, each with every arm under every duty cycle."""
    if layout.cores is None:
        return []
    pairs = [(load, arm) for load in layout.cores.loads for arm in layout.core_arms]
    first = layout.blocks + layout.fidelity.blocks + 1
    return [
        {
            "block": block,
            "position": position,
            "kind": "cores",
            "arm": arm,
            "replica": 1,
            "statistics": "off",
            "processes": layout.fidelity_level,
            "stress_threads": 0,
            "duty_percent": load.duty_percent,
            "burst_us": load.burst_us,
            "interval_ms": layout.interval_ms,
            "window_s": layout.cores.window_ms / 1000,
        }
        for block in range(first, first + layout.cores.blocks)
        for position, (load, arm) in enumerate(shuffled(pairs, random))
    ]


def _sensor(layout: Layout, sensor: Sensor, block: int, random: Random) -> list[dict[str, Any]]:
    """Each variant under each load that a design of this block wants, and the twin once more."""
    pairs: list[tuple[Pair, int]] = [(sensor.twin, 2)]
    if block > 0:
        pairs += [(pair, 1) for pair in sensor.pairs(block, layout.blocks)]
    return [
        {
            "kind": "sensor",
            "arm": sensor.arm,
            "replica": replica,
            "statistics": "off",
            "processes": layout.fidelity_level,
            "interval_ms": layout.interval_ms,
            "variant": variant,
            "flags": list(sensor.variants[variant]),
            "load": load,
            "event": sensor.loads[load].event,
            "events": sensor.loads[load].events,
            "size": sensor.loads[load].size,
            "pause_us": sensor.loads[load].pause_us,
        }
        for (variant, load), replica in shuffled(pairs, random)
    ]
