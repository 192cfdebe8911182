"""The events that a sensor looks at are made as often as was asked, by the kernel's own count."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.bpf import bpf_syscall
from tests.bpf.conftest import BUILD, UNAVAILABLE, Start, needs_root

EVENTS = {
    *("open_inside", "open_outside", "files", "unlink", "rename", "chmod", "mount"),
    *("execve", "execveat", "programs", "fork", "setuid", "ptrace", "kill", "bpf", "module"),
    *("connect", "send", "network", "socket", "bind"),
}
#: What a kernel may lack, and the file that it then has not.
MAY_LACK = {"module": Path("/proc/modules")}


def load(*words: object, asked: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    program = [str(BUILD / "sensor_load"), *map(str, words)]
    return subprocess.run(program, input=asked, capture_output=True, timeout=60)


def said(*words: object) -> dict[str, Any]:
    done = load(*words)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_without_an_event_it_lists_them_all(build: Path) -> None:
    for words in ((), ("nonsense", "--events", "3")):
        done = load(*words)
        assert done.returncode == 2
        first, *lines = done.stderr.decode().splitlines()
        assert "nonsense" in first if words else "missing" in first
        assert {line.split()[0] for line in lines} == EVENTS


@pytest.mark.parametrize(
    "words", [("kill",), ("kill", "--events", "0"), ("kill", "--events"), ("kill", "--event", "1")]
)
def test_bad_arguments_are_one_line(build: Path, words: tuple[str, ...]) -> None:
    done = load(*words)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and not done.stdout


@needs_root
@pytest.mark.parametrize("event", sorted(EVENTS))
def test_every_event_can_be_made_in_turns_and_leaves_nothing(build: Path, event: str) -> None:
    mounts, folder = Path("/proc/self/mountinfo").read_bytes(), set(os.listdir("/tmp"))
    done = load(event, "--events", 20, "--turns", 2, asked=b"\n\n")
    if done.returncode == UNAVAILABLE and event in MAY_LACK:
        assert done.stderr.count(b"\n") == 1 and not done.stdout
        assert not MAY_LACK[event].exists(), done.stderr
        pytest.skip(f"this kernel lacks it: {done.stderr.decode().strip()}")
    assert done.returncode == 0, done.stderr
    turns = [json.loads(line) for line in done.stdout.splitlines()]
    assert [turn["events"] for turn in turns] == [20, 20]
    assert all(0 < turn["work_ns"] for turn in turns)
    assert Path("/proc/self/mountinfo").read_bytes() == mounts
    assert not {"one", "other"} & (set(os.listdir("/tmp")) - folder)


@needs_root
@pytest.mark.parametrize(
    ("arm", "program", "each"),
    [
        ("empty_exec", "on_exec", {"execve": 1, "execveat": 1, "programs": 1}),
        (
            "empty_open",
            "on_open",
            {"open_inside": 1, "open_outside": 1, "files": 20, "programs": 8},
        ),
        ("empty_send", "on_send", {"send": 1, "network": 10}),
    ],
)
def test_an_event_is_what_it_says(
    build: Path, start: Start, arm: str, program: str, each: dict[str, int]
) -> None:
    count = 300
    start(arm, 600_000)
    (attached,) = bpf_syscall.programs_named(program)
    statistics = bpf_syscall.enable_stats()
    try:
        for event, runs_of_one in each.items():
            before = bpf_syscall.program_info(attached).run_count
            assert said(event, "--events", count)["events"] == count
            runs = bpf_syscall.program_info(attached).run_count - before
            # others on this machine execute, open and send too
            assert runs_of_one * count <= runs < 1.5 * runs_of_one * count + 500, event
    finally:
        os.close(statistics)


@needs_root
def test_time_of_what_it_started_is_work_too(build: Path) -> None:
    forked = said("fork", "--events", 200)
    assert forked["work_ns"] > 200 * 20_000, "a process takes more than 20 µs to be made and to end"
    paced = said("kill", "--events", 5, "--pause-us", 20_000)
    assert paced["wall_ns"] > 100_000_000 and paced["work_ns"] < 50_000_000


@needs_root
def test_a_message_is_as_long_as_was_asked(build: Path) -> None:
    def bytes_received() -> int:
        lines = Path("/proc/net/netstat").read_text().splitlines()
        names, values = next(
            (line.split(), lines[n + 1].split())
            for n, line in enumerate(lines)
            if line.startswith("IpExt:")
        )
        return int(values[names.index("InOctets")])

    before = bytes_received()
    said("send", "--events", 100, "--size", 10_000)
    grown = bytes_received() - before
    assert 101 * 10_000 <= grown < 2 * 101 * 10_000
