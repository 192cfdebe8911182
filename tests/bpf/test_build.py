"""The sources build for both machines, and keep the house style."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.bpf.conftest import ROOT

SOURCES = ROOT / "bpf"
PROGRAMS = sorted(SOURCES.glob("*/*.bpf.c"))


@pytest.mark.parametrize("architecture", ["x86", "arm64"])
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.stem)
def test_kernel_programs_compile(
    build: object, tmp_path: Path, source: Path, architecture: str
) -> None:
    target = tmp_path / f"{source.stem}.o"
    command = ["make", "-C", str(SOURCES), f"BUILD={tmp_path}", f"ARCH={architecture}", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert target.stat().st_size > 1000


def test_barriers_are_atomics_where_stores_may_be_reordered(tmp_path: Path) -> None:
    """x86 keeps the order of stores; arm64 does not, and an atomic with a result is a barrier."""

    def atomics(architecture: str) -> int:
        folder = tmp_path / architecture
        listing = folder / "sched_switch.bpf.s"
        make = ["make", "-C", str(SOURCES), f"BUILD={folder}", f"ARCH={architecture}"]
        subprocess.run([*make, str(listing)], check=True, capture_output=True)
        return listing.read_text().count("atomic_fetch_add")

    assert atomics("arm64") > atomics("x86")


def test_style() -> None:
    done = subprocess.run(
        ["make", "--silent", "-C", str(SOURCES), "check-format"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "path",
    sorted(p for p in SOURCES.glob("*/*") if p.suffix in {".c", ".h", ".py", ".yaml"}),
    ids=lambda path: path.name,
)
def test_licence_is_stated(path: Path) -> None:
    first = path.read_text().splitlines()[0]
    kernel = path.name.endswith((".bpf.c", ".bpf.h")) or path.name in {
        "kernel.h",
        "sched_switch.h",
        "sched_switch_published.h",
        "snapshot.h",
    }
    assert "SPDX-License-Identifier:" in first
    assert ("(MIT OR GPL-2.0-only)" in first) == kernel
    if path.name.endswith(".bpf.c"):
        assert 'LICENSE[] SEC("license") = "Dual MIT/GPL"' in path.read_text()
