"""Writes cpio archives (format newc), which the kernel unpacks as its first root file system.

The same entries give the same bytes: sorted by name, owned by root, dated 1970, numbered in order.
Layout: Linux, Documentation/driver-api/early-userspace/buffer-format.rst.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO

_END = "TRAILER!!!"
_BLOCK = 512  # the kernel skips zeros between two archives, so that segments can follow each other
_LARGEST = 0xFFFFFFFF


@dataclass(frozen=True)
class Entry:
    """One name in the archive. ``mode`` holds type and permissions, as in ``struct stat``."""

    name: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def directory(name: str, permissions: int = 0o755) -> Entry:
    return Entry(name, stat.S_IFDIR | permissions)


def file(name: str, data: bytes, permissions: int = 0o644) -> Entry:
    return Entry(name, stat.S_IFREG | permissions, data)


def symlink(name: str, target: str) -> Entry:
    return Entry(name, stat.S_IFLNK | 0o777, target.encode())


def character_device(name: str, major: int, minor: int, permissions: int = 0o600) -> Entry:
    return Entry(name, stat.S_IFCHR | permissions, device=(major, minor))


def write(out: BinaryIO, entries: Iterable[Entry]) -> int:
    """Writes the archive and returns its size in bytes.

    Folders that no entry names are made (0755). Raises ``ValueError`` for a name that is absolute,
    leaves the archive, appears twice, ends it, or lies below something that is no folder.
    """
    by_name: dict[str, Entry] = {}
    for entry in entries:
        _check(entry)
        if entry.name in by_name:
            raise ValueError(f"{entry.name}: twice in one archive")
        by_name[entry.name] = entry
    for name in list(by_name):
        parent = name.rpartition("/")[0]
        while parent and parent not in by_name:
            by_name[parent] = directory(parent)
            parent = parent.rpartition("/")[0]
        if parent and not stat.S_ISDIR(by_name[parent].mode):
            raise ValueError(f"{name}: {parent} is no folder")
    # by parts, so that a folder comes before what is in it
    ordered = sorted(by_name.values(), key=lambda entry: entry.name.split("/"))
    size = 0
    for number, entry in enumerate(ordered, start=1):
        size += _member(out, number, entry)
    size += _member(out, 0, Entry(_END, 0))
    return size + out.write(b"\0" * (-size % _BLOCK))


def _check(entry: Entry) -> None:
    parts = entry.name.split("/")
    if not entry.name or "" in parts or "." in parts or ".." in parts or "\0" in entry.name:
        raise ValueError(f"{entry.name!r}: names are relative, without '.', '..' or empty parts")
    if entry.name == _END:
        raise ValueError(f"{entry.name}: the name that ends an archive")
    if len(entry.data) > _LARGEST:
        raise ValueError(f"{entry.name}: {len(entry.data)} bytes are more than newc can hold")


def _member(out: BinaryIO, number: int, entry: Entry) -> int:
    name = entry.name.encode(errors="surrogateescape") + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    size = len(entry.data)
    # ino, mode, uid, gid, nlink, mtime, filesize, dev (two), rdev (two), namesize, check
    fields = (number, entry.mode, 0, 0, links, 0, size, 0, 0, *entry.device, len(name), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
    written = out.write(head + b"\0" * (-len(head) % 4))
    return written + out.write(entry.data) + out.write(b"\0" * (-size % 4))
