"""Makes ready what all boots of a run share: image, programs, the counter; says of what."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiment import workloads
from experiment.backends import guest_files
from vm import cache, command, cpio, hardware, image, machine, programs
from vm.problem import Problem


@dataclass(frozen=True)
class Guest:
    """A machine to boot: its image, the archives in the order they are unpacked, and its inputs.

    ``inputs`` decide every digit of a run: two runs of one plan with the same inputs are the same.
    """

    image: hardware.Image
    segments: tuple[Path, ...]
    inputs: dict[str, Any]


def prepare(plan: Mapping[str, Any], root: Path, folder: Path, tell: Callable[..., None]) -> Guest:
    """Build or find everything. Raises vm.problem.Problem, or GuestFailed for a first boot."""

    def say(line: str) -> None:
        tell(event="warning", text=line)

    kernel, architecture = plan["guest"].split("-")
    qemu = hardware.version(architecture)
    machine.room(machine.MEMORY_MB)
    make_plugin(root, folder)
    base = image.build(kernel, architecture, packages=guest_files.packages(plan), say=say)
    made = programs.build(base, root / "bpf", say=say)
    try:
        entries = guest_files.project(plan, root, made.folder)
    except FileNotFoundError as error:
        raise Problem(f"the guest's {Path(error.filename).name} was not built") from None
    project = folder / "project.cpio"
    with open(project, "wb") as out:
        cpio.write(out, entries)
    python = compiled(base, root, folder, say)
    inputs = {
        "guest": plan["guest"],
        "qemu": qemu,
        **hardware.described(architecture),
        "kernel": base.inputs["kernel_release"],
        "image": base.digest,
        "packages": _versions([*base.inputs["packages"], *sum(base.inputs["layers"].values(), [])]),
        "libraries": _versions(made.inputs["libraries"]),
        "compilers": _versions(made.inputs["compilers"]),
        "programs": {name: made.inputs["programs"][name] for name in workloads.needed(plan)},
        "project": digest(project),
        "counter": digest(root / "vm/plugin/count.c"),
        "turns": digest(root / "vm/plugin/turns.c"),
    }
    return Guest(base, (base.initrd, *base.layers.values(), python, project), inputs)


def _versions(packages: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {package["name"]: package["version"] for package in packages}


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


def compiled(base: image.Image, root: Path, folder: Path, say: Callable[[str], None]) -> Path:
    """The standard library's modules as the guest's own Python compiles them; made once per image.

    Each boot would spend seconds on it otherwise. Raises GuestFailed if that boot goes wrong.
    """
    modules = guest_files.foreign_modules(root)
    command_line = ["/usr/bin/python3", "-I", "-S", "-c", _COMPILE, *modules]
    words = json.dumps(command_line)
    known = hashlib.sha256((base.digest + words).encode()).hexdigest()[:16]
    kept = cache.default() / "compiled" / f"{known}.cpio"
    if kept.exists():
        return kept
    say("compiling the guest's Python modules (once for each image; about half a minute)")
    boot = folder / "compiling"
    boot.mkdir()
    init = cpio.file("init", (root / "vm/guest/init").read_bytes(), 0o755)
    with open(boot / "command.cpio", "wb") as out:
        cpio.write(out, [init, cpio.file("command.json", words.encode())])
    outcome = machine.boot(
        base,
        [base.initrd, *base.layers.values(), boot / "command.cpio"],
        memory_mb=machine.MEMORY_MB,
        seed=1,
        deadline_s=600,
        folder=boot,
    )
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_segment(kept.with_suffix(f".{os.getpid()}"), outcome.files)
    kept.with_suffix(f".{os.getpid()}").replace(kept)
    shutil.rmtree(boot)
    return kept


def make_plugin(root: Path, folder: Path) -> None:
    """Compile the counter; what make says goes to ``folder``. Raises Problem."""
    log = folder / "counter.log"
    status = command.run(["make", "-s", "-C", str(root / "vm/plugin")], log)
    said = log.read_text(errors="replace").strip().splitlines()
    if status:
        raise Problem(f"the counter cannot be compiled: {said[-1] if said else 'no reason given'}")


def write_segment(path: Path, files: Mapping[str, bytes]) -> None:
    """Write an archive of plain files."""
    with open(path, "wb") as out:
        cpio.write(out, [cpio.file(name, data) for name, data in files.items()])


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
