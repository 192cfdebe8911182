"""What the sensor's tests share: a sensor that watches, and the events of this process alone."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest

from tests.bpf.conftest import UNAVAILABLE, Collector, Start, refused

INTERVAL_MS = 100
#: ways of attaching that a kernel may refuse as a whole; then the rest of the ladder is what counts
RUNGS = ("lsm", "fentry", "kprobe", "tracepoint")

DUMP_DEADLINE_S = 60

Event = dict[str, Any]


class Watch:
    """A running sensor, and after ``finish()`` what it said."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self.closing: dict[str, Any] = {}

    def finish(self) -> list[Event]:
        """Waits for two more dumps, of which the second begins after now; all dumped events."""
        wanted = len(self.collector.records()) + 2
        deadline = time.monotonic() + DUMP_DEADLINE_S
        while self.collector.dump_path.read_bytes().count(b"\n") < wanted:
            assert time.monotonic() < deadline, "the sensor no longer dumps"
            time.sleep(INTERVAL_MS / 4000)
        self.closing = self.collector.finish()
        return [event for record in self.collector.records() for event in record["events"]]

    def of(self, kind: str, tgid: int | None = None) -> list[Event]:
        """The events of one kind by one process, this one if no other is named."""
        process = os.getpid() if tgid is None else tgid
        return [e for e in self.finish() if e["kind"] == kind and e["tgid"] == process]


def watch(start: Start, hooks: str, *options: str, rung: str | None = None) -> Watch:
    """A sensor on these hooks; skips where the kernel refuses the rung that was asked for."""
    words = ["--dump", "--hooks", hooks, *options, *(["--rung", rung] if rung else [])]
    collector = start("sensor", INTERVAL_MS, *words, wait=False)
    try:
        collector.wait_ready()
    except pytest.fail.Exception:
        if rung in (None, "tracepoint") or collector.process.wait() != UNAVAILABLE:
            raise
        line = collector.stderr
        assert line.count("\n") == 1 and f"no way to attach here ({rung}: " in line, line
        pytest.skip(f"unavailable: {line.strip()}")
    return Watch(collector)


def need_hook(start: Start, hook: str, witness: bool) -> Watch:
    """The same for a hook that some kernels do not have; ``witness`` says that this one does."""
    collector = start("sensor", INTERVAL_MS, "--dump", "--hooks", hook, wait=False)
    try:
        collector.wait_ready()
    except pytest.fail.Exception:
        line = collector.stderr
        assert collector.process.wait() == UNAVAILABLE and line.count("\n") == 1, line
        assert f"hook {hook}: no way to attach here" in line
        if witness:
            refused("sensor", line)
        pytest.skip(f"unavailable: {line.strip()}")
    return Watch(collector)


def maps_of(process_id: int) -> int:
    """How many maps a process holds."""
    count = 0
    for fd in os.listdir(f"/proc/{process_id}/fdinfo"):
        with suppress(FileNotFoundError), open(f"/proc/{process_id}/fdinfo/{fd}") as file:
            count += "\nmap_id:" in file.read()
    return count


@contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a TCP connection over loopback."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        client = socket.create_connection(server.getsockname())
        peer, _ = server.accept()
        with client, peer:
            yield client, peer
