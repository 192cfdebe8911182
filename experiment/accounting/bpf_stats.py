"""What the kernel says BPF programs cost: ``run_time_ns`` and ``run_cnt`` between two readings.

Counters run since a program was loaded, so only differences count. Statistics are switched on by
a file descriptor (``BPF_ENABLE_STATS``), never by the global sysctl: the kernel switches them off
again when the holder ends, however it ends. They inflate what they measure by two clock reads a
run, hence their state is a factor of the plan.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from experiment import kernel

_PROGRAM_ID = re.compile(r"^prog_id:\s*(\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Reading:
    """Sums over an agent's programs since they were loaded."""

    run_ns: int
    run_count: int
    recursion_misses: int

    def since(self, earlier: Reading) -> Reading:
        """The difference. ValueError if a counter went backwards: the sample is invalid."""
        change = Reading(
            self.run_ns - earlier.run_ns,
            self.run_count - earlier.run_count,
            self.recursion_misses - earlier.recursion_misses,
        )
        if min(change.run_ns, change.run_count, change.recursion_misses) < 0:
            raise ValueError("a BPF program's counters went backwards inside the window")
        return change


def loaded() -> list[int] | None:
    """Ids of all loaded programs; None where this process may not list them."""
    try:
        return kernel.program_ids()
    except OSError:
        return None


def of_processes(pids: list[int]) -> set[int]:
    """Ids of programs and links that these processes hold open, by ``/proc/<pid>/fdinfo``."""
    found: set[int] = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fdinfo"):
                with (
                    contextlib.suppress(OSError),
                    open(f"/proc/{pid}/fdinfo/{name}", encoding="utf-8") as file,
                ):
                    found.update(int(number) for number in _PROGRAM_ID.findall(file.read()))
    return found


class Programs:
    """An agent's programs, held by descriptor so that they can be read at both window edges."""

    def __init__(self, before: list[int] | None, pids: list[int]) -> None:
        """Attribute programs: new since ``before`` was listed, or held open by ``pids``."""
        after = loaded()
        self.known = before is not None and after is not None
        ids = of_processes(pids)
        if before is not None and after is not None:
            ids |= set(after) - set(before)
        self._descriptors: dict[int, int] = {}
        try:
            for number in sorted(ids):
                self._descriptors[number] = kernel.open_program(number)
        except FileNotFoundError as error:
            self.close()
            raise ValueError("a BPF program vanished while it was being attributed") from error
        except PermissionError:
            self.known = False

    @property
    def count(self) -> int | None:
        """How many programs; None where they cannot be listed."""
        return len(self._descriptors) if self.known else None

    def read(self) -> Reading:
        """Sum the counters of all programs."""
        infos = [kernel.program_info(number) for number in self._descriptors.values()]
        return Reading(
            sum(info.run_time_ns for info in infos),
            sum(info.run_count for info in infos),
            sum(info.recursion_misses for info in infos),
        )

    def close(self) -> None:
        """Let the programs go; a held descriptor would keep them loaded."""
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()


@contextlib.contextmanager
def statistics(wanted: bool) -> Iterator[None]:
    """Program statistics on inside the block if wanted. OSError where the kernel refuses."""
    descriptor = kernel.enable_bpf_stats() if wanted else None
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
