"""Which other files a 64-bit little-endian ELF file needs to be started or loaded (gABI, ch. 5)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NULL, _DT_NEEDED, _DT_STRTAB = 0, 1, 5


def needed(data: bytes) -> list[str]:
    """Names of the libraries it asks for, then the path of its loader; none if it is no ELF."""
    if data[:6] != b"\x7fELF\x02\x01":
        return []
    segments = list(_segments(data))
    tags = [
        struct.unpack_from("<qQ", data, at)
        for kind, offset, _, size in segments
        if kind == _PT_DYNAMIC
        for at in range(offset, offset + size, 16)
    ]
    if (_DT_NULL, 0) in tags:
        tags = tags[: tags.index((_DT_NULL, 0))]
    strings = next((value for tag, value in tags if tag == _DT_STRTAB), 0)
    for kind, offset, address, size in segments:
        if kind == _PT_LOAD and address <= strings < address + size:
            strings += offset - address
            break
    names = [_string(data, strings + value) for tag, value in tags if tag == _DT_NEEDED]
    return names + [_string(data, offset) for kind, offset, _, _ in segments if kind == _PT_INTERP]


def _segments(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Kind, place in the file, address and size in the file of each segment."""
    (table,) = struct.unpack_from("<Q", data, 32)
    entry, count = struct.unpack_from("<HH", data, 54)
    for at in range(table, table + entry * count, entry):
        kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", data, at)
        yield kind, offset, address, size


def _string(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()
