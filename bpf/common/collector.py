# SPDX-License-Identifier: MIT
"""What the collectors written in Python share: arguments, loop and protocol, as in collector.h.

A scrape happens at ``t0 + k * interval`` on CLOCK_MONOTONIC. Python 3.11 cannot sleep to an
absolute time; waiting for a signal until the deadline comes to the same, since what is left is
computed from the clock each time, and no signal can slip in between.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Mapping
from typing import NoReturn, Protocol, TextIO

READY_FD, DUMP_FD = 3, 4
STAMPS = 4096
EXIT_FAILED, EXIT_BAD_ARGUMENTS, EXIT_UNAVAILABLE = 1, 2, 3
ENDING = {signal.SIGTERM, signal.SIGINT}
INITIAL_PID_NAMESPACE = 0xEFFFFFFC

#: pid, start_ticks (field 22 of /proc/<pid>/stat) or None, CPU ns since the previous scrape
Fact = tuple[int, int | None, int]


class Unavailable(Exception):
    """This collector cannot run here; the text is the reason, in one line."""


class Collector(Protocol):
    """One way to read the CPU time of every process."""

    name: str

    def open(self) -> None:
        """Load and attach. Raises Unavailable."""

    def scrape(self) -> list[Fact]:
        """Read once; the facts are what the collector holds afterwards."""

    def counts(self) -> Mapping[str, int | None]:
        """lost, recursion_misses, vanished, denied; None for what cannot be known."""


def _inherited(fd: int) -> TextIO | None:
    """Only a descriptor that was handed over at start belongs to the protocol."""
    try:
        os.set_inheritable(fd, False)
        return os.fdopen(fd, "w", encoding="utf-8")
    except OSError:
        return None


def _positive(text: str) -> int:
    value = int(text, 10)
    if value < 1:
        raise ValueError
    return value


def _count(text: str) -> int:
    value = int(text, 10)
    if value < 0:
        raise ValueError
    return value


def _arguments(name: str) -> argparse.Namespace:
    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            print(f"{name}: {message}", file=sys.stderr)
            sys.exit(EXIT_BAD_ARGUMENTS)

    parser = Parser(prog=name, allow_abbrev=False)
    parser.add_argument("--interval-ms", type=_positive)
    parser.add_argument("--scrapes", type=_count)
    parser.add_argument("--dump", action="store_true")
    arguments = parser.parse_args()
    if arguments.interval_ms is None:
        parser.error("--interval-ms is missing")
    return arguments


def _wait_until(deadline_ns: int) -> bool:
    """Sleep until then; True if a signal said to end."""
    left = max(0, deadline_ns - time.monotonic_ns())
    return signal.sigtimedwait(ENDING, left / 1e9) is not None


def need_initial_pid_namespace() -> None:
    """Process ids inside BPF are those of the initial namespace: any other is an error, not a 0."""
    inode = os.stat("/proc/self/ns/pid").st_ino
    if inode != INITIAL_PID_NAMESPACE:
        raise Unavailable(
            f"this is process id namespace {inode}, not the initial one: the ids a kernel program "
            "sees would not be those in /proc; run on the host"
        )


def run(collector: Collector) -> NoReturn:
    """Be that collector until SIGTERM, SIGINT or the last scrape; ends the process."""
    ready, dump = _inherited(READY_FD), _inherited(DUMP_FD)
    arguments = _arguments(collector.name)
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        collector.open()
    except Unavailable as reason:
        print(f"{collector.name}: {' '.join(str(reason).split())}", file=sys.stderr)
        sys.exit(EXIT_UNAVAILABLE)
    _loop(collector, arguments, ready, dump)
    sys.exit(0)


def _loop(
    collector: Collector,
    arguments: argparse.Namespace,
    ready: TextIO | None,
    dump: TextIO | None,
) -> None:
    interval_ns = arguments.interval_ms * 1_000_000
    stamps: deque[tuple[int, int]] = deque(maxlen=STAMPS)
    scrapes = multiple = late = 0
    previous = time.monotonic_ns()
    facts = collector.scrape()
    start = time.monotonic_ns()
    if ready:
        print("ready", file=ready, flush=True)
    while scrapes != arguments.scrapes:
        following = max(multiple + 1, -(-(time.monotonic_ns() - start) // interval_ns))
        late += following - multiple - 1
        if _wait_until(start + following * interval_ns):
            break
        multiple = following
        at = time.monotonic_ns()
        facts = collector.scrape()
        scrapes += 1
        stamps.append((at, time.process_time_ns()))
        if dump and arguments.dump:
            line = {"scrape": scrapes, "at_ns": at, "interval_ns": at - previous, "idle_ns": None}
            print(json.dumps({**line, "processes": facts}), file=dump, flush=True)
        previous = at
    if ready:
        closing = {
            "scrapes": scrapes,
            "records": len(facts),
            **dict.fromkeys(("lost", "recursion_misses", "vanished", "denied")),
            **collector.counts(),
            "late": late,
            "scrape_at_ns": [at for at, _ in stamps],
            "scrape_cpu_ns": [cpu for _, cpu in stamps],
        }
        print(json.dumps(closing), file=ready, flush=True)
