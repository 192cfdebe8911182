"""Agent CPU by the ``cpuacct`` controller of cgroup version 1: ``cpuacct.usage``, in ns."""

from __future__ import annotations

from pathlib import Path

from experiment.accounting.group import (
    Account,
    CgroupGroup,
    owner_tag,
    repair_cgroups,
)
from experiment.probes.cgroups import hierarchies


class _Group(CgroupGroup):
    def cpu_ns(self) -> int:
        return int((self.folder / "cpuacct.usage").read_text())


class Cgroup1(Account):
    """Makes its groups directly under the root of the cpuacct hierarchy."""

    name = "cgroup1"

    def __init__(self) -> None:
        root = hierarchies().cpuacct
        if root is None:
            raise OSError("no cgroup v1 hierarchy with the cpuacct controller is mounted")
        self._root = Path(root)

    def group(self, label: str) -> _Group:
        return _Group(self._root / (owner_tag() + label))

    @classmethod
    def repair(cls) -> int:
        root = hierarchies().cpuacct
        return repair_cgroups(Path(root)) if root else 0
