"""Where a kernel's own code lies in memory, read out of its boot file; Debian strips the symbols.

With ``nokaslr`` a kernel runs at the addresses it was linked for. x86 (Linux,
Documentation/arch/x86/boot.rst): its header names the physical address, which the kernel's mapping
adds to 0xffffffff80000000, and the memory it needs. arm64 (Documentation/arch/arm64/booting.rst):
the header names the size; the place is where most of the image's own pointers lead, since a kernel
is linked to the start of a 128 MiB granule.
"""

from __future__ import annotations

import array
import struct
import sys
from collections import Counter

from vm.problem import Problem

_X86_MAPPING = 0xFFFFFFFF80000000
_X86_MODULES = 0xFFFFFFFFC0000000  # programs made at run time lie from here on
_GRANULE = 27  # as a power of two: arm64 keeps at least that much for modules just below the kernel


def bounds(image: bytes) -> tuple[int, int]:
    """First address of the kernel's image in memory, and one at or after its end.

    Nothing that is made at run time (modules, BPF programs, trampolines) lies between the two.
    Raises ``Problem`` for a file that is neither a bzImage for x86-64 nor an arm64 image.
    """
    if image[0x202:0x206] == b"HdrS" and len(image) > 0x264:
        physical, size = struct.unpack_from("<QI", image, 0x258)
        start = _X86_MAPPING + physical
        if start + size <= _X86_MODULES:
            return start, start + size
    elif image[56:60] == b"ARM\x64":
        (size,) = struct.unpack_from("<Q", image, 16)
        words = array.array("Q", image[: len(image) & ~7])
        if sys.byteorder == "big":
            words.byteswap()
        granules = Counter(word >> _GRANULE for word in words if word >> 47 == 0x1FFFF)
        if granules:
            start = granules.most_common(1)[0][0] << _GRANULE
            return start, start + size
    raise Problem("the kernel's boot file is of no kind known here: neither x86-64 nor arm64")


def system_map(image: bytes) -> str:
    """The two bounds in the format of System.map."""
    start, end = bounds(image)
    return f"{start:016x} T _text\n{end:016x} B _end\n"
