"""What ``perf stat`` would say of an arm: of its own processes alone, wherever else it costs.

For a whole life from the kernel's account of an ended process (wait4(2)): user and system time add
up to the scheduler's run time, in whole microseconds, while how it is divided is what clock ticks
happened to sample. For a window from ``/proc`` of the processes that live through it.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from experiment.accounting import perf
from experiment.accounting.schedstat import thread_times

Columns = dict[str, int | None]
_SWITCHES = re.compile(rb"^(?:non)?voluntary_ctxt_switches:\s*(\d+)$", re.MULTILINE)
_NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_NOTE = struct.Struct("=qq")


class Life:
    """Context manager around the start of one arm, and its end.

    ``before_exec`` is called in the arm's process just before it executes the command: what that
    process has used until then is the runner's doing, and is taken off.
    """

    def __enter__(self) -> Life:
        self._read, self._write = os.pipe2(os.O_CLOEXEC)
        self._instructions = perf.Counter(perf.HARDWARE, perf.INSTRUCTIONS)
        return self

    def __exit__(self, *error: object) -> None:
        del error
        self._instructions.close()
        for descriptor in (self._read, self._write):
            os.close(descriptor)

    def before_exec(self) -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        os.write(self._write, _NOTE.pack(_cpu_ns(usage), usage.ru_nvcsw + usage.ru_nivcsw))

    def used(self, usage: resource.struct_rusage | None) -> Columns:
        """The columns ``own_*`` of an ended arm."""
        if usage is None:
            return {}
        os.set_blocking(self._read, False)
        note = b""
        with contextlib.suppress(BlockingIOError):
            note = os.read(self._read, _NOTE.size)
        before_ns, before_switches = _NOTE.unpack(note) if len(note) == _NOTE.size else (0, 0)
        whole_ns = _cpu_ns(usage)
        clock_ns = max(0, whole_ns - before_ns)
        user_ns = round(clock_ns * usage.ru_utime * 1e9 / whole_ns) if whole_ns else 0
        return {
            "own_task_clock_ns": clock_ns,
            "own_user_ns": user_ns,
            "own_system_ns": clock_ns - user_ns,
            "own_switches": max(0, usage.ru_nvcsw + usage.ru_nivcsw - before_switches),
            "own_instructions": self._instructions.read(),
        }


def _cpu_ns(usage: resource.struct_rusage) -> int:
    return round(1e9 * (usage.ru_utime + usage.ru_stime))


class Reading(NamedTuple):
    """Of all given processes since they began."""

    task_clock_ns: int
    user_ns: int
    system_ns: int
    switches: int

    def since(self, earlier: Reading) -> Columns:
        """The columns ``own_*`` of the time between; None for what fell: a process has ended."""
        changes = (now - then for now, then in zip(self, earlier, strict=True))
        return {
            f"own_{name}": change if change >= 0 else None
            for name, change in zip(self._fields, changes, strict=True)
        }


def read(pids: Iterable[int]) -> Reading:
    """The counters of processes now; those that are gone count for nothing."""
    clock_ns = user_ns = system_ns = switches = 0
    for pid in pids:
        clock_ns += sum(thread_times(pid).values())
        with contextlib.suppress(OSError):
            stat = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            user_ns += int(stat[11]) * _NS_PER_TICK
            system_ns += int(stat[12]) * _NS_PER_TICK
            for task in os.listdir(f"/proc/{pid}/task"):
                status = Path(f"/proc/{pid}/task/{task}/status").read_bytes()
                switches += sum(map(int, _SWITCHES.findall(status)))
    return Reading(clock_ns, user_ns, system_ns, switches)
