"""Agent CPU by the ``cpuacct`` controller of cgroup version 1: ``cpuacct.usage``, in ns."""

from __future__ import annotations

from pathlib import Path

from experiment.accounting.group import CgroupAccount, CgroupGroup
from experiment.probes.cgroups import hierarchies


def usage_ns(folder: Path) -> int:
    """CPU time of the group in that folder, ns. Raises OSError if it is not accounted."""
    return int((folder / "cpuacct.usage").read_text())


class _Group(CgroupGroup):
    def cpu_ns(self) -> int:
        return usage_ns(self.folder)


class Cgroup1(CgroupAccount):
    """Makes its groups directly under the root of the cpuacct hierarchy."""

    name = "cgroup1"
    kind = _Group
    missing = "no cgroup v1 hierarchy with the cpuacct controller is mounted"

    @staticmethod
    def root() -> str | None:
        return hierarchies().cpuacct
