"""What the harness itself costs inside a window: the runner and what drives it.

Above and beside the runner may stand sudo, a notebook's kernel, papermill and the launcher; all of
them are counted, so that one that polls shows up in the row. The shell or editor above them is part
of the machine, as any other process is. A notebook's kernel and papermill poll each second, so they
are stopped for the length of a window.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from experiment.accounting.schedstat import descendants, thread_times

_POLLING = (b"ipykernel", b"papermill", b"cli.execute")
_OURS = (b"experiment", b"sudo", b"ipykernel", b"papermill", b"jupyter", b"study", b"cli")


def drivers() -> list[int]:
    """The processes of the harness other than this one and what it starts.

    These are the parents that belong to the harness and all that the topmost of them has started.
    """
    chain: list[int] = []
    pid = os.getppid()
    while pid > 1:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            stat = Path(f"/proc/{pid}/stat").read_bytes()
        except OSError:
            break
        if not any(mark in os.path.basename(word) for word in words[:4] for mark in _OURS):
            break
        chain.append(pid)
        pid = int(stat.rpartition(b")")[2].split()[1])
    family = descendants(chain[-1]) if chain else []
    own = set(descendants(os.getpid()))
    return chain + [pid for pid in family if pid not in own and pid not in chain]


def polling(pids: list[int]) -> list[int]:
    """Those of the drivers that poll and can be stopped unnoticed.

    Not what a shell has started itself: it would take the terminal back from a stopped child.
    """
    found = []
    for pid in pids:
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            stat = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            if int(stat[1]) in pids and any(mark in word for word in words for mark in _POLLING):
                found.append(pid)
    return found


def wake(pids: list[int]) -> None:
    """Let stopped drivers go on; harmless for those that are not."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def stopped(pids: list[int]) -> Iterator[None]:
    """Drivers that poll stand still inside the block."""
    try:
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        wake(pids)


@dataclass(frozen=True)
class Harness:
    """CPU in ns of this process and by thread id of its drivers, and this process's switches."""

    own_ns: int
    times: dict[int, int]
    wakeups: int

    def since(self, earlier: Harness) -> tuple[int, int]:
        """CPU spent in ns, and wake-ups less the one that ends the window, which is its edge."""
        spent = sum(ns - earlier.times.get(thread, 0) for thread, ns in self.times.items())
        spent += self.own_ns - earlier.own_ns
        return spent, max(0, self.wakeups - earlier.wakeups - 1)


def _own() -> tuple[int, int]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return time.process_time_ns(), usage.ru_nvcsw + usage.ru_nivcsw


def _times(pids: list[int]) -> dict[int, int]:
    times: dict[int, int] = {}
    for pid in pids:
        times |= thread_times(pid)
    return times


def at_start(pids: list[int]) -> Harness:
    """Read with the drivers first, so that reading them stays outside the window."""
    times = _times(pids)
    own, wakeups = _own()
    return Harness(own, times, wakeups)


def at_end(pids: list[int]) -> Harness:
    """The mirror image of :func:`at_start`."""
    own, wakeups = _own()
    return Harness(own, _times(pids), wakeups)
