"""What the kinds of trials share: the run's setting, a running collector, and what can go wrong."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiment import switch_load, workloads
from experiment.accounting import Account, Group, bpf_stats, exact, harness
from experiment.collector import Collector, command_line

Row = dict[str, Any]
COUNTERS = (
    "lost", "recursion_misses", "missed", "vanished", "denied", "clamped", "late", "kernel_ns",
)  # fmt: skip


@dataclass
class Setting:
    """What all trials of a run share."""

    arms: dict[str, dict[str, Any]]
    paths: dict[str, str]
    account: Account
    log_folder: Path
    idle: workloads.IdleProcesses
    load: switch_load.SwitchLoad
    announce: Callable[[int], None] = lambda process_group: None
    drivers: list[int] = field(default_factory=harness.drivers)
    marks: exact.Marks | exact.NoMarks = field(default_factory=exact.NoMarks)

    def __post_init__(self) -> None:
        self.polling = harness.polling(self.drivers)


class Invalid(Exception):
    """The window was measured and cannot be trusted; the text says why."""


class Unsettled(Invalid):
    """The machine is not at the planned number of processes, so the window was not begun."""


@contextlib.contextmanager
def running(
    trial: dict[str, Any],
    setting: Setting,
    interval_ms: int,
    dump: Path | None = None,
    *,
    output: bool = False,
) -> Iterator[tuple[Collector, Group, float]]:
    """A collector that is attached; gives it, its group and its set-up time in ns.

    A trial may have ``flags`` of its own, which follow the arm's command.
    """
    arm = setting.arms[trial["arm"]]
    command = [*arm["command"], *trial.get("flags", ())]
    words = command_line(command, setting.paths, interval_ms, dump is not None)
    label = f"{trial['trial']}-{trial['arm']}"
    group = setting.account.group(label)
    collector = None
    try:
        began = time.monotonic_ns()
        log = setting.log_folder / f"{label}.stderr"
        collector = Collector(words, arm["ready"], group, log, dump, output=output)
        setting.announce(collector.pid)
        collector.wait_ready()
        group.prepare()
        yield collector, group, time.monotonic_ns() - began
    finally:
        if collector:
            collector.kill()
        group.destroy()


@contextlib.contextmanager
def programs_of(before: list[int] | None, group: Group, row: Row) -> Iterator[bpf_stats.Programs]:
    """The collector's programs, held so that they can be read at both edges of what is measured."""
    programs = bpf_stats.Programs(before, group.pids())
    try:
        row["bpf_programs"] = programs.count
        yield programs
    finally:
        programs.close()


def note_programs(
    row: Row,
    programs: bpf_stats.Programs,
    before: bpf_stats.Reading,
    after: bpf_stats.Reading,
    with_statistics: bool,
) -> None:
    """What the programs ran between two readings.

    Raises Invalid if the kernel's statistics were not as planned.
    """
    bpf = after.since(before)
    if not with_statistics and bpf.run_count:
        raise Invalid("somebody else has BPF statistics on: they slow down every program")
    if with_statistics and programs.count is not None:
        if bpf.run_count and not bpf.run_ns:
            raise Invalid("programs ran but the kernel's statistics stayed off")
        row.update(
            bpf_run_ns=bpf.run_ns,
            bpf_run_count=bpf.run_count,
            bpf_recursion_misses=bpf.recursion_misses,
        )
