"""Children that do not outlive us, however we end."""

from __future__ import annotations

import ctypes
import signal

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def dies_with_us() -> None:
    """For ``preexec_fn``: a signal to the child once the thread that started it has ended."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
