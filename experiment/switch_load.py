"""The load of context switches that a trial asks for, and what of it fell into a window.

Either so many a second, of a design point, or the scheduler pressure of so many threads that sleep
and wake up. It runs through all trials that ask for the same, in a group of its own, whose CPU
time is read as an agent's is. Its tasks keep count of their own switches, by the kernel's word, in
memory that is shared with them: reading a thousand counts at a window's edge takes microseconds
and no system call.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from experiment import generator
from experiment.accounting import Account, Group

PROGRAM = "switch_load"
STRESS_PROGRAM = "stress_threads"
#: How far the rate may be off, as a share of it.
TOLERANCE = 0.10
#: The caches and the schedulers' queues are those of the load after so long.
_SETTLE_S = 0.2
_LINE_WORDS = 8  # a task's count takes a line of so many numbers of 64 bits


class Load(NamedTuple):
    """A generator with its arguments, how many tasks it has, and what it is in words."""

    program: str
    arguments: tuple[str, ...]
    tasks: int
    what: str


def wanted(trial: Mapping[str, Any]) -> Load | None:
    """The load that a trial asks for; None: none."""
    if rate := trial.get("switches_per_s"):
        tasks = int(trial["switching_tasks"])
        what = f"{rate} context switches a second of {tasks} tasks"
        return Load(PROGRAM, ("--rate", str(rate), "--tasks", str(tasks)), tasks, what)
    if tasks := int(trial.get("stress_threads") or 0):
        what = f"{tasks} threads that sleep and wake up"
        return Load(STRESS_PROGRAM, ("--count", str(tasks)), tasks, what)
    return None


class Seen(NamedTuple):
    """What the load's tasks have done since it was started; CPU time in ns.

    ``voluntary`` switches are those that it makes to reach its rate; on a busy machine others come
    on top, when its tasks are made to wait.
    """

    switches: int
    voluntary: int
    cpu_ns: int

    def since(self, earlier: Seen) -> Seen:
        """The difference."""
        return Seen(*(now - then for now, then in zip(self, earlier, strict=True)))


class SwitchLoad:
    """Keeps the load that the trial before wanted until another is wanted."""

    def __init__(self, build: str, log: Path, account: Account) -> None:
        self._build = build
        self._log = log
        self._account = account
        self._wanted: Load | None = None
        self._pid = self._started = 0
        self._group: Group | None = None
        self._counts: memoryview | None = None

    def ensure(self, trial: Mapping[str, Any]) -> None:
        """Run the trial's load, or none where it names none. Raises Failed if it does not start."""
        load = wanted(trial)
        if load == self._wanted and (not self._pid or generator.alive(self._pid)):
            return
        self.stop()
        if load:
            self._start(load)

    def _start(self, load: Load) -> None:
        self._started += 1
        group = self._group = self._account.group(f"{load.program}-{self._started}")
        file = os.memfd_create(load.program, os.MFD_CLOEXEC)
        try:
            words = [*group.launch_prefix(), os.path.join(self._build, load.program)]
            words += [*load.arguments, "--counters", f"/proc/{os.getpid()}/fd/{file}"]
            self._pid = generator.start(words, self._log, load.what, group.join, group.started)
            group.prepare()
            shared = mmap.mmap(file, load.tasks * _LINE_WORDS * 8, prot=mmap.PROT_READ)
        except BaseException:
            self.stop()
            raise
        finally:
            os.close(file)
        self._counts = memoryview(shared).cast("Q")
        self._wanted = load
        time.sleep(_SETTLE_S)

    def read(self) -> Seen:
        """What the load has done so far; nothing where there is none."""
        if self._counts is None or self._group is None:
            return Seen(0, 0, 0)
        switches, voluntary = (sum(self._counts[n::_LINE_WORDS].tolist()) for n in (0, 1))
        return Seen(switches, voluntary, self._group.cpu_ns())

    def stop(self) -> None:
        """End it, with everything it started."""
        pid, self._pid, self._wanted = self._pid, 0, None
        group, self._group, self._counts = self._group, None, None
        if pid:
            generator.stop(pid)
        if group:
            group.destroy()


def fault(seen: Seen, window_ns: int, rate: int) -> str | None:
    """Why a window's load was not the one asked for; None if it was."""
    reached = seen.voluntary * 1e9 / window_ns
    if abs(reached - rate) <= max(TOLERANCE * rate, 3e9 / window_ns):
        return None
    return f"the load made {reached:.0f} context switches a second, {rate} were asked for"
