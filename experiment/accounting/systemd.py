"""Agent CPU by a transient systemd scope: ``CPUUsageNSec``, the figure the published study used.

Without root it runs in the user's own manager. The agent inherits its file descriptors, since
``systemd-run --scope`` moves itself into the scope and then executes the command.
"""

from __future__ import annotations

import os
import re
import subprocess

from experiment.accounting.group import Account, Group, orphaned, owner_tag

_DEADLINE_S = 20


def _systemctl(*words: str) -> str:
    manager = [] if os.geteuid() == 0 else ["--user"]
    done = subprocess.run(
        ["systemctl", *manager, *words],
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
    )
    if done.returncode:
        raise OSError(f"systemctl {words[0]}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


class _Scope(Group):
    def __init__(self, unit: str) -> None:
        self.unit = unit

    def launch_prefix(self) -> list[str]:
        manager = [] if os.geteuid() == 0 else ["--user"]
        return [
            "systemd-run", *manager, "--scope", "--quiet", "--collect",
            "--property=CPUAccounting=yes", f"--unit={self.unit}", "--",
        ]  # fmt: skip

    def cpu_ns(self) -> int:
        value = _systemctl("show", "--property=CPUUsageNSec", "--value", self.unit)
        # systemd prints the largest 64-bit number or "[not set]" for "no accounting".
        if not re.fullmatch(r"\d+", value) or int(value) == 2**64 - 1:
            raise OSError(f"systemd does not account the CPU of {self.unit}")
        return int(value)

    def pids(self) -> list[int]:
        path = _systemctl("show", "--property=ControlGroup", "--value", self.unit)
        for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"):
            try:
                with open(f"{root}{path}/cgroup.procs", encoding="ascii") as file:
                    return [int(line) for line in file]
            except OSError:
                continue
        return []

    def destroy(self) -> None:
        try:
            _systemctl("kill", "--signal=KILL", self.unit)
        except OSError:
            return  # --collect has already removed a scope that ran empty


class SystemdScope(Account):
    """One transient scope per trial."""

    name = "systemd"

    def group(self, label: str) -> _Scope:
        return _Scope(owner_tag() + label + ".scope")

    @classmethod
    def repair(cls) -> int:
        try:
            listing = _systemctl("list-units", "--plain", "--no-legend", "--type=scope")
        except (OSError, subprocess.TimeoutExpired):
            return 0
        left = [line.split()[0] for line in listing.splitlines() if line.strip()]
        left = [unit for unit in left if orphaned(unit)]
        for unit in left:
            _Scope(unit).destroy()
        return len(left)
