"""Marks: rare instructions that do nothing, which the counter of the exact machine sees.

The plugin (``vm/plugin/count.c``) writes down, at each mark, how many instructions the whole
machine has executed so far. A mark is executed from Python through ctypes, on a page of code made
here. Only the backend ``exact`` makes any; on a real processor they would be harmless, and seen by
nobody.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct

_TRIALS = 1 << 14  # what fits an operand of aarch64, beside the edge
_SLOT = 64  # bytes from one mark's code to the next


def value(trial: int, edge: int) -> int:
    """A mark's number, 15 bits: the trial's, as far as it fits, and 0 for begin, 1 for end."""
    return trial % _TRIALS << 1 | edge


def code(number: int, machine: str) -> bytes:
    """A mark and a return. Raises OSError on an architecture without marks."""
    if machine == "x86_64":  # nopl 0x5.......(%rax,%rax,1); ret
        return b"\x0f\x1f\x84\x00" + struct.pack("<I", 0x50000000 | number) + b"\xc3"
    if machine == "aarch64":  # movz xzr, #number; ret
        return struct.pack("<II", 0xD280001F | number << 5, 0xD65F03C0)
    raise OSError(f"no marks are known for {machine}")


class Marks:
    """Marks of one trial's window at a time."""

    def __init__(self) -> None:
        flags = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        self._page = mmap.mmap(-1, mmap.PAGESIZE, prot=flags)
        self._machine = platform.machine()
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        function = ctypes.PYFUNCTYPE(None)
        self.begin = function(address)
        self.end = function(address + _SLOT)

    def aim(self, trial: int) -> None:
        """Make the marks those of this trial. The emulator sees that code has changed."""
        for edge in (0, 1):
            words = code(value(trial, edge), self._machine)
            self._page[edge * _SLOT : edge * _SLOT + len(words)] = words


class NoMarks:
    """In place of marks where nobody would see them."""

    def aim(self, trial: int) -> None:
        del trial

    def begin(self) -> None:
        pass

    def end(self) -> None:
        pass
