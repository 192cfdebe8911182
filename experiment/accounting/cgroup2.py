"""Agent CPU by a cgroup of version 2, pure or beside version 1 (hybrid).

``cpu.stat`` exists in every cgroup whether or not the cpu controller is enabled. ``usage_usec`` is
the scheduler's exact sum of run time; ``user_usec`` and ``system_usec`` are scaled from tick
samples and are not read. On some kernels the sum includes interrupt time and, without paravirtual
steal accounting, stolen time: both are recorded beside it in each row.
"""

from __future__ import annotations

from pathlib import Path

from experiment.accounting.group import CgroupAccount, CgroupGroup
from experiment.probes.cgroups import hierarchies


def usage_ns(folder: Path) -> int:
    """CPU time of the group in that folder, ns. Raises OSError if it is not accounted."""
    with open(folder / "cpu.stat", encoding="ascii") as file:
        for line in file:
            key, value = line.split()
            if key == "usage_usec":
                return int(value) * 1000
    raise OSError(f"{folder}/cpu.stat has no usage_usec")


class _Group(CgroupGroup):
    def cpu_ns(self) -> int:
        return usage_ns(self.folder)


class Cgroup2(CgroupAccount):
    """Makes its groups directly under the root of the unified hierarchy."""

    name = "cgroup2"
    kind = _Group
    missing = "no cgroup v2 hierarchy is mounted"

    @staticmethod
    def root() -> str | None:
        return hierarchies().v2
