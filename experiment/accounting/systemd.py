"""Agent CPU by a transient systemd scope: ``CPUUsageNSec``, the figure the published study used.

systemd takes that figure from the scope's control group. Asking it costs a process and a message
at each edge of a window, tens of milliseconds on a small machine, half a second on an emulated
one; so it is asked once where the group is, and the counter read there. Only where that cannot be
read is systemd asked each time.

Without root the scope is in the user's own manager. The agent inherits its file descriptors, since
``systemd-run --scope`` moves itself into the scope and then executes the command.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from experiment.accounting import cgroup1, cgroup2
from experiment.accounting.group import Account, Group, orphaned, owner_tag, read_pids
from experiment.probes.cgroups import hierarchies

_DEADLINE_S = 20
#: Where systemd keeps track of processes if no control group of version 2 is mounted.
_NAMED = "/sys/fs/cgroup/systemd"


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
        self._folder: Path | None = None
        self._counter: Callable[[], int] | None = None

    def launch_prefix(self) -> list[str]:
        manager = [] if os.geteuid() == 0 else ["--user"]
        return [
            "systemd-run", *manager, "--scope", "--quiet", "--collect",
            "--property=CPUAccounting=yes", f"--unit={self.unit}", "--",
        ]  # fmt: skip

    def prepare(self) -> None:
        path = _systemctl("show", "--property=ControlGroup", "--value", self.unit).strip("/")
        found = hierarchies()
        places = [(found.v2, cgroup2.usage_ns), (found.cpuacct, cgroup1.usage_ns), (_NAMED, None)]
        for root, usage_ns in places:
            if root is None or not path:
                continue
            folder = Path(root, path)
            if self._folder is None and (folder / "cgroup.procs").exists():
                self._folder = folder
            if self._counter is None and usage_ns:
                with contextlib.suppress(OSError):
                    usage_ns(folder)
                    self._counter = functools.partial(usage_ns, folder)

    def cpu_ns(self) -> int:
        if self._counter:
            return self._counter()
        value = _systemctl("show", "--property=CPUUsageNSec", "--value", self.unit)
        # systemd prints the largest 64-bit number or "[not set]" for "no accounting".
        if not re.fullmatch(r"\d+", value) or int(value) == 2**64 - 1:
            raise OSError(f"systemd does not account the CPU of {self.unit}")
        return int(value)

    def pids(self) -> list[int]:
        if self._folder is None:
            self.prepare()
        return read_pids(self._folder) if self._folder else []

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
