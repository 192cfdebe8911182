"""Boots a disk image under QEMU, hands it a job, and takes back what the job made.

The image itself is never written: QEMU keeps the changes in a file without a name. Jobs and results
travel as tars on two more disks, the console goes to a file; nothing waits for input.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vm.disk import DiskError, clone
from vm.disk.child import dies_with_us
from vm.disk.image import ROOT, Disk, which

CPUS = 2
MEMORY_MB = 4096
RESULT_MB = 512  # sparse
CONSOLE_LINES = 15
_PANIC = re.compile(r"Kernel panic - not syncing: (.*)")
_QEMU = {"x86_64": "qemu-system-x86", "aarch64": "qemu-system-arm"}
_MACHINES = {
    "x86_64": ("-machine", "q35", "-cpu", "max"),
    # without impdef, emulated pointer authentication takes half of all time
    "aarch64": ("-machine", "virt", "-cpu", "max,pauth-impdef=on"),
}
_CONSOLES = {"x86_64": "ttyS0", "aarch64": "ttyAMA0"}

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What a job left: its exit status, its files below ``folder``, and the seconds it took."""

    status: int
    folder: Path
    seconds: float


def command(disk: Disk, accelerator: str, extra: Sequence[str] = ()) -> list[str]:
    """The command line of QEMU up to the console. Raises DiskError if QEMU is missing."""
    program = which(f"qemu-system-{disk.architecture}")
    if program is None:
        raise DiskError(f"QEMU is missing: apt-get install {_QEMU[disk.architecture]}")
    thread = ",thread=multi" if accelerator == "tcg" else ""
    append = f"root=/dev/vda rw console={_CONSOLES[disk.architecture]} panic=-1 net.ifnames=0"
    return [
        program, *_MACHINES[disk.architecture], "-accel", accelerator + thread,
        "-smp", str(CPUS), "-m", str(MEMORY_MB), "-nodefaults", "-no-user-config", "-nic", "none",
        "-display", "none", "-no-reboot", "-device", "virtio-rng-pci",
        "-kernel", str(disk.kernel), "-initrd", str(disk.initrd),
        "-append", " ".join([append, *extra]),
        *_drive("system", disk.file, "snapshot=on"),
    ]  # fmt: skip


def _drive(name: str, file: Path, options: str) -> list[str]:
    escaped = str(file).replace(",", ",,")
    return [
        *("-drive", f"if=none,id={name},format=raw,file={escaped},{options}"),
        *("-device", f"virtio-blk-pci,drive={name},serial={name}"),
    ]


def run_job(
    disk: Disk,
    job: Path,
    results: Path,
    deadline_s: float,
    accelerator: str = "tcg",
    tell: Tell = print,
) -> Outcome:
    """Boot, run ``job`` (an executable that gets the result folder) beside the clone, unpack.

    ``results`` must not exist; it is there only if the result came out whole.

    Raises:
        DiskError: no QEMU, no memory, a panic, a deadline passed or a torn result; the last lines
            of the console come first.
    """
    _need_memory()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="probetax-disk-") as name:
        folder = Path(name)
        console, result = folder / "console", folder / "result.tar"
        _pack(job, folder / "job.tar")
        with open(result, "wb") as file:
            file.truncate(RESULT_MB << 20)
        words = [
            *command(disk, accelerator, ["probetax.job"]),
            *("-serial", f"file:{console}"),
            *_drive("job", folder / "job.tar", "readonly=on"),
            *_drive("result", result, "cache=unsafe"),
        ]
        said = _run(words, folder, console, deadline_s, tell)
        status = _unpack(result, folder / "unpacked", said)
        results.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(folder / "unpacked", results)
    return Outcome(status, results, time.monotonic() - began)


def shell(disk: Disk, accelerator: str = "tcg") -> int:
    """Boot with the console at this terminal; what is changed inside is gone afterwards."""
    _need_memory()
    words = [*command(disk, accelerator), "-serial", "mon:stdio"]
    return subprocess.run(words, preexec_fn=dies_with_us).returncode


def _need_memory() -> None:
    with open("/proc/meminfo", encoding="ascii") as file:
        free = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))
    if free // 1024 < MEMORY_MB:
        raise DiskError(
            f"{free // 1024} MB of memory are available, the machine takes {MEMORY_MB}: end something"
        )


def _pack(job: Path, target: Path) -> None:
    clone.write(ROOT, target, prefix="clone/")
    with tarfile.open(target, "a", format=tarfile.GNU_FORMAT) as tar:
        tar.add(job, "job")


def _run(words: Sequence[str], folder: Path, console: Path, deadline_s: float, tell: Tell) -> str:
    """Run QEMU to its end; what it wrote to the console."""
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},  # the changes to the image
        preexec_fn=dies_with_us,
    )
    try:
        until = time.monotonic() + deadline_s
        told = 0
        while process.poll() is None:
            if time.monotonic() > until:
                raise _failed(console, f"the machine did not end within {deadline_s:.0f} s")
            told = _follow(console, told, tell)
            time.sleep(0.5)
        error = process.stderr.read().decode(errors="replace").strip() if process.stderr else ""
        if process.returncode:
            last = error.splitlines()[-1:] or [f"exit {process.returncode}"]
            raise _failed(console, f"QEMU failed: {last[0]}")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stderr:
            process.stderr.close()
    _follow(console, told, tell)
    said = console.read_text(errors="replace") if console.exists() else ""
    panic = _PANIC.search(said)
    if panic:
        raise _failed(console, f"the guest's kernel panicked: {panic[1].strip()}")
    return said


def _follow(console: Path, told: int, tell: Tell) -> int:
    """Hand on the job's own lines among those that are new; returns how far it has read."""
    with contextlib.suppress(OSError), open(console, "rb") as file:
        file.seek(told)
        text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        for line in whole.decode(errors="replace").splitlines():
            found = re.search(r"probetax-job\[\d+\]: (.*)", line)
            if found:
                tell(found[1].rstrip())
        return told + len(whole)
    return told


def _failed(console: Path, text: str) -> DiskError:
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = console.read_text(errors="replace").splitlines()[-CONSOLE_LINES:]
    shown = [f"  | {''.join(c for c in line if c.isprintable())}" for line in lines]
    return DiskError("\n".join([*shown, text]))


def _unpack(result: Path, target: Path, console: str) -> int:
    """Unpack the tar; the job's status. Raises DiskError unless it is whole."""
    try:
        with tarfile.open(result) as tar:
            members = tar.getmembers()
            if not members or members[-1].name != "status":
                raise tarfile.TarError("its last member is missing")
            for member in members:
                _extract(tar, member, target)
        return int((target / "status").read_text())
    except (tarfile.TarError, OSError, ValueError) as error:
        shown = [f"  | {line}" for line in console.strip().splitlines()[-CONSOLE_LINES:]]
        raise DiskError("\n".join([*shown, f"the result came out torn: {error}"])) from None


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    """Plain files and folders below ``target``; what else a machine might send is left out."""
    place = target / member.name
    if ".." in place.parts or member.name.startswith("/"):
        raise tarfile.TarError(f"{member.name} lies outside")
    if member.isdir():
        place.mkdir(parents=True, exist_ok=True)
    elif member.isfile():
        place.parent.mkdir(parents=True, exist_ok=True)
        content = tar.extractfile(member)
        assert content is not None
        with content, open(place, "wb") as file:
            shutil.copyfileobj(content, file)
