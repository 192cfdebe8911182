"""Starting and ending a load generator that runs on: ``ready`` on descriptor 3, SIGTERM ends it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path

from experiment.collector import Failed, spawn

_START_DEADLINE_S = 120.0
_STOP_DEADLINE_S = 20.0
_SAFE_DESCRIPTOR = 10


def start(
    words: list[str],
    log: Path,
    what: str,
    join: Callable[[], None] | None = None,
    started: Callable[[int], None] = lambda pid: None,
) -> int:
    """Start it and wait until it is ready; returns its pid.

    Args:
        what: what it starts, for the message: "600 idle processes".
        join: called in the child before it executes.
        started: called with its pid while it gets ready.

    Raises:
        Failed: it is not ready in time, with its own last words; it has been ended.
    """
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    high_end = fcntl.fcntl(write_end, fcntl.F_DUPFD_CLOEXEC, _SAFE_DESCRIPTOR)
    os.close(write_end)
    try:
        pid = spawn(words, log, high_end, join=join)
    except BaseException:
        os.close(read_end)
        raise
    finally:
        os.close(high_end)
    try:
        started(pid)
        heard = select.select([read_end], [], [], _START_DEADLINE_S)[0]
        if not heard or os.read(read_end, 64) != b"ready\n":
            raise Failed(f"{what} could not be started: {_tail(log)}")
    except BaseException:
        stop(pid)
        raise
    finally:
        os.close(read_end)
    return pid


def alive(pid: int) -> bool:
    """Whether it still runs; one that has ended is reaped."""
    with contextlib.suppress(ChildProcessError):
        return os.waitpid(pid, os.WNOHANG)[0] == 0
    return False


def stop(pid: int) -> None:
    """End it, and with it what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + _STOP_DEADLINE_S
    while alive(pid):
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _tail(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        return "no reason given"
    return lines[-1] if lines else "no reason given"
