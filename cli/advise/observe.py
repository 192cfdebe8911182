"""Reads this machine through /proc: processes, threads, switch rate, and how many tasks run.

Nothing is attached. The rate is the difference of `ctxt` in /proc/stat. A task ran between two
looks if its /proc/<pid>/task/<tid>/schedstat changed (CPU time in ns, time waiting, times it was
switched to), if it went away, or if it was made in between: `processes` of /proc/stat counts forks.
Where the kernel keeps no schedstat, the switch counts of `status` are compared instead.

Only few looks are taken, at the ends of windows as long as the intervals that are asked for: on a
machine with thousands of processes one look takes a good part of 0.1 s.
"""

from __future__ import annotations

import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cli.problem import Problem

PROC = "/proc"
#: How often an interval is looked at, at most.
WINDOWS = 4
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD
GIVE = "give --processes and --switches"


@dataclass
class Look:
    """One look. tasks: counters by task id; at: s, monotonic, of reading the switches."""

    at: float
    switches: int
    forks: int
    processes: int
    tasks: dict[str, bytes] = field(repr=False)


@dataclass(frozen=True)
class Seen:
    """What was observed. threads: of the whole machine; active: tasks that ran in an interval (s),
    the mean over its windows, None where the machine was not watched that long.

    own_share: share of a core that the reading took; own_switches: its own switches a second, which
    are part of the rate.
    """

    seconds: float
    processes: float
    threads: float
    switches_per_s: float
    slowest: float
    fastest: float
    active: dict[float, float | None]
    longest: float  # most tasks that ran in one window
    own_share: float
    own_switches: float


