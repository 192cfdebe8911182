"""What the harness itself costs inside a window: the runner and every process above it.

Above the runner stand sudo, the notebook's kernel, papermill and the shell; all of them are
counted, so that a polling parent shows up in the row instead of in the agent's bill.
"""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path

from experiment.accounting.schedstat import thread_times


def ancestors() -> list[int]:
    """This process and its parents, nearest first, without pid 1."""
    chain: list[int] = []
    pid = os.getpid()
    while pid > 1:
        chain.append(pid)
        try:
            stat = Path(f"/proc/{pid}/stat").read_bytes()
        except OSError:
            break
        pid = int(stat.rpartition(b")")[2].split()[1])
    return chain


@dataclass(frozen=True)
class Harness:
    """CPU in ns by thread id, and this process's context switches."""

    times: dict[int, int]
    wakeups: int

    def since(self, earlier: Harness) -> tuple[int | None, int]:
        """CPU spent in ns (None where the kernel does not say) and wake-ups, less the last one.

        The one wake-up that ends the window belongs to the edge, not to the window.
        """
        spent = sum(ns - earlier.times.get(thread, 0) for thread, ns in self.times.items())
        return (spent if self.times else None), max(0, self.wakeups - earlier.wakeups - 1)


def read(pids: list[int]) -> Harness:
    """Read now, for the chain that :func:`ancestors` gave."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    times: dict[int, int] = {}
    for pid in pids:
        times |= thread_times(pid)
    return Harness(times, usage.ru_nvcsw + usage.ru_nivcsw)
