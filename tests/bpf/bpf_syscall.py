"""The few bpf(2) commands the tests need to look at the kernel from outside the collectors."""

from __future__ import annotations

import ctypes
import os
import platform
import sys

_NUMBER = {"x86_64": 321, "aarch64": 280}
_PROG_NEXT_ID, _MAP_NEXT_ID, _PROG_FD_BY_ID, _INFO_BY_FD, _ENABLE_STATS = 11, 12, 13, 15, 32


class ProgramInfo(ctypes.Structure):
    """struct bpf_prog_info of linux/bpf.h, as far as the counters."""

    _fields_ = [
        ("type", ctypes.c_uint32),
        ("id", ctypes.c_uint32),
        ("tag", ctypes.c_uint8 * 8),
        ("lengths", ctypes.c_uint32 * 2),
        ("instructions", ctypes.c_uint64 * 2),
        ("load_time", ctypes.c_uint64),
        ("uid_and_map_count", ctypes.c_uint32 * 2),
        ("map_ids", ctypes.c_uint64),
        ("name", ctypes.c_char * 16),
        ("ifindex_and_flags", ctypes.c_uint32 * 2),
        ("network_namespace", ctypes.c_uint64 * 2),
        ("symbol_counts", ctypes.c_uint32 * 2),
        ("symbols", ctypes.c_uint64 * 2),
        ("btf", ctypes.c_uint32 * 2),
        ("function_info", ctypes.c_uint64),
        ("line_counts", ctypes.c_uint32 * 2),
        ("lines", ctypes.c_uint64 * 2),
        ("line_sizes", ctypes.c_uint32 * 4),
        ("tags", ctypes.c_uint64),
        ("run_time_ns", ctypes.c_uint64),
        ("run_count", ctypes.c_uint64),
        ("recursion_misses", ctypes.c_uint64),
    ]


def _bpf(command: int, attributes: ctypes.Array[ctypes.c_char]) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    number = _NUMBER[platform.machine()]
    result: int = libc.syscall(number, command, attributes, ctypes.c_uint(len(attributes)))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def _attributes(*words: int) -> ctypes.Array[ctypes.c_char]:
    """union bpf_attr: 32-bit words in this machine's order, zeros after them."""
    return ctypes.create_string_buffer(b"".join(w.to_bytes(4, sys.byteorder) for w in words), 64)


def enable_stats() -> int:
    """A descriptor; the kernel counts runs of BPF programs until it is closed."""
    return _bpf(_ENABLE_STATS, _attributes(0))


def _ids(command: int) -> set[int]:
    found: set[int] = set()
    last = 0
    while True:
        attributes = _attributes(last)
        try:
            _bpf(command, attributes)
        except FileNotFoundError:
            return found
        last = int.from_bytes(bytes(attributes)[4:8], sys.byteorder)
        found.add(last)


def program_ids() -> set[int]:
    """All programs loaded in this kernel."""
    return _ids(_PROG_NEXT_ID)


def map_ids() -> set[int]:
    """All maps in this kernel."""
    return _ids(_MAP_NEXT_ID)


def program_info(program_id: int) -> ProgramInfo:
    """Raises FileNotFoundError when the program is gone."""
    fd = _bpf(_PROG_FD_BY_ID, _attributes(program_id))
    try:
        info = ProgramInfo()
        address = ctypes.addressof(info)
        _bpf(_INFO_BY_FD, _attributes(fd, ctypes.sizeof(info), address & 0xFFFFFFFF, address >> 32))
        return info
    finally:
        os.close(fd)


def programs_named(name: str) -> set[int]:
    """Ids of the loaded programs of that name (the kernel keeps 15 characters)."""
    found = set()
    for program_id in program_ids():
        try:
            if program_info(program_id).name.decode() == name[:15]:
                found.add(program_id)
        except FileNotFoundError:
            pass
    return found
