"""Programs end with whoever started them, and what they started too."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from vm import command
from vm.problem import Problem

# a program that will not be told to end, and one that it started
STUBBORN = 'trap "" TERM; sh -c \'trap "" TERM; echo $$ >two; sleep 60\' & echo $$ >one; wait; wait'


def pids(folder: Path) -> list[int]:
    deadline = time.monotonic() + 20
    while True:
        held = [path.read_text() for path in (folder / "one", folder / "two") if path.exists()]
        if len(held) == 2 and all(held):
            return [int(text) for text in held]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_us(tmp_path: Path, number: int) -> None:
    def start() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        command.run(["sh", "-c", STUBBORN], tmp_path / "log", folder=tmp_path)

    ours = multiprocessing.get_context("fork").Process(target=start)
    ours.start()
    started = pids(tmp_path)
    assert ours.pid and not [pid for pid in started if ended(pid)]
    os.kill(ours.pid, number)
    ours.join(20)
    deadline = time.monotonic() + 20
    while [pid for pid in started if not ended(pid)]:
        assert time.monotonic() < deadline, "left running"
        time.sleep(0.02)


def test_status_output_and_environment_are_the_programs_own(tmp_path: Path) -> None:
    log = tmp_path / "log"
    words = ["/bin/sh", "-c", 'echo "$WHAT $1"; cat; exit 7', "sh", "a b  c"]
    assert command.run(words, log, {"WHAT": "it's"}) == 7
    assert command.run(["/no/such/program"], log) == 127
    assert log.read_text().startswith("it's a b  c\n")


def test_a_missing_program_is_named_with_its_package() -> None:
    assert command.need("sh", "dash").endswith("/sh")
    with pytest.raises(Problem, match="no qemu-nothing here: apt-get install .* qemu-no"):
        command.need("qemu-nothing", "qemu-no")
