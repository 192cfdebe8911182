"""Builds the clone's collectors in a folder of our own; the clone is only read.

Their sources are compiled as they are, by their own Makefile, but for two names that the compiler
is told to replace: ``bpf_prog_get_info_by_fd`` where libbpf is older than 1.2, and
``bpf_enable_stats``, by a function that refuses. Whether the kernel's statistics are on is a
factor of the plan here, the same for all arms of a contrast; a reader that turns them on would
make every program on the machine dearer.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from cli.problem import Problem
from cli.upstream.tree import Program, Tree
from vm import cache
from vm import problem as vm_problem

PACKAGES = {"make": "make", "cc": "gcc", "clang": "clang", "bpftool": "bpftool"}
DEADLINE_S = 300
_STUB = "leaves_statistics_to_the_plan"
_STUB_SOURCE = f"""/* In place of bpf_enable_stats(). */
int {_STUB}(int type);
int {_STUB}(int type)
{{
\t(void)type;
\treturn -1;
}}
"""
_ERROR = re.compile(r"(fatal )?error:|Error:|undefined reference|No rule to make", re.IGNORECASE)


def tools(programs: Sequence[Program]) -> dict[str, str]:
    """Paths of what a build needs. Raises Problem naming what is missing and its packages."""
    wanted = list(PACKAGES) if any(program.ebpf for program in programs) else ["make", "cc"]
    # Debian keeps bpftool where only root looks
    where = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    found = {name: shutil.which(name, path=where) for name in wanted}
    gone = [name for name, path in found.items() if path is None]
    if gone:
        packages = " ".join(PACKAGES[name] for name in gone)
        raise Problem(f"{', '.join(gone)} not found, needed to build: apt-get install {packages}")
    return {name: path for name, path in found.items() if path is not None}


def build(tree: Tree, programs: Sequence[Program], say: Callable[[str], None]) -> Path:
    """The folder that holds the built programs; what was built before is found again.

    Raises Problem: a missing tool or header, the compiler's first error, or a full disk.
    """
    using = tools(programs)
    renamed = _renamed(using["cc"]) if "bpftool" in using else []
    names = [program.name for program in programs]
    key = "\0".join([tree.digest, *names, *renamed, os.uname().release, _STUB_SOURCE])
    folder = cache.default() / "upstream" / hashlib.sha256(key.encode()).hexdigest()[:16]

    def make(work: Path) -> None:
        for source in tree.sources:
            shutil.copyfile(source, work / source.name)
        say(f"building {', '.join(names)} of {tree.folder}")
        _make(work, names, using, renamed)

    try:
        return cache.made(folder, make, say)
    except vm_problem.Problem as problem:
        raise Problem(str(problem)) from None


def _make(work: Path, names: list[str], using: dict[str, str], renamed: list[str]) -> None:
    variables = {"cc": "CC", "clang": "CLANG", "bpftool": "BPFTOOL"}
    options = [f"{name}={using[tool]}" for tool, name in variables.items() if tool in using]
    if renamed:
        stub = work / "statistics.stub.c"
        stub.write_text(_STUB_SOURCE, encoding="ascii")
        _run([using["cc"], "-O2", "-c", str(stub), "-o", str(work / "statistics.stub.o")], work)
        libraries = _pkg_config("--libs") or "-lbpf"
        options += [
            f"LIBBPF_CFLAGS={' '.join([_pkg_config('--cflags'), *renamed]).strip()}",
            f"LIBBPF_LIBS=statistics.stub.o {libraries}",
        ]
    _run([using["make"], "-C", str(work), *options, *names], work)
    gone = [name for name in names if not os.access(work / name, os.X_OK)]
    if gone:
        raise Problem(f"the clone does not build: its Makefile made no {', '.join(gone)}")


def _run(words: list[str], work: Path) -> None:
    # make -k, -j or a jobserver of a caller's are not for this build
    kept = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", timeout=DEADLINE_S, env={**kept, "LC_ALL": "C"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Problem(f"the clone does not build: no end after {DEADLINE_S} s") from None
    if done.returncode:
        raise Problem(f"the clone does not build: {first_error(done.stdout, work)}")


def first_error(said: str, work: Path) -> str:
    """The compiler's first error, or the last line of what was said; paths as in the clone."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    chosen = next(filter(_ERROR.search, lines), lines[-1] if lines else "make said nothing")
    return chosen.replace(f"{work}/", "")


def _pkg_config(option: str) -> str:
    try:
        done = subprocess.run(["pkg-config", option, "libbpf"], capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _compiles(compiler: str, source: str) -> bool:
    words = [compiler, *_pkg_config("--cflags").split(), "-Werror", "-Wall", "-fsyntax-only"]
    done = subprocess.run([*words, "-x", "c", "-"], input=source, text=True, capture_output=True)
    return done.returncode == 0


def _renamed(compiler: str) -> list[str]:
    """Options that replace names of libbpf. Raises Problem if its headers are not there."""
    header = "#include <bpf/bpf.h>\n"
    if not _compiles(compiler, header):
        raise Problem("no headers of libbpf, needed to build: apt-get install libbpf-dev")
    renamed = [f"-Dbpf_enable_stats={_STUB}"]
    if not _compiles(compiler, header + "void *of(void) { return bpf_prog_get_info_by_fd; }\n"):
        renamed.append("-Dbpf_prog_get_info_by_fd=bpf_obj_get_info_by_fd")  # before 1.2
    return renamed
