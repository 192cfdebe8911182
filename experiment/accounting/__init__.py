"""Instruments: one file per way of counting, never silently mixed.

The agent's own CPU comes from :mod:`cgroup2`, :mod:`cgroup1`, :mod:`systemd` or
:mod:`schedstat`; which one is chosen once per run and written into every row.
"""

from __future__ import annotations

from experiment.accounting import cgroup1, cgroup2, schedstat, systemd
from experiment.accounting.group import Account, Group

ACCOUNTS: dict[str, type[Account]] = {
    "cgroup2": cgroup2.Cgroup2,
    "cgroup1": cgroup1.Cgroup1,
    "systemd": systemd.SystemdScope,
    "schedstat": schedstat.Schedstat,
}

__all__ = ["ACCOUNTS", "Account", "Group"]
