"""Agent CPU by the ``cpuacct`` controller of cgroup version 1: ``cpuacct.usage``, in ns."""

from __future__ import annotations

from experiment.accounting.group import CgroupAccount, CgroupGroup
from experiment.probes.cgroups import hierarchies


class _Group(CgroupGroup):
    def cpu_ns(self) -> int:
        return int((self.folder / "cpuacct.usage").read_text())


class Cgroup1(CgroupAccount):
    """Makes its groups directly under the root of the cpuacct hierarchy."""

    name = "cgroup1"
    kind = _Group
    missing = "no cgroup v1 hierarchy with the cpuacct controller is mounted"

    @staticmethod
    def root() -> str | None:
        return hierarchies().cpuacct
