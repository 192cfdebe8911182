"""What a fleet saves by the cheaper way of collecting: by density, rate and interval.

One node's difference in cores times the number of nodes. It is no one number: at one end of the
table eBPF saves, at the other it costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from analysis.crossover.model import Fit, Where, spread
from analysis.crossover.region import Region, outside

NODES = 1000
NS_OF_CORE = 1e9  # one core, in ns per second
RATES = (1_000, 10_000, 100_000)


def rates(idle: float, region: Region) -> list[float]:
    """The idle machine's rate, and round ones inside what was measured."""
    return [idle, *(rate for rate in RATES if idle < rate <= region["switches_per_s"][1])]


def savings(
    fits: Mapping[str, Fit],
    pairs: Iterable[tuple[str, str]],
    usual: Where,
    region: Region,
    processes: Iterable[int],
    intervals: Iterable[float],
) -> list[dict[str, Any]]:
    """Cores that 1,000 nodes save by the second of a pair instead of the first.

    usual: a machine left alone, whose threads, active tasks and rate are taken. Keys numerator,
    denominator, processes, interval_s, switches_per_s, idle (true at the machine's own rate), and
    cores_per_1000_nodes (Interval; below zero: it costs).
    """
    made: list[dict[str, Any]] = []
    counts, seconds = list(processes), list(intervals)
    for first, second in pairs:
        if first not in fits or second not in fits:
            continue
        one, other = fits[first], fits[second]
        shared = [block for block in one.blocks if block in other.blocks]
        for count in counts:
            for interval in seconds:
                for rate in rates(usual.switches_per_s, region):
                    at = replace(usual, processes=count, interval_s=interval, switches_per_s=rate)
                    if outside(region, at) or not shared:
                        continue
                    each = (one.of(shared) - other.of(shared)) @ at.terms(one.half)
                    saved = spread(each / NS_OF_CORE * NODES, one.exact)
                    entry = {"numerator": first, "denominator": second, "processes": count}
                    entry |= {"interval_s": interval, "switches_per_s": rate}
                    entry |= {"idle": rate == usual.switches_per_s, "cores_per_1000_nodes": saved}
                    made.append(entry)
    return made
