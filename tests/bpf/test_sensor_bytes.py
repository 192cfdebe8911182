"""The sensor's bytes over TCP are those that were sent and read, to the byte, in each way."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import time
from contextlib import ExitStack, suppress

import pytest

from tests.bpf.conftest import Start, needs_root
from tests.bpf.sensing import Watch, connected, watch

HOOKS = "tcp_sendmsg,tcp_cleanup_rbuf"
MODES = ("event", "aggregate")
BUFFERS = ("ring", "perf")

libc = ctypes.CDLL(None, use_errno=True)
pytestmark = needs_root


def sums(seen: Watch) -> tuple[int, int, int, int]:
    """Bytes and messages of this process: sent, received, sends, receives."""
    own = [e for e in seen.finish() if e["tgid"] == os.getpid()]
    sends = [e["bytes"] for e in own if e["kind"] == "tcp_sendmsg"]
    receives = [e["bytes"] for e in own if e["kind"] == "tcp_cleanup_rbuf"]
    flows = [e for e in own if e["kind"] == "flow"]
    assert seen.closing["lost"] == 0
    return (
        sum(sends) + sum(e["sent"] for e in flows),
        sum(receives) + sum(e["received"] for e in flows),
        len(sends) + sum(e["sends"] for e in flows),
        len(receives) + sum(e["receives"] for e in flows),
    )


@pytest.mark.parametrize("buffer", BUFFERS)
@pytest.mark.parametrize("bytes_mode", MODES)
def test_the_sum_is_what_was_sent_and_read(start: Start, bytes_mode: str, buffer: str) -> None:
    seen = watch(start, HOOKS, "--bytes", bytes_mode, "--buffer", buffer)
    sent = received = sends = receives = 0
    for size in (1, 100, 1461, 65_536, 200_000):
        with connected() as (client, peer):
            for _ in range(7):
                sent += client.send(b"x" * size)
                sends += 1
                received += len(peer.recv(1 << 20))
                receives += 1
            time.sleep(0.03)  # some are closed within a tick and some after it
    assert sums(seen) == (sent, received, sends, receives)


# the security framework has no function that knows the bytes; a kprobe knows those asked for
@pytest.mark.parametrize("rung", ["fentry", "tracepoint"])
@pytest.mark.parametrize("bytes_mode", MODES)
def test_partial_sends_errors_and_looks(start: Start, bytes_mode: str, rung: str) -> None:
    seen = watch(start, HOOKS, "--bytes", bytes_mode, rung=rung)
    sent = received = 0
    with connected() as (client, peer):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                sent += client.send(b"x" * 100_000)
        assert sent % 100_000, "the last one was cut short"
        peer.recv(1000, socket.MSG_PEEK)
        while received < sent:
            received += len(peer.recv(3000))
        client.setblocking(True)
        client.send(b"y" * 10)
        time.sleep(0.02)
        client.send(b"z" * 10)
        sent += 20
        peer.settimeout(5)
        received += len(peer.recv(20, socket.MSG_WAITALL))
        peer.shutdown(socket.SHUT_RD)
        peer.close()
        for _ in range(3):
            with suppress(OSError):
                sent += client.send(b"gone")
                time.sleep(0.02)
        with pytest.raises(OSError) as refused:
            client.send(b"gone")
        assert refused.value.errno in (errno.EPIPE, errno.ECONNRESET)
    assert sums(seen)[:2] == (sent, received)


@pytest.mark.parametrize("bytes_mode", MODES)
def test_what_is_read_after_the_end_counts_too(start: Start, bytes_mode: str) -> None:
    seen = watch(start, HOOKS, "--bytes", bytes_mode)
    with connected() as (client, peer):
        client.send(b"x" * 5000)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()  # by a reset: the other side is closed with all of it still unread
        time.sleep(0.05)
        received = 0
        with suppress(ConnectionResetError):
            while part := peer.recv(2000):
                received += len(part)
    assert sums(seen)[:2] == (5000, received)


def test_other_sockets_do_not_count(start: Start) -> None:
    seen = watch(start, HOOKS, "--bytes", "event")
    left, right = socket.socketpair()
    left.send(b"x" * 100)
    right.recv(100)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("127.0.0.1", 0))
        datagrams.sendto(b"x" * 100, datagrams.getsockname())
        datagrams.recv(100)
    left.close()
    right.close()
    assert sums(seen) == (0, 0, 0, 0)


def test_a_chatty_socket_is_one_event_a_tick_and_one_at_its_end(start: Start) -> None:
    seen = watch(start, HOOKS, "--bytes", "aggregate")
    with connected() as (client, peer):
        ports = client.getsockname()[1], peer.getsockname()[1]
        for _ in range(4):
            for _ in range(500):
                client.send(b"x")
                peer.recv(1)
            time.sleep(0.11)
    flows = seen.of("flow")
    ends = [(e["local_port"], e["port"]) for e in flows]
    assert set(ends) == {ports, ports[::-1]} and len(flows) < 30
    assert sum(e["sent"] for e in flows) == sum(e["received"] for e in flows) == 2000
    assert sum(e["sends"] for e in flows) == 2000
    assert {e["address"] for e in flows} == {"127.0.0.1"}


def test_a_sum_of_a_socket_that_closes_between_ticks_says_that_it_ended(start: Start) -> None:
    seen = watch(start, HOOKS, "--bytes", "aggregate")
    for _ in range(40):
        with connected() as (client, peer):
            client.send(b"x" * 10)
            peer.recv(10)
    flows = seen.of("flow")
    assert sum(e["sent"] for e in flows) == sum(e["received"] for e in flows) == 400
    assert sum(e["ended"] for e in flows) >= 60


def test_a_socket_without_room_for_its_sum_is_a_counted_loss(start: Start) -> None:
    seen = watch(start, HOOKS, "--bytes", "aggregate", "--sockets", "2")
    with connected() as first, connected() as second:
        for client, peer in (first, second):
            client.send(b"x" * 10)
            peer.recv(10)
        seen.finish()
    assert seen.closing["lost"] >= 2


def test_a_socket_that_is_connected_anew_has_a_new_peer(start: Start) -> None:
    seen = watch(start, HOOKS, "--bytes", "aggregate")
    ports = []
    with socket.socket() as client:
        for _ in range(3):
            with socket.create_server(("127.0.0.1", 0)) as server:
                ports.append(server.getsockname()[1])
                client.connect(server.getsockname())
                client.send(b"x" * 10)
                server.accept()[0].close()
            unspecified = struct.pack("H14x", socket.AF_UNSPEC)
            assert libc.connect(client.fileno(), unspecified, 16) == 0
    flows = [e for e in seen.of("flow") if e["sent"]]
    assert [e["port"] for e in flows if e["port"] in ports] == ports


@pytest.mark.parametrize("buffer", BUFFERS)
def test_sums_that_find_no_room_wait(start: Start, buffer: str) -> None:
    room = ("--buffer-kb", "8", "--buffer", buffer, "--wakeup", "tick")
    seen = watch(start, HOOKS, *room)
    with ExitStack() as stack:
        pairs = [stack.enter_context(connected()) for _ in range(100)]
        for client, peer in pairs:
            client.send(b"x" * 10)
            peer.recv(10)
        assert sums(seen) == (1000, 1000, 100, 100)


def test_metadata_only_loads_no_program_for_bytes(start: Start) -> None:
    seen = watch(start, "source", "--bytes", "off")
    with connected() as (client, peer):
        client.send(b"x")
        peer.recv(1)
    assert sums(seen) == (0, 0, 0, 0)
    assert not set(HOOKS.split(",")) & set(seen.closing["attached"])
