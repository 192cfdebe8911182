"""Resident memory of a group of processes."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(pids: list[int]) -> int | None:
    """Sum of resident set sizes in bytes (pages shared by processes count once each)."""
    total = None
    for pid in pids:
        with contextlib.suppress(OSError):
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            total = (total or 0) + pages * _PAGE_BYTES
    return total
