"""Work that is counted out: a fixed number of events, in turns of one process.

A second process differs from the first by where its memory lies, and that is worth more time than
a small program takes. So both sides of a comparison are turns of the same process.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from experiment import sensor_loads, workloads
from experiment.collector import Failed
from experiment.estimate import TURNS, pause_seconds, turn_seconds
from experiment.loads import COUNTED

#: A turn is given up after so much more than twice what it should take.
DEADLINE_S = 60.0


class Counted(NamedTuple):
    """Events, and the time in ns that is billed to them."""

    events: int
    work_ns: int


class Counter:
    """A running generator that makes the events of a trial each time it is asked to."""

    def __init__(self, process: subprocess.Popen[bytes], trial: Mapping[str, Any]) -> None:
        self._process = process
        self._deadline_s = DEADLINE_S + 2 * turn_seconds(trial)

    @property
    def pid(self) -> int:
        """The generator's process."""
        return self._process.pid

    def turn(self) -> Counted:
        """Make the events once. Raises Failed if the generator ends or takes too long."""
        said = self._ask()
        if "billed_switches" in said:
            return Counted(int(said["billed_switches"]), int(said["cpu_ns"]))
        return Counted(int(said["events"]), int(said["work_ns"]))

    def _ask(self) -> dict[str, Any]:
        process = self._process
        assert process.stdin and process.stdout
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b"\n")
            process.stdin.flush()
        if not select.select([process.stdout], [], [], self._deadline_s)[0]:
            name = os.path.basename(str(process.args[0]))  # type: ignore[index]
            raise Failed(f"{name} did not end its turn within {self._deadline_s:.0f} s")
        line = process.stdout.readline()
        try:
            said: dict[str, Any] = json.loads(line)
        except ValueError:
            return workloads.report(process, self._deadline_s)  # raises: it ended, and says why
        return said


@contextlib.contextmanager
def counter(build: str, trial: Mapping[str, Any]) -> Iterator[Counter]:
    """The generator of a trial's events, on the last CPU, for as long as the block lasts.

    Hot is back to back; paced lets the CPU idle for ``estimate.PAUSE_S``, or as long as the trial
    says, before each exchange of context switches and before each exec, open or send, as an
    ordinary machine does.
    """
    words = _words(build, trial)
    words += ["--cpu", str(max(os.sched_getaffinity(0)))]
    if pause_s := pause_seconds(trial):
        words += ["--pause-us", str(round(1e6 * pause_s))]
    with workloads.started([*words, "--turns", str(TURNS)], asked=True) as process:
        yield Counter(process, trial)


def _words(build: str, trial: Mapping[str, Any]) -> list[str]:
    """The generator and what it makes."""
    events = str(trial["events"])
    if "event" in trial:
        program = os.path.join(build, sensor_loads.PROGRAM)
        return [program, trial["event"], "--events", events, "--size", str(trial["size"])]
    program, option = COUNTED[trial.get("workload", "switch")]
    return [os.path.join(build, program), option, events]
