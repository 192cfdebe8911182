"""Nothing is left behind, however a run ends.

A guard process is forked before anything else. It sleeps on a pipe that only the runner holds
open; when the runner ends, even by SIGKILL, the pipe closes and the guard removes every group of
that runner. Should the guard be killed too, the next start repairs.
"""

from __future__ import annotations

import contextlib
import os
import signal
from types import TracebackType

from experiment.accounting import ACCOUNTS


def repair() -> int:
    """Remove what runs that are no longer alive have left; returns how many groups."""
    return sum(account.repair() for account in ACCOUNTS.values())


class Guard:
    """Context manager around a whole run."""

    def __enter__(self) -> Guard:
        read_end, self._pipe = os.pipe2(os.O_CLOEXEC)
        self._pid = os.fork()
        if self._pid == 0:
            self._watch(read_end)
        os.close(read_end)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._pipe)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _watch(self, read_end: int) -> None:
        """The guard's whole life; never returns."""
        try:
            os.setsid()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
                signal.signal(number, signal.SIG_IGN)
            os.close(self._pipe)
            runner = os.getppid()
            # Hold nothing of the runner's: its output pipe must close when it ends.
            for descriptor in range(3):
                os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
            while os.read(read_end, 1):
                pass
            # The runner may still be a zombie; its groups are its own all the same.
            _remove_groups_of(runner)
            repair()
        finally:
            os._exit(0)


def _remove_groups_of(runner: int) -> None:
    from experiment.accounting import group

    for root in (group.cgroup_mount("cgroup2"), group.cgroup_mount("cgroup", "cpuacct")):
        if root is None:
            continue
        with contextlib.suppress(OSError):
            for folder in root.glob(f"{group.PREFIX}{runner}-*"):
                group.remove_cgroup(folder)
