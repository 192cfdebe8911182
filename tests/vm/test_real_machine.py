"""A real kernel that panics or never ends is told as what it is, with its last words."""

from __future__ import annotations

import platform
import subprocess
import time
from pathlib import Path

import pytest

from experiment.backends import guests
from vm import cpio, image, machine
from vm.result import GuestFailed

ROOT = Path(__file__).resolve().parents[2]
HANGS = """
#include <stdio.h>
int main(void) { puts("init: hangs"); fflush(stdout); for (;;) ; }
"""


def init_that_hangs(folder: Path) -> bytes:
    """A program that needs nothing else to run."""
    (folder / "init.c").write_text(HANGS)
    words = ["gcc", "-static", "-o", str(folder / "init"), str(folder / "init.c")]
    subprocess.run(words, check=True)
    return (folder / "init").read_bytes()


def boot(folder: Path, *entries: cpio.Entry, deadline_s: float) -> tuple[GuestFailed, float]:
    """How a guest with nothing but these files failed, and the seconds that it took."""
    guests.make_plugin(ROOT, folder)
    guest = image.build("6.1", platform.machine())
    segment = folder / "segment.cpio"
    with open(segment, "wb") as out:
        cpio.write(out, [cpio.character_device("dev/console", 5, 1), *entries])
    (folder / "boot").mkdir()
    began = time.monotonic()
    with pytest.raises(GuestFailed) as caught:
        machine.boot(
            guest,
            [segment],
            memory_mb=256,
            seed=1,
            deadline_s=deadline_s,
            folder=folder / "boot",
        )
    return caught.value, time.monotonic() - began


@pytest.fixture(scope="module")
def panicked(tmp_path_factory: pytest.TempPathFactory) -> tuple[GuestFailed, float]:
    """Without an init."""
    return boot(tmp_path_factory.mktemp("panic"), deadline_s=120)


def test_a_kernel_that_panics_ends_with_its_words(panicked: tuple[GuestFailed, float]) -> None:
    error, _ = panicked
    assert "kernel panicked: VFS: Unable to mount root" in str(error)
    assert "\n" not in str(error) and error.console


def test_a_guest_that_never_ends_is_ended(
    panicked: tuple[GuestFailed, float], tmp_path: Path
) -> None:
    enough_s = 2 + 1.5 * panicked[1]  # to boot, on a machine as busy as this one
    init = cpio.file("init", init_that_hangs(tmp_path), 0o755)
    error, took_s = boot(tmp_path, init, deadline_s=enough_s)
    assert f"did not end within {enough_s:.0f} s" in str(error)
    assert error.console[-1] == "init: hangs"
    assert took_s < enough_s + 5
