"""A host that wakes QEMU's main loop at random moments changes nothing in a real guest."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from pathlib import Path

import pytest

from experiment.backends import guests
from vm import cpio, image, machine
from vm.machine import Machine
from vm.problem import Problem
from vm.result import GuestFailed

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = Path(__file__).with_name("hostile.c")
#: Halts the CPU often, and tells at which nanoseconds of the guest it went on.
SLEEPS = """
#include <stdio.h>
#include <sys/reboot.h>
#include <time.h>
int main(void)
{
    struct timespec pause = {0, 700000}, now;
    unsigned long long sum = 0;
    for (int i = 0; i < 2000; i++) {
        nanosleep(&pause, 0);
        clock_gettime(CLOCK_MONOTONIC, &now);
        sum = sum * 31 + now.tv_sec * 1000000000ull + now.tv_nsec;
    }
    printf("init: woke at %llu\\n", sum);
    fflush(stdout);
    reboot(RB_AUTOBOOT);
}
"""


def compiled(folder: Path, name: str, source: str, *options: str) -> Path:
    (folder / f"{name}.c").write_text(source)
    words = ["gcc", "-O2", *options, "-o", str(folder / name), str(folder / f"{name}.c")]
    subprocess.run(words, check=True)
    return folder / name


def begun(folder: Path, segment: Path, *more: Path, turns: bool = True, **words: str) -> Machine:
    """A guest that is booting in a QEMU with these libraries too and words in its environment."""
    folder.mkdir()
    guest = image.build("6.1", platform.machine())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", ":".join(map(str, more)))
        environment = {**(machine.environment() if turns else os.environ), **words}
        patch.setattr(machine, "environment", lambda: environment)
        return Machine(guest, [segment], memory_mb=256, seed=1, deadline_s=240, folder=folder)


def woke_at(boot: Machine) -> str:
    """What the guest says of the moments at which its sleeps ended."""
    with boot, pytest.raises(GuestFailed) as caught:  # for it hands over no result
        boot.wait()
    [line] = [line for line in caught.value.console if line.startswith("init: woke at")]
    return line


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """What the guest runs."""
    guests.make_plugin(ROOT, tmp_path)
    init = compiled(tmp_path, "init", SLEEPS, "-static").read_bytes()
    made = tmp_path / "segment.cpio"
    with open(made, "wb") as out:
        console = cpio.character_device("dev/console", 5, 1)
        cpio.write(out, [console, cpio.file("init", init, 0o755)])
    return made


def test_without_its_turns_a_machine_gives_no_result(tmp_path: Path, segment: Path) -> None:
    """The loader goes on without a library that it cannot load; the digits would be the host's."""
    with begun(tmp_path / "boot", segment, tmp_path / "nothing.so") as boot:
        time.sleep(1)
        boot.process.terminate()
        with pytest.raises(Problem, match="nothing.so.* cannot be preloaded"):
            boot.wait()


def test_a_main_loop_that_wakes_at_random_changes_no_nanosecond_in_the_guest(
    tmp_path: Path, segment: Path
) -> None:
    """Wherever the boot has its folder: here one whose name is hard to pass on."""
    hostile = compiled(tmp_path, "hostile", HOSTILE.read_text(), "-shared", "-fPIC")
    boots = [
        begun(tmp_path / "calm", segment),
        begun(tmp_path / "held: a folder, spaced", segment, hostile),
        begun(tmp_path / "heard", segment, hostile, turns=False, HOSTILE_DAWDLES="1"),
    ]
    calm, held, heard = (woke_at(boot) for boot in boots)
    assert held == calm
    assert heard != calm  # where nothing holds it back, that host is heard