def machine(
    seconds: float,
    intervals: Iterable[float],
    tell: Callable[[float], None] = lambda elapsed: None,
    proc: str = PROC,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Seen:
    """Watch for so many seconds. tell: called once a second, with those that have passed.

    Raises Problem where /proc does not show the whole machine.
    """
    wanted = sorted(set(intervals))
    whole(proc)
    counters = _counters(proc)
    cpu, own, began = time.process_time(), _own_switches(), clock()
    looks: list[Look] = []
    for at in schedule(seconds, wanted):
        while (left := began + at - clock()) > 0:
            sleep(min(left, 1.0 - (clock() - began) % 1.0 + 1e-3))
            tell(clock() - began)
        looks.append(_look(proc, counters, clock))
    elapsed = max(clock() - began, 1e-9)
    active = {interval: _active(looks, interval) for interval in wanted}
    spans = [(a, b) for a, b in zip(looks, looks[1:]) if b.at - a.at > 0.5] or [
        (looks[0], looks[-1])
    ]
    rates = [_rate(a, b) for a, b in spans]
    return Seen(
        elapsed,
        sum(look.processes for look in looks) / len(looks),
        sum(len(look.tasks) for look in looks) / len(looks),
        _rate(looks[0], looks[-1]),
        min(rates),
        max(rates),
        active,
        float(_ran(looks[0], looks[-1])),
        (time.process_time() - cpu) / elapsed,
        (_own_switches() - own) / elapsed,
    )


def schedule(seconds: float, intervals: Iterable[float]) -> list[float]:
    """When to look, in s from the start: up to WINDOWS windows of each interval, and the ends."""
    times = {0.0, float(seconds)}
    for interval in intervals:
        fitting = min(WINDOWS, int(seconds / interval + 1e-9))
        times |= (
            {round(number * interval, 9) for number in range(fitting + 1)} if fitting else set()
        )
    return sorted(times)


def whole(proc: str = PROC) -> None:
    """Raise Problem unless /proc shows every process of the machine that /proc/stat counts for."""
    if proc == PROC and not sys.platform.startswith("linux"):
        raise Problem(f"reading this machine takes Linux: {GIVE} of a machine that you know")
    fields = _stat_fields(f"{proc}/2/stat")
    if not fields or not int(fields[6]) & _KERNEL_THREAD:
        raise Problem(
            "this /proc shows a container's processes (pid 2 is no kernel thread), but the context"
            f" switches of its whole host: run it on the host, or {GIVE} of one machine"
        )
    if os.geteuid() != 0 and _hides(proc):
        raise Problem(
            "/proc is mounted with hidepid, which hides other users' processes: run it as root, or"
            f" {GIVE}"
        )


def _stat_fields(path: str) -> list[str]:
    """Fields of a stat file from the state on: names may hold blanks and parentheses."""
    try:
        return _read(path).decode("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return []


def _hides(proc: str) -> bool:
    try:
        mounts = _read(f"{proc}/self/mountinfo").decode("utf-8", "replace")
    except OSError:
        return False
    for line in mounts.splitlines():
        mount, _, options = line.partition(" - ")
        if mount.split()[4:5] == [PROC]:
            hidden = re.search(r"\bhidepid=(\w+)", options + "," + mount)
            if hidden and hidden[1] not in ("0", "off"):
                return True
    return False


def _counters(proc: str) -> str:
    """The file that tells whether a task ran: schedstat where the kernel keeps it."""
    try:
        kept = any(int(word) for word in _read(f"{proc}/self/schedstat").split())
    except (OSError, ValueError):
        kept = False
    return "schedstat" if kept else "status"


def _look(proc: str, counters: str, clock: Callable[[], float]) -> Look:
    at = clock()
    stat = _read(f"{proc}/stat")
    switches = re.search(rb"^ctxt (\d+)$", stat, re.M)
    forks = re.search(rb"^processes (\d+)$", stat, re.M)
    if not switches or not forks:
        raise Problem(f"{proc}/stat counts no context switches: {GIVE}")
    own = os.readlink(f"{proc}/self")
    processes, tasks = 0, {}
    for name in os.listdir(proc):
        if not name.isdigit() or name == own:
            continue
        try:
            found = _tasks(f"{proc}/{name}", name, counters)
        except OSError:  # it has gone
            continue
        processes += 1
        tasks.update(found)
    return Look(at, int(switches[1]), int(forks[1]), processes, tasks)


def _tasks(folder: str, name: str, counters: str) -> dict[str, bytes]:
    """Counters of each of a process's tasks. Raises OSError once it has gone."""
    if os.stat(f"{folder}/task").st_nlink == 3:  # one thread: spares listing it
        return {name: _counts(f"{folder}/{counters}")}
    found = {}
    for tid in os.listdir(f"{folder}/task"):
        try:
            found[tid] = _counts(f"{folder}/task/{tid}/{counters}")
        except OSError:
            continue
    return found


def _counts(path: str) -> bytes:
    text = _read(path)
    if path.endswith("status"):
        return b" ".join(line for line in text.splitlines() if b"ctxt_switches" in line)
    return text


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        parts = [os.read(descriptor, 1 << 16)]
        while parts[-1]:
            if len(parts) == 1 and len(parts[0]) < 4096:  # /proc gives small files in one piece
                break
            parts.append(os.read(descriptor, 1 << 16))
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _rate(first: Look, last: Look) -> float:
    return (last.switches - first.switches) / max(last.at - first.at, 1e-9)


def _ran(first: Look, last: Look) -> int:
    """Tasks that ran between two looks: changed, gone, or made since."""
    known = first.tasks.items()
    return sum(last.tasks.get(tid) != counts for tid, counts in known) + last.forks - first.forks


def _active(looks: list[Look], interval: float) -> float | None:
    """Mean number of tasks that ran in windows of about an interval."""
    counted = []
    for number, first in enumerate(looks):
        for last in looks[number + 1 :]:
            if abs(last.at - first.at - interval) <= 0.2 * interval:
                counted.append(_ran(first, last))
                break
    return sum(counted) / len(counted) if counted else None


def _own_switches() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_nvcsw + used.ru_nivcsw
