"""Builds the collectors, starts them as the runner does, and says aloud what cannot run here.

A collector that answers ``unavailable`` (exit 3) fails its test, unless a second witness agrees:
the doctor, which probes on its own, finds one of its needs unmet here, or
PROBETAX_EXPECT_UNAVAILABLE (needs separated by commas) names one. Then the test is skipped with the
kernel's reason, which stands in the summary.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

from experiment import doctor

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "bpf" / "build"
SYSTEM_PYTHON = "/usr/bin/python3"
EXPECT = "PROBETAX_EXPECT_UNAVAILABLE"
READY_DEADLINE_S = 60.0
UNAVAILABLE = 3

ALL = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(ROOT.glob("bpf/*/*.yaml"))}
#: The project's own collectors, which keep to its protocol; others are measured as they are.
ARMS: dict[str, dict[str, Any]] = {n: about for n, about in ALL.items() if about["ready"] == "fd3"}

# What some collectors need mounted, in a mount namespace that dies with the collector.
_MOUNTS = """
if ! mountpoint -q /sys/kernel/tracing; then mount -t tracefs tracefs /sys/kernel/tracing; fi
if [ ! -e "/lib/modules/$(uname -r)/build" ]; then
  build=$(ls -d /usr/src/linux-headers-*-"$1" | tail -n 1)
  if [ -n "$build" ]; then
    mount -t tmpfs tmpfs /lib/modules
    mkdir "/lib/modules/$(uname -r)"
    ln -s "$build" "/lib/modules/$(uname -r)/build"
    ln -s "${build%-"$1"}-common" "/lib/modules/$(uname -r)/source"
  fi
fi
shift
exec "$@"
"""
_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}


def command_of(name: str, interval_ms: int) -> list[str]:
    """The arm's own command, placeholders filled; in private mounts where it needs any."""
    arm = ARMS[name]
    command = [
        word.format(
            build=BUILD,
            python=sys.executable,
            system_python=SYSTEM_PYTHON,
            root=ROOT,
            interval_ms=interval_ms,
        )
        for word in arm["command"]
    ]
    if "headers" in arm["needs"] and os.geteuid() == 0:
        private = ["unshare", "--mount", "--propagation", "private", "bash", "-c", _MOUNTS, "bash"]
        command = [*private, _ARCHITECTURE[platform.machine()], *command]
    return command


_reported: list[str] = []

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="unavailable: needs root (mounts, namespaces, other users)"
)


@functools.cache
def unmet() -> set[str]:
    """Needs that the doctor finds impossible on this machine."""
    possible = doctor.report({})["arms_possible"]
    return {need for need, answer in possible.items() if not answer["possible"]}


def refused(name: str, reason: str) -> NoReturn:
    """Fails, or skips where a second witness says that this need is not met here."""
    expected = set(os.environ.get(EXPECT, "").split(",")) | unmet()
    line = f"unavailable: {reason.strip()}"
    if expected & set(ARMS[name]["needs"]):
        if line not in _reported:
            _reported.append(line)
        pytest.skip(line)
    pytest.fail(f"{line} (set {EXPECT} to one of {ARMS[name]['needs']} if that is right here)")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What could not run on this kernel, even with -q."""
    if _reported:
        terminalreporter.section("collectors that this kernel refuses")
        for line in _reported:
            terminalreporter.write_line(line)


@dataclass
class Collector:
    """A running collector, or what is left of it once stopped."""

    name: str
    process: subprocess.Popen[bytes]
    ready_fd: int
    dump_path: Path
    stderr_path: Path
    closing: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    ready_ns: int = 0

    def wait_ready(self) -> None:
        """Returns once it is attached; reports it as refused on exit 3."""
        deadline = time.monotonic() + READY_DEADLINE_S
        while "ready\n" not in self.text:
            if select.select([self.ready_fd], [], [], 0.05)[0]:
                self.text += os.read(self.ready_fd, 65536).decode()
            elif self.process.poll() is not None:
                if self.process.returncode == UNAVAILABLE:
                    refused(self.name, self.stderr)
                pytest.fail(f"{self.name} ended with {self.process.returncode}: {self.stderr}")
            assert time.monotonic() < deadline, f"{self.name} did not become ready"
        self.ready_ns = time.monotonic_ns()

    def finish(self, sig: int | None = signal.SIGTERM) -> dict[str, Any]:
        """Ends it (None: it ends by itself) and returns the closing line."""
        if sig is not None:
            self.process.send_signal(sig)
        deadline = time.monotonic() + 60
        while self.process.poll() is None or select.select([self.ready_fd], [], [], 0)[0]:
            assert time.monotonic() < deadline, f"{self.name} did not end"
            if select.select([self.ready_fd], [], [], 0.05)[0]:
                self.text += os.read(self.ready_fd, 1 << 20).decode()
        assert self.process.returncode == 0, (self.process.returncode, self.stderr)
        lines = self.text.splitlines()
        assert lines[0] == "ready" and len(lines) == 2, lines
        self.closing = json.loads(lines[1])
        return self.closing

    @property
    def stderr(self) -> str:
        return self.stderr_path.read_text()

    def records(self) -> list[dict[str, Any]]:
        """The dumped scrapes so far."""
        return [json.loads(line) for line in self.dump_path.read_text().splitlines()]

    def cpu_ns(self, pid: int) -> int:
        """All CPU time it dumped for that process id."""
        return sum(ns for r in self.records() for p, _, ns in r["processes"] if p == pid)


Start = Callable[..., Collector]


@pytest.fixture(scope="session")
def build() -> Path:
    """bpf/build, up to date."""
    subprocess.run(["make", "--silent", "-j2", "-C", str(ROOT / "bpf")], check=True)
    return BUILD


def _start(folder: Path, name: str, interval_ms: int, options: tuple[str, ...]) -> Collector:
    number = len(list(folder.iterdir()))
    fifo = folder / f"{number}-{name}.ready"
    os.mkfifo(fifo)
    # read-write, so that opening does not wait and end-of-file never comes early
    ready_fd = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    dump, stderr = fifo.with_suffix(".dump"), fifo.with_suffix(".stderr")
    process = subprocess.Popen(
        ["bash", "-c", 'exec "${@:3}" 3>"$1" 4>"$2"', "bash", str(fifo), str(dump)]
        + [*command_of(name, interval_ms), *options],
        stderr=stderr.open("wb"),
    )
    return Collector(name, process, ready_fd, dump, stderr)


@pytest.fixture(scope="module")
def start_in_module(build: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Like ``start``, for collectors that several tests of a module share."""
    yield from _starter(tmp_path_factory.mktemp("collectors"))


@pytest.fixture
def start(build: Path, tmp_path: Path) -> Iterator[Start]:
    """start(name, interval_ms, *options) -> Collector, attached. Killed at the end if need be."""
    yield from _starter(tmp_path)


def _starter(folder: Path) -> Iterator[Start]:
    running: list[Collector] = []

    def start(name: str, interval_ms: int, *options: str, wait: bool = True) -> Collector:
        collector = _start(folder, name, interval_ms, options)
        running.append(collector)
        if wait:
            collector.wait_ready()
        return collector

    try:
        yield start
    finally:
        for collector in running:
            if collector.process.poll() is None:
                collector.process.kill()
            collector.process.wait()
            os.close(collector.ready_fd)


@pytest.fixture
def workload(build: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """workload("spin", "--cpu-ms", "100") -> a running process; killed at the end if need be."""
    running: list[subprocess.Popen[str]] = []

    def run(name: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [str(BUILD / name), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()
