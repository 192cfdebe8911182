"""Nothing is left behind, however a run ends.

A guard process is forked before anything else. It sleeps on a pipe that only the runner holds
open; when the runner ends, even by SIGKILL, the pipe closes and the guard puts right what is left:
the run's groups, the process group of the collector announced last, and drivers stopped for a
window. Should the guard be killed too, the next start repairs the groups.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from types import TracebackType

from experiment.accounting import ACCOUNTS, harness
from experiment.accounting.group import start_ticks

_DONE = b"0\n"
_PATIENCE_S = 10.0


def repair() -> int:
    """Remove what runs that are no longer alive have left; returns how many groups."""
    return sum(account.repair() for account in ACCOUNTS.values())


class Guard:
    """Context manager around a whole run. ``drivers``: what the runner may stop for a window."""

    def __init__(self, drivers: list[int]) -> None:
        self._drivers = drivers

    def __enter__(self) -> Guard:
        read_end, self._pipe = os.pipe2(os.O_CLOEXEC)
        runner = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            self._watch(read_end, runner)
        os.close(read_end)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            os.write(self._pipe, _DONE)
        os.close(self._pipe)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def announce(self, process_group: int) -> None:
        """Tell the guard which process group is the collector's from now on."""
        with contextlib.suppress(OSError):
            os.write(self._pipe, b"%d\n" % process_group)

    def _watch(self, read_end: int, runner: int) -> None:
        """The guard's whole life; never returns."""
        try:
            os.setsid()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
                signal.signal(number, signal.SIG_IGN)
            os.close(self._pipe)
            # Hold nothing of the runner's: its output pipe must close when it ends.
            for descriptor in range(3):
                os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
            last = b""
            while words := os.read(read_end, 4096).split():
                last = words[-1]
            if last + b"\n" != _DONE:
                harness.wake(self._drivers)
                _clean_up_after(runner, int(last or b"0"))
        finally:
            os._exit(0)


def _clean_up_after(runner: int, process_group: int) -> None:
    # The pipe closes a moment before the kernel calls the runner dead.
    until = time.monotonic() + _PATIENCE_S
    while start_ticks(runner) != -1 and time.monotonic() < until:
        time.sleep(0.01)
    if process_group:
        with contextlib.suppress(OSError):
            os.killpg(process_group, signal.SIGKILL)
    repair()
