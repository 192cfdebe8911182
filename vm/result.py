"""Reads what a machine left: its result, whole or not at all, and the counts at its marks."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import zlib
from pathlib import Path
from typing import NamedTuple

_LINES_SHOWN = 12


class GuestFailed(Exception):
    """The guest did not do its work. The text is one line; ``console`` holds its last lines."""

    def __init__(self, text: str, console: str = "") -> None:
        super().__init__(text)
        lines = [line for line in console.splitlines() if line.strip()]
        self.console = lines[-_LINES_SHOWN:]


class Mark(NamedTuple):
    """A mark's value, and how many instructions the whole guest had executed by then."""

    value: int
    user: int
    kernel: int
    bpf: int


def files(path: Path, console: str) -> dict[str, bytes]:
    """The files of a result by their path. Raises GuestFailed if it is not whole."""
    try:
        data = path.read_bytes()
    except OSError:
        data = b""
    if not data:
        raise GuestFailed(_why_none(console), console)
    return unpack(data, console)


def unpack(data: bytes, console: str = "") -> dict[str, bytes]:
    """The files in a stream. Raises GuestFailed if a byte is missing, too many or wrong."""
    head, _, rest = data.partition(b"\n")
    found = re.fullmatch(rb"probetax (\d{1,12}) ([0-9a-f]{64})", head)
    if not found:
        raise GuestFailed("the guest's result has no head: it was cut off or is damaged", console)
    if len(rest) != int(found[1]):
        text = f"the guest's result is cut off: {len(rest)} of {int(found[1])} bytes"
        raise GuestFailed(text, console)
    if hashlib.sha256(rest).hexdigest().encode() != found[2]:
        raise GuestFailed("the guest's result is damaged: its SHA-256 differs", console)
    with tarfile.open(fileobj=io.BytesIO(zlib.decompress(rest))) as tar:
        members = [member for member in tar if member.isreg()]
        return {member.name: _content(tar, member) for member in members}


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    held = tar.extractfile(member)
    return held.read() if held else b""


def _why_none(console: str) -> str:
    """One line out of a console that ends without a result."""
    panic = re.search(r"Kernel panic - not syncing: (.*)", console)
    if panic:
        return f"the guest's kernel panicked: {panic[1].strip()}"
    said = re.findall(r"^init: (.*)$", console, re.MULTILINE)
    if said:
        before = said[-2] if len(said) > 1 and said[-1].startswith("the command ended") else ""
        return f"the guest gave no result: {before + '; ' if before else ''}{said[-1]}"
    return "the guest ended without a result"


def marks(path: Path, console: str = "") -> list[Mark]:
    """The marks in the order they were made. Raises GuestFailed for a damaged file."""
    try:
        text = path.read_text(encoding="ascii")
    except OSError:
        raise GuestFailed("the plugin wrote no marks", console) from None
    found: list[Mark] = []
    for line in text.splitlines(keepends=True):
        if not re.fullmatch(r"\d+ \d+ \d+ \d+\n", line):
            raise GuestFailed(f"the plugin's marks are damaged: {line.strip()!r}", console)
        found.append(Mark(*map(int, line.split())))
    return found
