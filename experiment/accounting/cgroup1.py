"""Agent CPU by the ``cpuacct`` controller of cgroup version 1: ``cpuacct.usage``, in ns."""

from __future__ import annotations

from experiment.accounting.group import (
    Account,
    CgroupGroup,
    cgroup_mount,
    owner_tag,
    repair_cgroups,
)


class _Group(CgroupGroup):
    def cpu_ns(self) -> int:
        return int((self.folder / "cpuacct.usage").read_text())


class Cgroup1(Account):
    """Makes its groups directly under the root of the cpuacct hierarchy."""

    name = "cgroup1"

    def __init__(self) -> None:
        root = cgroup_mount("cgroup", "cpuacct")
        if root is None:
            raise OSError("no cgroup v1 hierarchy with the cpuacct controller is mounted")
        self._root = root

    def group(self, label: str) -> _Group:
        return _Group(self._root / (owner_tag() + label))

    @classmethod
    def repair(cls) -> int:
        root = cgroup_mount("cgroup", "cpuacct")
        return repair_cgroups(root) if root else 0
