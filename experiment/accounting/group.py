"""What every account of an agent's CPU offers, and what the two cgroup versions share."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from abc import ABC, abstractmethod
from pathlib import Path

PREFIX = "probetax-"
_OWNER = re.compile(PREFIX + r"(\d+)-(\d+)-")


class Group(ABC):
    """One agent and everything it starts, accounted together."""

    def launch_prefix(self) -> list[str]:
        """Words to put before the agent's command line."""
        return []

    def join(self) -> None:  # noqa: B027 - optional: most accounts need one of the two hooks
        """Called in the forked child before exec; only system calls are safe here."""

    def started(self, pid: int) -> None:  # noqa: B027 - optional, see join
        """Called in the parent once the child runs."""

    def prepare(self) -> None:  # noqa: B027 - optional, see join
        """Called once the agent is ready: what later readings need is looked up here."""

    @abstractmethod
    def cpu_ns(self) -> int:
        """CPU time of the group since it was made, ns, user and system together."""

    @abstractmethod
    def pids(self) -> list[int]:
        """Process ids now in the group."""

    @abstractmethod
    def destroy(self) -> None:
        """Kill what is left in the group and remove it."""


class Account(ABC):
    """A way of accounting; makes one :class:`Group` per trial."""

    name: str

    @abstractmethod
    def group(self, label: str) -> Group:
        """A new, empty group. Raises OSError if it cannot be made."""

    @classmethod
    def repair(cls) -> int:
        """Remove what a killed run left behind; returns how many groups that were."""
        return 0


def owner_tag() -> str:
    """Names this very process: pid and start time, so that a reused pid is not mistaken."""
    return f"{PREFIX}{os.getpid()}-{start_ticks(os.getpid())}-"


def start_ticks(pid: int) -> int:
    """Field 22 of ``/proc/<pid>/stat``; -1 if there is no such process or it is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return -1
    fields = stat.rpartition(b")")[2].split()
    return -1 if fields[0] in (b"Z", b"X") else int(fields[19])


def orphaned(name: str) -> bool:
    """Whether a group of this name was made by a run that is no longer alive."""
    match = _OWNER.match(name)
    if not match:
        return False
    return start_ticks(int(match[1])) != int(match[2])


class CgroupGroup(Group):
    """A cgroup folder of either version. Subclasses know where the time stands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self._procs = os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)

    def join(self) -> None:
        os.write(self._procs, b"0")

    def pids(self) -> list[int]:
        return read_pids(self.folder)

    def destroy(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._procs)
        remove_cgroup(self.folder)


class CgroupAccount(Account):
    """Groups directly under the root of a hierarchy. Subclasses say which, and of what kind."""

    kind: type[CgroupGroup]
    missing: str

    def __init__(self) -> None:
        root = self.root()
        if root is None:
            raise OSError(self.missing)
        self._root = Path(root)

    @staticmethod
    @abstractmethod
    def root() -> str | None:
        """Where the hierarchy is mounted; None if it is not."""

    def group(self, label: str) -> CgroupGroup:
        return self.kind(self._root / (owner_tag() + label))

    @classmethod
    def repair(cls) -> int:
        root = cls.root()
        return repair_cgroups(Path(root)) if root else 0


def read_pids(folder: Path) -> list[int]:
    """Processes directly in a cgroup folder; none if it is gone."""
    try:
        return [int(line) for line in (folder / "cgroup.procs").read_text().split()]
    except OSError:
        return []


def remove_cgroup(folder: Path, patience_s: float = 5.0) -> bool:
    """Kill everything in the cgroup and remove it; True once it is gone.

    rmdir fails with EBUSY until the last dead task has been reaped, hence the retries.
    """
    deadline = time.monotonic() + patience_s
    while folder.is_dir():
        for child in folder.iterdir():
            if child.is_dir():
                remove_cgroup(child, patience_s)
        for pid in read_pids(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            folder.rmdir()
            break
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def repair_cgroups(root: Path) -> int:
    """Remove orphaned groups directly under ``root``."""
    try:
        names = [entry for entry in root.iterdir() if orphaned(entry.name)]
    except OSError:
        return 0
    return sum(remove_cgroup(folder) for folder in names)
