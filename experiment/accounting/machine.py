"""The whole machine between two readings: context switches, forks, busy, idle and stolen time.

``/proc/stat`` counts CPU time in ticks, so over a window of seconds these columns resolve 10 ms:
they describe the conditions of a trial and are never an overhead figure.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields

_NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Machine:
    """Counters since boot; times in ns, summed over CPUs."""

    switches: int
    forks: int
    busy_ns: int
    idle_ns: int
    steal_ns: int
    irq_ns: int

    def since(self, earlier: Machine, elapsed_ns: int) -> dict[str, int | None]:
        """The differences, by field. None for what cannot be true.

        iowait may fall on some kernels and idle counters have been seen to jump by centuries: one
        that fell or grew by more than twice CPUs x elapsed time (and two ticks) is unknown.
        """
        changes: dict[str, int | None] = {}
        most = (os.cpu_count() or 1) * 2 * (elapsed_ns + 2 * _NS_PER_TICK)
        for field in fields(self):
            change = getattr(self, field.name) - getattr(earlier, field.name)
            sane = change >= 0 and (change <= most or not field.name.endswith("_ns"))
            changes[field.name] = change if sane else None
        return changes


def parse(text: str) -> Machine:
    """Parse ``/proc/stat``. Guest time is inside user time (proc_stat(5)) and not added again."""
    ticks = [0] * 8
    switches = forks = 0
    for line in text.splitlines():
        words = line.split()
        if words[0] == "cpu":
            ticks = [int(word) for word in words[1:9]]
        elif words[0] == "ctxt":
            switches = int(words[1])
        elif words[0] == "processes":
            forks = int(words[1])
    user, nice, system, idle, iowait, irq, softirq, steal = (
        tick * _NS_PER_TICK for tick in (ticks + [0] * 8)[:8]
    )
    busy = user + nice + system + irq + softirq
    return Machine(switches, forks, busy, idle + iowait, steal, irq + softirq)


def read() -> Machine:
    """Read ``/proc/stat`` now."""
    with open("/proc/stat", encoding="ascii") as file:
        return parse(file.read())


def processes() -> int:
    """How many processes ``/proc`` lists."""
    return sum(name.isdigit() for name in os.listdir("/proc"))


def threads() -> int:
    """How many threads exist, by ``/proc/loadavg``."""
    with open("/proc/loadavg", encoding="ascii") as file:
        return int(file.read().split()[3].split("/")[1])
