"""Reads what vm/cpio.py writes, by the kernel's description of the format and not by our code."""

from __future__ import annotations

FIELDS = ("ino", "mode", "uid", "gid", "nlink", "mtime", "filesize", "devmajor", "devminor",
          "rdevmajor", "rdevminor", "namesize", "check")  # fmt: skip


def members(archive: bytes) -> list[tuple[str, dict[str, int], bytes]]:
    """Name, header and content of each member, in order, up to the trailer."""
    found = []
    at = 0
    while True:
        assert archive[at : at + 6] == b"070701", at
        words = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(len(FIELDS))]
        head = dict(zip(FIELDS, words, strict=True))
        name = archive[at + 110 : at + 110 + head["namesize"]]
        assert name.endswith(b"\0")
        begin = at + (110 + head["namesize"] + 3) // 4 * 4
        data = archive[begin : begin + head["filesize"]]
        if name == b"TRAILER!!!\0":
            assert not archive[begin:].strip(b"\0") and len(archive) % 512 == 0
            return found
        found.append((name[:-1].decode(errors="surrogateescape"), head, data))
        at = (begin + head["filesize"] + 3) // 4 * 4
