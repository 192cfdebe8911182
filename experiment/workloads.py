"""Loads that a trial is measured under: idle processes, fixed counts of events, known CPU use.

The generators are small C programs that end by themselves and die with the runner.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from experiment import core_loads, generator, kernel, loads, sensor_loads, switch_load
from experiment.accounting import machine
from experiment.collector import Failed, Unavailable
from experiment.loads import Load, known_use

_GENERATOR_AND_AGENT = 2
#: A generator's status for what this kernel, or this user, cannot do.
_UNAVAILABLE = 3


def tolerance(target: int) -> int:
    """How far the number of processes may be off: kernel workers come and go."""
    return max(3, target // 100)


class IdleProcesses:
    """Brings the machine to a number of processes and keeps it there between trials."""

    def __init__(self, build: str, log: Path) -> None:
        self._program = os.path.join(build, "idle_processes")
        self._log = log
        self._pid = 0
        self._threads = 1

    def ensure(self, target: int | None, threads: int = 1) -> None:
        """Make the machine have ``target`` processes, one coming agent included; None: as it is.

        Idle ones have so many ``threads`` each. Raises Failed if the machine already has more
        processes or the generator cannot start.
        """
        if target is None:
            self.stop()
            return
        near = abs(machine.processes() + 1 - target) <= tolerance(target)
        if near and (threads == self._threads or not self._pid):
            return
        self.stop()
        idle = target - machine.processes() - _GENERATOR_AND_AGENT
        if idle < -tolerance(target):
            raise Failed(
                f"the machine already has {machine.processes()} processes, more than the "
                f"{target} asked for; ask for more, or end some"
            )
        if idle <= 0:
            return
        words = [self._program, "--count", str(idle)]
        if threads > 1:
            words += ["--threads", str(threads)]
        self._pid = generator.start(words, self._log, f"{idle} idle processes")
        self._threads = threads

    def stop(self) -> None:
        """End them all."""
        if self._pid:
            pid, self._pid, self._threads = self._pid, 0, 1
            generator.stop(pid)


def run(words: list[str], deadline_s: float) -> dict[str, Any]:
    """Run a generator to its end and return its JSON report. Raises Failed."""
    with started(words) as process:
        return report(process, deadline_s)


def report(process: subprocess.Popen[bytes], deadline_s: float) -> dict[str, Any]:
    """Wait for a generator's end; its JSON report. Raises Failed or Unavailable."""
    name = Path(str(process.args[0])).name  # type: ignore[index]
    try:
        output, error = process.communicate(timeout=deadline_s)
    except subprocess.TimeoutExpired as problem:
        raise Failed(f"{name} did not end within {deadline_s:.0f} s") from problem
    if process.returncode:
        words = error.decode(errors="replace").strip()
        if words and process.returncode == _UNAVAILABLE:
            raise Unavailable(words)
        raise Failed(f"{name}: {words or f'ended with status {process.returncode}'}")
    try:
        said: dict[str, Any] = json.loads(output)
    except ValueError as problem:
        raise Failed(f"{name} gave no report") from problem
    return said


def _detach() -> None:
    os.setsid()
    kernel.die_with_parent(signal.SIGKILL)


@contextlib.contextmanager
def started(words: list[str], asked: bool = False) -> Iterator[subprocess.Popen[bytes]]:
    """A generator as a child that dies with the runner and never outlives the block.

    ``asked``: it gets a standard input, over which it is told when to work.
    """
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE if asked else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=_detach,
        )
    except OSError as problem:
        raise Failed(f"{words[0]}: {problem.strerror}") from problem
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


def words_of(build: str, load: Load) -> list[str]:
    """The command line of a load of known use."""
    return [os.path.join(build, load.program), *load.arguments]


def programs(trial: Mapping[str, Any]) -> set[str]:
    """Names of the generators that a trial needs."""
    needed = {"idle_processes"} if trial["processes"] is not None else set()
    if (load := switch_load.wanted(trial)) is not None:
        needed.add(load.program)
    if trial["kind"] == "cores":
        needed.add(core_loads.PROGRAM)
    if trial["kind"] == "external":
        program, _ = loads.COUNTED[trial.get("workload", "switch")]
        needed |= {program} | ({"exec_step"} if trial.get("workload") == "exec" else set())
    if trial["kind"] == "sensor":
        needed |= {sensor_loads.PROGRAM, sensor_loads.EXECUTED}
    if trial["kind"] == "fidelity":
        needed.add(known_use(trial).program)
    return needed


def needed(plan: Mapping[str, Any]) -> list[str]:
    """Names of the project's own programs that a plan runs: its collectors and generators."""
    words = {arm["command"][0] for arm in plan["arms"].values()}
    wanted = {word.removeprefix("{build}/") for word in words if word.startswith("{build}/")}
    for planned in plan["trials"]:
        wanted |= programs(planned)
    return sorted(wanted)
