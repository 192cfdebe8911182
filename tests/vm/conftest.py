"""Fake machines for every test of the host's side, real ones where emulating is the point."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from vm import hardware, machine

FAKE = Path(__file__).with_name("fake_qemu.py")


@pytest.fixture
def image(tmp_path):
    """An image of nothing, with the symbols that are read of it."""
    system_map = tmp_path / "System.map"
    system_map.write_text("ffffffff81000000 T _text\nffffffff82000000 B _end\n")
    kernel = tmp_path / "vmlinuz"
    kernel.write_bytes(b"kernel")
    return SimpleNamespace(inputs={"architecture": "x86_64"}, kernel=kernel, system_map=system_map)


@pytest.fixture
def fake_qemu(tmp_path, monkeypatch):
    """Calls the fake in the manner it is given."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "qemu-system-x86_64"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n')
    program.chmod(0o755)
    (folder / "count.so").touch()
    monkeypatch.setattr(hardware, "PLUGIN", folder / "count.so")
    monkeypatch.setattr(hardware, "TURNS", folder / "count.so")
    monkeypatch.setattr(machine, "environment", lambda: dict(os.environ))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return lambda manner: monkeypatch.setenv("FAKE_QEMU", manner)
