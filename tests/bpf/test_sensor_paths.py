"""The sensor's path set means the same in the kernel's trie, in the reader, and in these words."""

from __future__ import annotations

import os
import random
from contextlib import suppress
from pathlib import Path

import pytest

from tests.bpf.conftest import Start, needs_root
from tests.bpf.sensing import RUNGS, Event, watch

FILTERS = ("kernel", "user")
BUFFERS = ("ring", "perf")
ROOM = 255  # bytes of a path that an event has room for

pytestmark = needs_root


def inside(path: bytes, entries: list[str]) -> bool:
    """The model: below an entry that ends with a slash, or exactly the entry."""
    return any(
        path.startswith(entry.encode()) if entry.endswith("/") else path == entry.encode()
        for entry in entries
    )


def attempt(path: bytes) -> None:
    with suppress(OSError):
        os.close(os.open(path, os.O_RDONLY))


def own(events: list[Event]) -> list[str]:
    return [e["path"] for e in events if e["kind"] == "file_open" and e["tgid"] == os.getpid()]


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("buffer", BUFFERS)
@pytest.mark.parametrize("where", FILTERS)
def test_inside_and_outside(start: Start, where: str, buffer: str, rung: str) -> None:
    seen = watch(start, "file_open", "--filter", where, "--buffer", buffer, rung=rung)
    for _ in range(23):
        attempt(b"/etc/passwd")
        attempt(b"/dev/null")
    assert own(seen.finish()) == ["/etc/passwd"] * 23
    dropped = seen.closing["kernel_filtered"], seen.closing["filtered"]
    assert dropped[where == "user"] >= 23 and dropped[where == "kernel"] == 0
    assert seen.closing["lost"] == 0


@pytest.mark.parametrize("rung", RUNGS)
def test_flags_links_and_relative_names(start: Start, tmp_path: Path, rung: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "file").touch()
    (inner / "link").symlink_to("file")
    seen = watch(start, "file_open", "--paths", f"{inner}/", rung=rung)
    os.close(os.open(inner / "file", os.O_WRONLY | os.O_APPEND))
    os.close(os.open(inner / "link", os.O_RDONLY))
    folder = os.open(inner, os.O_RDONLY)  # the folder is not below itself
    os.close(os.open("file", os.O_RDONLY, dir_fd=folder))
    os.close(folder)
    events = [e for e in seen.finish() if e["tgid"] == os.getpid()]
    if seen.closing["attached"]["file_open"] == "tracepoint":  # what was asked for, as written
        assert own(events) == [f"{inner}/file", f"{inner}/link"]
    else:  # what was opened
        assert own(events) == [f"{inner}/file"] * 3
    assert events[0]["flags"] & 0o2001 == 0o2001


def test_random_sets_and_paths_agree_with_the_model(start: Start) -> None:
    """Over few letters, so that entries are often beginnings of others and of the paths."""
    rng = random.Random(7)

    def path(least: int) -> str:
        return "/" + "".join(rng.choices("ab/", k=rng.randint(least, 7)))

    entries = list({path(1) for _ in range(60)})
    attempts = [path(0).encode() for _ in range(600)]
    attempts += [entry.encode() + tail for entry in entries[:20] for tail in (b"", b"x", b"/x")]
    expected = [p.decode() for p in attempts if inside(p, entries)]
    assert 100 < len(expected) < len(attempts) - 100
    for where in FILTERS:
        seen = watch(
            start, "file_open", "--filter", where, "--paths", ",".join(entries), rung="tracepoint"
        )
        for one in attempts:
            attempt(one)
        assert own(seen.finish()) == expected, where


@pytest.mark.parametrize("where", FILTERS)
def test_paths_longer_than_their_room_are_cut_and_marked(start: Start, where: str) -> None:
    entry = "/" + "e" * 200 + "/"
    longest = "/" + "l" * 253
    tails = [b"f" * 53, b"f" * 54, b"f" * 500, b"g" * 2000]  # in all 255, 256, ... bytes
    options = ("--filter", where, "--paths", f"{entry},{longest}")
    seen = watch(start, "file_open", *options, rung="tracepoint")
    for tail in tails:
        attempt(entry.encode() + tail)
    for extra in (b"", b"x", b"xyz"):
        attempt(longest.encode() + extra)
    events = [e for e in seen.finish() if e["tgid"] == os.getpid()]
    assert own(events) == [(entry + tail.decode())[:ROOM] for tail in tails] + [longest]
    marked = ["truncated" in event for event in events]
    assert marked == [False if len(tail) < 53 else True for tail in tails] + [False]


@pytest.mark.parametrize("where", FILTERS)
def test_further_entries_change_nothing(start: Start, where: str) -> None:
    seen = watch(start, "file_open", "--filter", where, "--more-paths", "4096")
    for _ in range(5):
        attempt(b"/etc/passwd")
        attempt(b"/dev/null")
    assert own(seen.finish()) == ["/etc/passwd"] * 5


def test_a_name_that_is_not_text_survives(start: Start, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    name = os.fsencode(inner) + b'/\xff\xfe "\\\x01\n'
    seen = watch(start, "file_open", "--paths", f"{inner}/")
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600))
    assert own(seen.finish()) == [name.decode("latin-1")]
