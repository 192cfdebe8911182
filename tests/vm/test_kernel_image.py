"""The bounds of a kernel's code, from the header of its boot file."""

from __future__ import annotations

import struct

import pytest

from vm import kernel_image
from vm.problem import Problem


def bzimage(physical: int, size: int) -> bytes:
    image = bytearray(1024)
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<QI", image, 0x258, physical, size)
    return bytes(image)


def arm64(start: int, size: int) -> bytes:
    image = bytearray(4096)
    struct.pack_into("<Q", image, 16, size)
    image[56:60] = b"ARM\x64"
    for at in range(1024, 4096, 8):  # pointers to itself; a few lead elsewhere
        to = start + at if at % 64 else 0xFFFF000000000000 + at
        struct.pack_into("<Q", image, at, to)
    return bytes(image)


def test_x86_runs_where_it_was_linked() -> None:
    start, end = kernel_image.bounds(bzimage(0x1000000, 0x3378000))
    assert (start, end) == (0xFFFFFFFF81000000, 0xFFFFFFFF84378000)


@pytest.mark.parametrize("start", [0xFFFF800008000000, 0xFFFF800080000000])
def test_arm64_lies_where_its_pointers_lead(start: int) -> None:
    assert kernel_image.bounds(arm64(start, 0x1AB0000)) == (start, start + 0x1AB0000)


def test_the_bounds_are_written_as_symbols() -> None:
    lines = kernel_image.system_map(bzimage(0x1000000, 0x1000)).splitlines()
    assert lines == ["ffffffff81000000 T _text", "ffffffff81001000 B _end"]


@pytest.mark.parametrize("image", [b"", b"MZ" + bytes(2000), bzimage(0x1000000, 0xFFFFFFFF)])
def test_another_file_is_refused(image: bytes) -> None:
    with pytest.raises(Problem, match="no kind known here"):
        kernel_image.bounds(image)
