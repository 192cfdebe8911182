"""The few system calls that Python's standard library does not wrap.

bpf(2), mount(2), unshare(2) and prctl(2), through the C library. Errors are ``OSError`` with the
kernel's errno.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from dataclasses import dataclass

_libc = ctypes.CDLL(None, use_errno=True)

_SYS_BPF = {"x86_64": 321, "aarch64": 280}
_BPF_PROG_GET_NEXT_ID = 11
_BPF_PROG_GET_FD_BY_ID = 13
_BPF_OBJ_GET_INFO_BY_FD = 15
_BPF_ENABLE_STATS = 32

_CLONE_NEWNS = 0x00020000
_MS_REC_PRIVATE = 0x4000 | (1 << 18)
_PR_SET_PDEATHSIG = 1

# struct bpf_prog_info of include/uapi/linux/bpf.h: byte offsets of the fields read here.
_INFO_BYTES = 232
_INFO_NAME = 64
_INFO_RUN_TIME = 192


def _check(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def _bpf(command: int, attributes: bytes) -> tuple[int, bytes]:
    number = _SYS_BPF.get(platform.machine())
    if number is None:
        raise OSError(38, f"bpf(2) is not known for {platform.machine()}")
    buffer = ctypes.create_string_buffer(attributes, max(len(attributes), 16))
    result = _check(_libc.syscall(number, command, buffer, len(buffer)), "bpf")
    return result, buffer.raw


def enable_bpf_stats() -> int:
    """Switch program statistics on for as long as the returned file descriptor is open.

    The global sysctl is not touched, so nothing has to be put back after a crash.
    """
    descriptor, _ = _bpf(_BPF_ENABLE_STATS, struct.pack("=I12x", 0))  # 0 = BPF_STATS_RUN_TIME
    os.set_inheritable(descriptor, False)
    return descriptor


def program_ids() -> list[int]:
    """Ids of every BPF program loaded in the kernel, ascending."""
    ids: list[int] = []
    current = 0
    while True:
        try:
            _, raw = _bpf(_BPF_PROG_GET_NEXT_ID, struct.pack("=III4x", current, 0, 0))
        except FileNotFoundError:  # ENOENT: there is no next one
            return ids
        current = struct.unpack_from("=I", raw, 4)[0]
        ids.append(current)


def open_program(program_id: int) -> int:
    """A file descriptor of the program; it keeps the program loaded until it is closed."""
    descriptor, _ = _bpf(_BPF_PROG_GET_FD_BY_ID, struct.pack("=III4x", program_id, 0, 0))
    return descriptor


@dataclass(frozen=True)
class ProgramInfo:
    """Counters of one program since it was loaded. Times in ns; zero while statistics are off."""

    type: int
    id: int
    name: str
    run_time_ns: int
    run_count: int
    recursion_misses: int


def program_info(descriptor: int) -> ProgramInfo:
    """Read the kernel's record of a program, by file descriptor."""
    info = ctypes.create_string_buffer(_INFO_BYTES)
    attributes = struct.pack("=IIQ", descriptor, _INFO_BYTES, ctypes.addressof(info))
    _bpf(_BPF_OBJ_GET_INFO_BY_FD, attributes)
    kind, number = struct.unpack_from("=II", info.raw, 0)
    name = info.raw[_INFO_NAME : _INFO_NAME + 16].split(b"\0", 1)[0].decode("ascii", "replace")
    run_time, count, misses = struct.unpack_from("=QQQ", info.raw, _INFO_RUN_TIME)
    return ProgramInfo(kind, number, name, run_time, count, misses)


def private_mounts() -> None:
    """Give this process mounts of its own: what it mounts vanishes with it, even on SIGKILL."""
    _check(_libc.unshare(_CLONE_NEWNS), "unshare")
    _check(_libc.mount(b"none", b"/", None, _MS_REC_PRIVATE, None), "mount --make-rprivate /")


def mount(source: str, target: str, kind: str) -> None:
    """mount(2) without flags."""
    _check(
        _libc.mount(source.encode(), target.encode(), kind.encode(), 0, None),
        f"mount {kind} on {target}",
    )


def die_with_parent(signal_number: int) -> None:
    """Ask for a signal when the parent thread ends, however it ends."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "prctl")
