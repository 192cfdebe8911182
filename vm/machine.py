"""Boots the instruction-exact machine: one QEMU that takes nothing from the host but its image.

Time in the guest is the number of instructions executed (``-icount``), the clock on the wall begins
on a fixed day, random numbers come from a seed, no byte goes in while it runs, and QEMU's threads
take turns: so two boots of the same image with the same seed do the same, instruction by
instruction, on a busy host too. A plugin counts them.

What comes out: the console, one result (see ``guest/init``), and the counts at each mark.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from vm import command, hardware, result
from vm.hardware import HARDWARE, Image, command_line, environment
from vm.problem import Problem
from vm.result import GuestFailed, Mark

#: What every run gives its guests, in MB.
MEMORY_MB = 1024
#: What QEMU takes beyond the guest's memory, in MB: its own, and translated code.
OVERHEAD_MB = 300
#: How the loader says, and goes on, that a library was not preloaded.
NOT_LOADED = "cannot be preloaded"


@dataclass(frozen=True)
class Outcome:
    """What a boot left: files of its result by path, counts in the order of the marks."""

    files: dict[str, bytes]
    marks: list[Mark]
    console: str
    seconds: float


def room(memory_mb: int) -> int:
    """How many machines of so much memory fit now. Raises Problem if none does."""
    text = Path("/proc/meminfo").read_text(encoding="ascii")
    found = re.search(r"^MemAvailable: *(\d+) kB", text, re.MULTILINE)
    free_mb = int(found[1]) // 1024 if found else 0
    needed = memory_mb + OVERHEAD_MB
    if free_mb < needed:
        raise Problem(
            f"not enough memory: the virtual machine takes {needed} MB, {free_mb} MB are free; end"
            " something, or use a larger machine"
        )
    return free_mb // needed


class Machine:
    """A booted machine. Always end it with :meth:`kill`, or use it as a context manager."""

    def __init__(
        self,
        image: Image,
        segments: Iterable[Path],
        *,
        memory_mb: int,
        seed: int,
        deadline_s: float,
        folder: Path,
        cpu: str | None = None,
    ) -> None:
        """Boot.

        Args:
            segments: cpio archives, unpacked by the guest one after the other.
            folder: an empty folder for what QEMU reads and writes.
            cpu: QEMU's name of a CPU, in place of the architecture's own.

        Raises:
            Problem: no QEMU, no plugin.
        """
        guest = HARDWARE[image.inputs["architecture"]]
        self.folder = folder
        self._began = time.monotonic()
        self._deadline_s = deadline_s
        initrd = folder / "initrd"
        with open(initrd, "wb") as out:
            for segment in segments:
                with open(segment, "rb") as part:
                    shutil.copyfileobj(part, out, 1 << 20)
        words = command_line(
            guest, image, initrd, cpu=cpu, memory_mb=memory_mb, seed=seed, folder=folder
        )
        shutil.copyfile(hardware.TURNS, folder / hardware.TURNS.name)
        with open(folder / "qemu.log", "wb") as log:
            self.process = subprocess.Popen(
                words,
                env=environment(),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=command.tied(signal.SIGKILL),
            )
        self._pidfd = os.pidfd_open(self.process.pid)

    def __enter__(self) -> Machine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def fileno(self) -> int:
        """Readable once QEMU has ended: for select."""
        return self._pidfd

    @property
    def left_s(self) -> float:
        """Seconds until it must have ended."""
        return self._began + self._deadline_s - time.monotonic()

    def marks_so_far(self) -> int:
        """How many marks the guest has made."""
        try:
            return (self.folder / "marks").read_bytes().count(b"\n")
        except OSError:
            return 0

    def kill(self) -> None:
        """End QEMU now. Safe to call at any time, also twice."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def wait(self) -> Outcome:
        """Wait for the end and read what it left. Raises Problem or GuestFailed."""
        if self.process.poll() is None:
            select.select([self], [], [], max(0.0, self.left_s))
        return self.finish()

    def finish(self) -> Outcome:
        """What an ended machine left; one that has not ended is killed.

        Raises:
            GuestFailed: it did not end in time, panicked, or left no whole result.
            Problem: QEMU refused to start.
        """
        stalled = self.process.poll() is None
        self.kill()
        console = _text(self.folder / "console")
        log = _text(self.folder / "qemu.log")
        if ignored := [line for line in log.splitlines() if NOT_LOADED in line]:
            raise Problem(f"{ignored[0]}; without it the host's timing is in the digits")
        if stalled:
            raise GuestFailed(f"the guest did not end within {self._deadline_s:.0f} s", console)
        if self.process.returncode:
            raise Problem(_why(self.process.returncode, log))
        files = result.files(self.folder / "result", console)
        marks = result.marks(self.folder / "marks", console)
        return Outcome(files, marks, console, time.monotonic() - self._began)


def boot(
    image: Image,
    segments: Iterable[Path],
    *,
    memory_mb: int,
    seed: int,
    deadline_s: float,
    folder: Path,
    cpu: str | None = None,
) -> Outcome:
    """Boot a machine and wait for its end; arguments and errors as of :class:`Machine`."""
    with Machine(
        image,
        segments,
        memory_mb=memory_mb,
        seed=seed,
        deadline_s=deadline_s,
        folder=folder,
        cpu=cpu,
    ) as machine:
        return machine.wait()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").replace("\r", "")
    except OSError:
        return ""


def _why(status: int, said: str) -> str:
    words = [line for line in said.splitlines() if line.strip() and "warning:" not in line]
    if status < 0:
        return f"QEMU was ended by {signal.Signals(-status).name}; was there enough memory?"
    return f"QEMU ended with status {status}: {words[-1] if words else 'it said nothing'}"
