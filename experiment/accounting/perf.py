"""Counters of perf_event_open(2) for a process and all it starts, from its execution on.

One counter of the runner's own that is switched off, is inherited by what the runner starts, and is
switched on in a child when that executes a command: it counts the child alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct

HARDWARE, SOFTWARE = 0, 1
INSTRUCTIONS = 1  # PERF_COUNT_HW_INSTRUCTIONS
TASK_CLOCK = 1  # PERF_COUNT_SW_TASK_CLOCK, ns

_SYSCALL = {"x86_64": 298, "aarch64": 241}
_ATTR_BYTES = 128
_DISABLED, _INHERIT, _ENABLE_ON_EXEC = 1 << 0, 1 << 1, 1 << 12
_FLAG_CLOEXEC = 8
_libc = ctypes.CDLL(None, use_errno=True)


class Counter:
    """Counts for what is executed while it is open, as soon as that has ended.

    ``read`` gives None where there is no such counter.
    """

    def __init__(self, kind: int, event: int) -> None:
        self._descriptor = -1
        with contextlib.suppress(OSError):
            self._descriptor = _open(kind, event)

    def read(self) -> int | None:
        """What has been counted so far."""
        if self._descriptor < 0:
            return None
        return int.from_bytes(os.read(self._descriptor, 8), "little")

    def close(self) -> None:
        """Let it go."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _open(kind: int, event: int) -> int:
    number = _SYSCALL.get(platform.machine())
    if number is None:
        raise OSError(38, f"perf_event_open(2) is not known for {platform.machine()}")
    flags = _DISABLED | _INHERIT | _ENABLE_ON_EXEC
    # type, size, config, sample_period, sample_type, read_format, flags; the rest is 0
    attributes = struct.pack("=IIQQQQQ", kind, _ATTR_BYTES, event, 0, 0, 0, flags)
    buffer = ctypes.create_string_buffer(attributes, _ATTR_BYTES)
    found: int = _libc.syscall(number, buffer, 0, -1, -1, _FLAG_CLOEXEC)
    if found < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"perf_event_open: {os.strerror(code)}")
    return found
