"""Boots a disk image under QEMU, hands it a job, and takes back what the job made.

The image itself is never written: QEMU keeps the changes in a file without a name. Jobs and results
travel as tars on two more disks, the console goes to a file; nothing waits for input.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vm import command, machine
from vm.disk import clone
from vm.disk.image import ROOT, Disk
from vm.problem import Problem
from vm.result import GuestFailed

CPUS = 2
MEMORY_MB = 4096
RESULT_MB = 512  # sparse
PREFIX = "probetax-disk-"  # of temporary folders; the owner's pid follows
_PANIC = re.compile(r"Kernel panic - not syncing: (.*)")
_PACKAGES = {"x86_64": "qemu-system-x86", "aarch64": "qemu-system-arm"}
_MACHINES = {
    # without hpet and with a trusted TSC the clock is read without leaving the guest
    # without AVX, which is new in QEMU 7.2: with it a notebook's kernel has died
    "x86_64": ("-machine", "q35,hpet=off", "-cpu", "max,avx=off,avx2=off,fma=off,f16c=off"),
    # without impdef, emulated pointer authentication takes half of all time
    "aarch64": ("-machine", "virt", "-cpu", "max,pauth-impdef=on"),
}
_KERNEL = {"x86_64": "console=ttyS0 tsc=reliable", "aarch64": "console=ttyAMA0"}

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What a job left: its exit status, its files below ``folder``, and the seconds it took."""

    status: int
    folder: Path
    seconds: float


def command_line(disk: Disk, accelerator: str, extra: Sequence[str] = ()) -> list[str]:
    """QEMU's words up to the console. Raises Problem if QEMU is missing."""
    kind = disk.architecture
    program = command.need(f"qemu-system-{kind}", _PACKAGES[kind])
    thread = ",thread=multi" if accelerator == "tcg" else ""
    append = f"root=/dev/vda rw {_KERNEL[kind]} panic=-1"
    return [
        program, *_MACHINES[kind], "-accel", accelerator + thread,
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
        Problem: no QEMU, not enough memory.
        GuestFailed: a panic, a deadline passed or a torn result.
    """
    machine.room(MEMORY_MB)
    repair()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as name:
        folder = Path(name)
        console, result = folder / "console", folder / "result.tar"
        _pack(job, folder / "job.tar")
        with open(result, "wb") as file:
            file.truncate(RESULT_MB << 20)
        words = [
            *command_line(disk, accelerator, ["probetax.job"]),
            *("-serial", f"file:{console}"),
            *_drive("job", folder / "job.tar", "readonly=on"),
            *_drive("result", result, "cache=unsafe"),
        ]
        said = _run(words, folder, console, deadline_s, tell)
        status = _unpack(result, folder / "unpacked", said)
        results.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(folder / "unpacked", results)
        (results / "console").write_text(said, encoding="utf-8")
    return Outcome(status, results, time.monotonic() - began)


def repair() -> None:
    """Remove what commands that were killed have left. Their machines have died with them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def shell(disk: Disk, accelerator: str = "tcg") -> int:
    """Boot with the console at this terminal; what is changed inside is gone afterwards."""
    machine.room(MEMORY_MB)
    words = [*command_line(disk, accelerator), "-serial", "mon:stdio"]
    return subprocess.run(words, preexec_fn=command.tied()).returncode


def _pack(job: Path, target: Path) -> None:
    clone.write(ROOT, target, prefix="clone/")
    with tarfile.open(target, "a", format=tarfile.GNU_FORMAT) as tar:
        tar.add(job, "job")


def _run(words: Sequence[str], folder: Path, console: Path, deadline_s: float, tell: Tell) -> str:
    """Run QEMU to its end; what it wrote to the console."""
    log = folder / "qemu.log"
    with open(log, "wb") as output:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "TMPDIR": str(folder)},  # the changes to the image
            preexec_fn=command.tied(signal.SIGKILL),
        )
    until, told = time.monotonic() + deadline_s, 0
    try:
        while process.poll() is None:
            if time.monotonic() > until:
                text = f"the guest did not end within {deadline_s:.0f} s"
                raise GuestFailed(text, _text(console))
            told = _follow(console, told, tell)
            time.sleep(0.2)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    _follow(console, told, tell)
    if process.returncode:
        said = _text(log).strip().splitlines()
        raise Problem(f"QEMU failed: {said[-1] if said else f'exit {process.returncode}'}")
    panic = _PANIC.search(_text(console))
    if panic:
        raise GuestFailed(f"the guest's kernel panicked: {panic[1].strip()}", _text(console))
    return _text(console)


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


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace").replace("\r", "")
    except OSError:
        return ""


def _unpack(result: Path, target: Path, console: str) -> int:
    """Unpack the tar; the job's status. Raises GuestFailed unless it is whole."""
    try:
        with tarfile.open(result, "r:") as tar:  # as it is: an empty disk is no archive
            members = tar.getmembers()
            if not members or members[-1].name != "status":
                raise tarfile.TarError("its last member is missing")
            for member in members:
                _extract(tar, member, target)
        return int((target / "status").read_text())
    except (tarfile.TarError, OSError, ValueError) as error:
        raise GuestFailed(f"the guest's result is cut off or damaged: {error}", console) from None


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
