"""Makes ready what all boots of a run share: image, programs, the counter; says of what."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiment.backends import guest_files
from vm import command, cpio, hardware, image, machine, programs
from vm.problem import Problem


@dataclass(frozen=True)
class Guest:
    """A machine to boot: its image, the archives in the order they are unpacked, and its inputs.

    ``inputs`` decide every digit of a run: two runs of one plan with the same inputs are the same.
    """

    image: hardware.Image
    segments: tuple[Path, ...]
    inputs: dict[str, Any]


def cache() -> Path:
    """Where images and programs are kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "probetax"


def prepare(plan: Mapping[str, Any], root: Path, folder: Path, tell: Callable[..., None]) -> Guest:
    """Build or find everything. Raises vm.problem.Problem."""
    kernel, architecture = plan["guest"].split("-")
    qemu = hardware.version(architecture)
    machine.room(1)
    make_plugin(root)
    tell(event="warning", text=f"preparing the virtual machine {plan['guest']}")
    base = image.build(kernel, architecture, cache(), guest_files.packages(plan))
    made = programs.build(kernel, architecture, cache())
    try:
        entries = guest_files.project(plan, root, made.folder)
    except FileNotFoundError as error:
        raise Problem(f"the guest's {Path(error.filename).name} was not built") from None
    with open(folder / "project.cpio", "wb") as out:
        cpio.write(out, entries)
    unpack(base.initrd, folder / "base.cpio")
    python = compiled(base, base.digest, root, folder)
    inputs = {
        "guest": plan["guest"],
        "qemu": qemu,
        "hardware": hardware.described(architecture),
        "image": base.digest,
        "kernel": base.inputs["kernel"],
        "programs": made.inputs,
        "project": digest(folder / "project.cpio"),
        "counter": digest(root / "vm/plugin/count.c"),
    }
    return Guest(base, (folder / "base.cpio", python, folder / "project.cpio"), inputs)


#: Imports modules, and hands over what Python has made of them.
_COMPILE = """
import importlib, os, pathlib, shutil, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError:
        pass
for made in sorted(pathlib.Path("/usr/lib").rglob("__pycache__/*.pyc")):
    target = pathlib.Path("/run/result") / made.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(made, target)
"""


def compiled(base: hardware.Image, digest_of_base: str, root: Path, folder: Path) -> Path:
    """The standard library's modules as the guest's own Python compiles them; made once per image.

    Each boot would spend seconds on it otherwise. Raises GuestFailed if that boot goes wrong.
    """
    modules = guest_files.foreign_modules(root)
    command_line = ["/usr/bin/python3", "-I", "-S", "-c", _COMPILE, *modules]
    words = json.dumps(command_line)
    known = hashlib.sha256((digest_of_base + words).encode()).hexdigest()[:32]
    kept = cache() / "compiled" / f"{known}.cpio"
    if kept.exists():
        return kept
    boot = folder / "compiling"
    boot.mkdir()
    init = cpio.file("init", (root / "vm/guest/init").read_bytes(), 0o755)
    with open(boot / "command.cpio", "wb") as out:
        cpio.write(out, [init, cpio.file("command.json", words.encode())])
    outcome = machine.boot(
        base,
        [folder / "base.cpio", boot / "command.cpio"],
        memory_mb=1024,
        seed=1,
        deadline_s=600,
        folder=boot,
    )
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_segment(kept.with_suffix(f".{os.getpid()}"), outcome.files)
    kept.with_suffix(f".{os.getpid()}").replace(kept)
    shutil.rmtree(boot)
    return kept


def make_plugin(root: Path) -> None:
    """Compile the counter. Raises Problem."""
    log = root / "vm/plugin/build.log"
    status = command.run(["make", "-s", "-C", str(root / "vm/plugin")], log)
    said = log.read_text(errors="replace").strip().splitlines()
    log.unlink()
    if status:
        raise Problem(f"the counter cannot be compiled: {said[-1] if said else 'no reason given'}")


def write_segment(path: Path, files: Mapping[str, bytes]) -> None:
    """Write an archive of plain files."""
    with open(path, "wb") as out:
        cpio.write(out, [cpio.file(name, data) for name, data in files.items()])


def unpack(packed: Path, to: Path) -> None:
    """Decompress here what would take the emulated machine seconds at each boot."""
    with open(packed, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    opened = gzip.open(packed) if zipped else open(packed, "rb")
    with opened as source, open(to, "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
