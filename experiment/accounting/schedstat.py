"""Agent CPU by ``/proc/<pid>/task/*/schedstat`` over the process tree: needs no rights at all.

The first field is the task's exact run time in ns (Documentation/scheduler/sched-stats.rst). A
thread's time is gone when it ends, so the instrument remembers what each one had when last read:
work done by a task that lives wholly between two readings is not seen.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from experiment.accounting.group import Account, Group


def thread_times(pid: int) -> dict[int, int]:
    """Run time in ns of each thread of a process, by thread id; empty if it is gone."""
    times: dict[int, int] = {}
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{pid}/task/{task}/schedstat").read_text()
                times[int(task)] = int(text.split()[0])
    return times


def descendants(pid: int) -> list[int]:
    """The process and everything it started that is still its descendant."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):
                with contextlib.suppress(OSError):
                    text = Path(f"/proc/{parent}/task/{task}/children").read_text()
                    found.extend(int(word) for word in text.split())
    return found


class _Tree(Group):
    def __init__(self) -> None:
        self._root = 0
        self._times: dict[int, int] = {}

    def started(self, pid: int) -> None:
        self._root = pid

    def cpu_ns(self) -> int:
        for pid in self.pids():
            self._times.update(thread_times(pid))
        if not self._times:
            raise OSError("this kernel has no /proc/<pid>/task/*/schedstat")
        return sum(self._times.values())

    def pids(self) -> list[int]:
        return descendants(self._root) if self._root else []

    def destroy(self) -> None:
        for pid in self.pids()[::-1]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


class Schedstat(Account):
    """The account of last resort: no cgroup can be made and no systemd answers."""

    name = "schedstat"

    def group(self, label: str) -> _Tree:
        del label
        return _Tree()
