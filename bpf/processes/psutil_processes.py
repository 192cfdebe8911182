# SPDX-License-Identifier: MIT
"""CPU time of every process through psutil, as many agents written in Python read it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

from collector import Collector, Fact, Unavailable, run  # noqa: E402


class PsutilProcesses:
    """Polls; keeps what each process had at the previous scrape, keyed by pid and start time."""

    name = "psutil_processes"

    def __init__(self) -> None:
        self._before: dict[tuple[int, float], float] | None = None
        self._denied = 0
        self._ticks = os.sysconf("SC_CLK_TCK")

    def open(self) -> None:
        try:
            import psutil
        except ImportError:
            raise Unavailable(
                f"{sys.executable} has no psutil; pip install psutil, or run ./study"
            ) from None
        self._psutil = psutil

    def _start_ticks(self, process: object) -> int | None:
        """psutil's own reading of field 22, in seconds since boot, back in ticks.

        Its public create_time() adds the boot time, which moves when the clock is set.
        """
        since_boot = getattr(getattr(process, "_proc", None), "_ctime", None)
        return None if since_boot is None else round(since_boot * self._ticks)

    def scrape(self) -> list[Fact]:
        now: dict[tuple[int, float], float] = {}
        facts: list[Fact] = []
        for process in self._psutil.process_iter(["pid", "create_time", "cpu_times"]):
            times = process.info["cpu_times"]
            if times is None:
                self._denied += 1
                continue
            start_ticks = self._start_ticks(process)
            start = process.info["create_time"] if start_ticks is None else start_ticks
            key = (process.info["pid"], start)
            now[key] = times.user + times.system
            if self._before is not None:
                # first seen: it started since the previous scrape, so all its time is new
                ran = max(0.0, now[key] - self._before.get(key, 0.0))
                facts.append((key[0], start_ticks, round(ran * 1e9)))
        self._before = now
        return facts

    def counts(self) -> Mapping[str, int | None]:
        return {"denied": self._denied}


if __name__ == "__main__":
    collector: Collector = PsutilProcesses()
    run(collector)
