"""What an ELF file needs, as readelf says it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from vm import elf

EXAMPLES = [Path(sys.executable).resolve(), Path("/bin/ls").resolve(), Path("/bin/sh").resolve()]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_needs_are_those_readelf_finds(path: Path) -> None:
    said = subprocess.run(
        ["readelf", "--dynamic", "--program-headers", path],
        capture_output=True, text=True, check=True, env={"LC_ALL": "C", "PATH": "/usr/bin"},
    ).stdout  # fmt: skip
    expected = re.findall(r"\(NEEDED\).*\[(.*)\]", said)
    loader = re.findall(r"interpreter: (.*)\]", said)
    assert loader
    assert sorted(elf.needed(path.read_bytes())) == sorted(expected + loader)


def test_other_files_need_nothing() -> None:
    assert elf.needed(b"#!/bin/sh\n") == []
    assert elf.needed(b"") == []
    assert elf.needed(b"\x7fELF\x01\x01" + bytes(60)) == [], "a 32-bit one is not ours"
