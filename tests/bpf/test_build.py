"""The sources build for both machines, and keep the house style."""

from __future__ import annotations

import re
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


@pytest.mark.parametrize("target", ["x86_64-linux-gnu", "aarch64-linux-gnu"])
def test_the_embedded_program_is_addressed_directly(tmp_path: Path, target: str) -> None:
    """clang 14 for aarch64 finds a label by way of the GOT in the wrong place."""
    header = (SOURCES / "common" / "loader.h").read_text()
    macro = re.search(r"#define EMBED_BPF_OBJECT.*?(?<!\\)\n", header, re.S)
    assert macro
    (tmp_path / "some.bpf.o").write_bytes(b"bytes")
    (tmp_path / "some.c").write_text(
        "typedef unsigned long size_t;\nstruct bpf_object;\n"
        "struct bpf_object *loader_open(const char *, const void *, size_t);\n"
        + macro[0]
        + 'EMBED_BPF_OBJECT("some");\nstruct bpf_object *used(void) { return open_embedded(); }\n'
    )
    clang = ["clang", f"--target={target}", "-O2", "-fPIE", "-Wa,-I.", "-c", "some.c"]
    subprocess.run(clang, cwd=tmp_path, check=True)
    listed = subprocess.run(
        ["llvm-readelf", "-r", "some.o"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert "loader_open" in listed.stdout and ".rodata" in listed.stdout
    assert "GOT" not in listed.stdout


def test_barriers_are_atomics_where_stores_may_be_reordered(tmp_path: Path) -> None:
    """x86 keeps the order of stores; arm64 does not, and an atomic with a result is a barrier."""

    def atomics(architecture: str) -> int:
        folder = tmp_path / architecture
        listing = folder / "bpf_timer.bpf.s"
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
        "sched_switch_cores.h",
        "sched_switch_cores_published.h",
        "task_iter.h",
        "snapshot.h",
        "sensor.h",
    }
    assert "SPDX-License-Identifier:" in first
    assert ("(MIT OR GPL-2.0-only)" in first) == kernel
    if path.name.endswith(".bpf.c"):
        assert 'LICENSE[] SEC("license") = "Dual MIT/GPL"' in path.read_text()
