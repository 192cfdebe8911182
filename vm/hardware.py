"""What the exact machine is made of: a board and a CPU of fixed versions; QEMU's command line."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vm import command
from vm.problem import Problem

_BUILT = Path(__file__).with_name("plugin") / "build"
PLUGIN, TURNS = _BUILT / "count.so", _BUILT / "turns.so"
_CACHE_MB = 128  # of translated code
_OLDEST = (7, 2)


class Image(Protocol):
    """What is booted; :mod:`vm.image` makes it. ``inputs`` name its architecture."""

    @property
    def inputs(self) -> Mapping[str, Any]: ...
    @property
    def kernel(self) -> Path: ...
    @property
    def system_map(self) -> Path: ...


@dataclass(frozen=True)
class Hardware:
    """A machine and a CPU of fixed versions, and what their kernel is told of them."""

    program: str
    package: str
    machine: str
    cpu: str
    console: str
    result: str
    devices: tuple[str, ...]
    kernel: tuple[str, ...]


#: What the CPU's model has and QEMU 7.2 does not emulate: taken away by name, so that a QEMU that
#: knows more shows the guest the same CPU, and one that knows less refuses to start.
_NOT_EMULATED = ("rdseed", "sha-ni", "xsavec", "3dnowprefetch", "misalignsse", "osvw", "topoext",
                 "fxsr-opt", "svm", "nrip-save")  # fmt: skip
HARDWARE = {
    "x86_64": Hardware(
        program="qemu-system-x86_64",
        package="qemu-system-x86",
        machine="pc-q35-7.2,smm=off,vmport=off,hpet=off",
        cpu=",".join(("EPYC-v1", *(f"-{name}" for name in _NOT_EMULATED), "enforce")),
        console="ttyS0",
        result="ttyS1",
        devices=("-serial", "chardev:result"),
        kernel=("tsc=reliable",),
    ),
    "aarch64": Hardware(
        program="qemu-system-aarch64",
        package="qemu-system-arm",
        machine="virt-7.2,gic-version=3",
        cpu="neoverse-n1",
        console="ttyAMA0",
        result="ttyS0",
        devices=("-device", "pci-serial,chardev=result"),
        kernel=(),
    ),
}
#: No address is drawn at random; a panic ends the machine; nothing but errors on the console.
_KERNEL = ("nokaslr", "norandmaps", "panic=-1", "loglevel=4", "rdinit=/init")


def described(architecture: str) -> dict[str, str]:
    """The board, the CPU and the kernel's options, as a run's manifest holds them."""
    hardware = HARDWARE[architecture]
    options = " ".join((*_KERNEL, *hardware.kernel))
    return {"machine": hardware.machine, "cpu": hardware.cpu, "kernel_options": options}


def version(architecture: str) -> str:
    """QEMU's own words on its version. Raises Problem if there is none or it is too old."""
    hardware = HARDWARE[architecture]
    program = command.need(hardware.program, hardware.package)
    done = subprocess.run(
        [program, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    found = re.search(r"version ((\d+)\.(\d+)\S*(?: \(.*\))?)", done.stdout)
    if not found:
        raise Problem(f"{program} does not tell its version: install {hardware.package} again")
    if (int(found[2]), int(found[3])) < _OLDEST:
        raise Problem(f"QEMU {found[1]} is too old: 7.2 or newer is needed ({hardware.package})")
    return found[1]


def kernel_text(system_map: Path) -> tuple[int, int]:
    """First address of the kernel's image and the one after its last. Raises Problem."""
    places: dict[str, int] = {}
    with open(system_map, encoding="ascii") as file:
        for line in file:
            words = line.split()
            if len(words) == 3 and words[2] in ("_text", "_end"):
                places[words[2]] = int(words[0], 16)
    try:
        return places["_text"], places["_end"]
    except KeyError as missing:
        raise Problem(f"{system_map} has no symbol {missing}: build the image again") from None


def command_line(
    hardware: Hardware,
    image: Image,
    initrd: Path,
    *,
    cpu: str | None,
    memory_mb: int,
    seed: int,
    folder: Path,
) -> Sequence[str]:
    """QEMU's words. Raises Problem if QEMU or the plugin is missing."""
    for built in (PLUGIN, TURNS):
        if not built.exists():
            raise Problem(f"not built: {built.name}; run make -C vm/plugin")
    first, end = kernel_text(image.system_map)
    told = (f"console={hardware.console}", f"probetax.result={hardware.result}")
    return [
        *(command.need(hardware.program, hardware.package), "-nodefaults", "-no-user-config"),
        *("-machine", hardware.machine, "-cpu", cpu or hardware.cpu, "-smp", "1"),
        *("-m", str(memory_mb), "-accel", f"tcg,thread=single,tb-size={_CACHE_MB}"),
        *("-icount", "shift=1,sleep=off", "-seed", str(seed)),
        *("-rtc", "base=2024-06-01T00:00:00,clock=vm"),
        *("-display", "none", "-monitor", "none", "-nic", "none", "-no-reboot"),
        *("-chardev", f"file,id=console,path={_plain(folder / 'console')}"),
        *("-chardev", f"file,id=result,path={_plain(folder / 'result')}"),
        *("-serial", "chardev:console", *hardware.devices),
        *("-plugin", f"{_plain(PLUGIN)},marks={_plain(folder / 'marks')},kernel={first:x}:{end:x}"),
        *("-kernel", str(image.kernel), "-initrd", str(initrd)),
        *("-append", " ".join((*_KERNEL, *hardware.kernel, *told))),
    ]


def environment() -> dict[str, str]:
    """What QEMU is started in: its threads take turns, before whatever else is preloaded.

    The library is named from QEMU's own folder, into which it is copied: the loader would take the
    path of a project that has a space or a colon in it for several.
    """
    preloaded = [f"./{TURNS.name}", *filter(None, [os.environ.get("LD_PRELOAD")])]
    return {**os.environ, "LD_PRELOAD": ":".join(preloaded)}


def _plain(path: Path) -> str:
    """The path as a value in QEMU's lists, where a comma is written twice."""
    return str(path).replace(",", ",,")
