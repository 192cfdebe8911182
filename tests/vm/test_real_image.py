"""One real image, made from Debian's archive or found in the cache, and programs built for it."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.vm import cpio_reader
from vm import elf, image, lock, programs
from vm.image import Image
from vm.problem import Problem

ROOT = Path(__file__).resolve().parents[2]
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}
MAKEFILE = """
all: build/hello build/hello.bpf.o
build:
\tmkdir $@
build/hello: hello.c | build
\t$(CC) $(CFLAGS) -g $< -o $@ -lbpf
build/hello.bpf.o: hello.bpf.c | build
\t$(CLANG) -target bpf -O2 -g -c $< -o $@
\tcp $@ build/program
"""
SOURCES = {
    "Makefile": MAKEFILE,
    "hello.c": "#include <stdio.h>\n#include <bpf/libbpf.h>\n"
    "int main(void) { return puts(libbpf_version_string()) < 0 || !__FILE__[0]; }\n",
    "hello.bpf.c": "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n"
    'char name[] SEC("license") = "GPL";\n'
    'SEC("raw_tp") int hello(void *c) { return bpf_get_smp_processor_id(); }\n',
}


@pytest.fixture(scope="module")
def guest() -> Image:
    return image.build("6.1", "x86_64", packages=lock.LAYERS)


def read_elf(path: Path, *options: str) -> str:
    return subprocess.run(
        ["readelf", *options, path], capture_output=True, text=True, check=True
    ).stdout  # fmt: skip


def test_the_base_image_is_small(guest: Image) -> None:
    assert guest.initrd.stat().st_size < 50_000_000
    assert guest.layers["python3-psutil"].stat().st_size < 2_000_000


def test_every_program_in_it_finds_its_libraries(guest: Image) -> None:
    members = cpio_reader.members(guest.initrd.read_bytes())
    members += cpio_reader.members(guest.layers["python3-psutil"].read_bytes())
    links = {name: data.decode() for name, head, data in members if stat.S_ISLNK(head["mode"])}
    names = {name for name, _, _ in members}
    for name, target in links.items():
        reached = os.path.normpath(os.path.join("/", os.path.dirname(name), target)).lstrip("/")
        assert reached in names, f"{name} leads nowhere"
    found = {os.path.basename(name) for name in names}
    for name, _, data in members:
        for needed in elf.needed(data):
            assert os.path.basename(needed) in found, f"{name} needs {needed}"
            assert "/" not in needed or f"usr{needed}" in names, f"{name} needs {needed}"


def test_it_holds_no_byte_code_and_no_test(guest: Image) -> None:
    names = [name for name, _, _ in cpio_reader.members(guest.initrd.read_bytes())]
    assert not [name for name in names if name.endswith(".pyc") or "/test/" in name]
    assert not [name for name in names if name.startswith(("usr/share", "var", "boot"))]


def test_the_collectors_are_built_for_the_guest(guest: Image) -> None:
    built = programs.build(guest, ROOT / "bpf")
    names = set(built.inputs["programs"])
    assert {"null_agent", "proc_stat", "sched_switch", "bpf_timer", "exec_step"} <= names
    assert names == {path.name for path in built.folder.iterdir()}
    for name in names:
        path = built.folder / name
        assert MACHINES["x86_64"] in read_elf(path, "--file-header")
        assert os.access(path, os.X_OK)
        assert str(built.folder.parent).encode() not in path.read_bytes()
    assert [package["name"] for package in built.inputs["compilers"]][0] == "clang-14"


def test_programs_do_not_depend_on_where_they_are_built(guest: Image, tmp_path: Path) -> None:
    made = []
    for place in ("a", "another place"):
        sources = tmp_path / place / "bpf"
        sources.mkdir(parents=True)
        for name, text in SOURCES.items():
            (sources / name).write_text(text)
        cache = tmp_path / place / "cache"
        cache.mkdir()
        (cache / "toolchains").symlink_to(image.cache.default() / "toolchains")
        made.append(programs.build(guest, sources, cache))
    first, second = made
    assert first.digest == second.digest and first.folder != second.folder
    for name in ("hello", "program"):
        data = (first.folder / name).read_bytes()
        assert data == (second.folder / name).read_bytes()
        assert str(tmp_path).encode() not in data
    if (
        guest.sysroot / "usr/lib64/ld-linux-x86-64.so.2"
    ).exists() and os.uname().machine == "x86_64":
        loader = guest.sysroot / "usr/lib64/ld-linux-x86-64.so.2"
        libraries = guest.sysroot / "usr/lib/x86_64-linux-gnu"
        said = subprocess.run(
            [loader, "--library-path", libraries, first.folder / "hello"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        assert said.startswith("v1.1"), "Debian 12's libbpf, whatever the host has"


def test_sources_that_do_not_build_are_told_by_the_compiler(guest: Image, tmp_path: Path) -> None:
    sources = tmp_path / "bpf"
    sources.mkdir()
    for name, text in SOURCES.items():
        (sources / name).write_text(text.replace("puts", "no_such_call"))
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "toolchains").symlink_to(image.cache.default() / "toolchains")
    with pytest.raises(Problem, match="do not build for this guest: .*no_such_call"):
        programs.build(guest, sources, cache)
    assert [path.suffix for path in (cache / "programs").iterdir()] == [".lock"]
