"""Builds the collectors and workloads for a guest, against its libraries; alike on every host."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vm import cache, command, toolchain
from vm.image import Image, digest
from vm.problem import Problem

_SOURCES = {".c", ".h", ""}  # the last: Makefile


@dataclass(frozen=True)
class Programs:
    """A folder of binaries, what went into them, and the hash of what came out."""

    folder: Path
    inputs: Mapping[str, Any]
    digest: str


def build(
    image: Image,
    sources: Path,
    folder: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Programs:
    """Builds ``sources`` (the folder bpf/) for ``image``; what was built before is found again.

    Ten seconds, and as much again the first time for the compiler. Raises ``Problem`` where the
    compiler cannot be fetched or the sources do not build, with the compiler's first complaint.
    """
    bin_folder, compilers = toolchain.build(folder, say)
    files = {
        str(path.relative_to(sources)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(sources.rglob("*"))
        if path.suffix in _SOURCES and path.is_file() and sources / "build" not in path.parents
    }
    needs = {
        "architecture": image.inputs["architecture"],
        "compilers": compilers,
        "libraries": image.inputs["sysroot"],
        "sources": files,
    }
    recipe = [Path(__file__).read_text(), bin_folder.parent.name]
    key = {**needs, "shared": image.inputs["packages"], "recipe": recipe}
    place = (cache.default() if folder is None else folder) / "programs" / digest(key)[:16]

    def make(work: Path) -> None:
        guest = f"{image.inputs['kernel']}, {needs['architecture']}"
        say(f"building the collectors for kernel {guest}")
        built = _make(image, sources, files, bin_folder, work)
        (work / "inputs.json").write_text(json.dumps({**needs, "programs": built}, sort_keys=True))

    cache.made(place, make, say)
    inputs = json.loads((place / "inputs.json").read_text())
    return Programs(place / "build", inputs, digest(inputs["programs"]))


def _make(
    image: Image, sources: Path, files: Mapping[str, str], bin_folder: Path, work: Path
) -> dict[str, str]:
    """Builds in a copy, so that every path is short and relative; returns each program's hash."""
    copy, log = work / "bpf", work / "log"
    for name in files:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(sources / name, copy / name)
    environment = {
        "PATH": f"{bin_folder}:{os.environ.get('PATH', os.defpath)}",
        "LC_ALL": "C.UTF-8",
        "GUEST_TARGET": f"{image.inputs['architecture']}-linux-gnu",
        "GUEST_SYSROOT": str(image.sysroot),
    }
    make = [command.need("make", "make"), f"-j{os.cpu_count() or 1}", "CC=guest-cc",
            "CLANG=guest-clang", "PKG_CONFIG=false", "CFLAGS=-O2", "LDFLAGS=-s"]  # fmt: skip
    if command.run(make, log, environment, copy) != 0:
        lines = log.read_text(errors="replace").splitlines()
        first = next((line for line in lines if "error:" in line or "Error" in line), "see make")
        raise Problem(f"the collectors do not build for this guest: {first}")
    built = sorted(path for path in (copy / "build").iterdir() if not path.suffix)
    for path in (copy / "build").iterdir():
        if path.suffix:
            path.unlink()
    (copy / "build").rename(work / "build")
    shutil.rmtree(copy)
    log.unlink()
    hashes = {}
    for path in built:
        hashes[path.name] = hashlib.sha256((work / "build" / path.name).read_bytes()).hexdigest()
    return hashes
