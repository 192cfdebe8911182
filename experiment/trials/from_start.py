"""The second source's protocol: the arm is started, runs for a window, and is ended.

Everything from its execution to its end counts: loading, attaching, each scrape. What it used is
read as ``perf stat`` would say it, of the arm's own processes alone, and beside that by the
instruments of the other trials.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from experiment.accounting import Group, bpf_stats, exact, harness, machine, own
from experiment.collector import Collector, command_line
from experiment.trials import window
from experiment.trials.common import COUNTERS, Invalid, Row, Setting, note_programs, programs_of

#: Before the end, so that the programs are still there to be read.
_LOOK_S = 0.02


def measure(trial: dict[str, Any], setting: Setting, row: Row, samples: list[Row]) -> None:
    """Fill the row of an arm's whole life."""
    del samples
    arm = setting.arms[trial["arm"]]
    interval_ms, window_s = int(trial["interval_ms"]), float(trial["window_s"])
    words = command_line(arm["command"], setting.paths, interval_ms, False)
    label = f"{trial['trial']}-{trial['arm']}"
    row.update(interval_ms=interval_ms)
    window.settle(row)
    setting.marks.aim(row["trial"])
    group = setting.account.group(label)
    collector = None
    try:
        with harness.stopped(setting.polling), own.Life() as life:
            counted = trial["statistics"] == "on"
            loaded = bpf_stats.loaded() if counted else None
            machine_before, load_before = machine.read(), setting.load.read()
            harness_before = harness.at_start(setting.drivers)
            began = time.monotonic_ns()
            with _between(setting.marks):
                log = setting.log_folder / f"{label}.stderr"
                collector = Collector(words, arm["ready"], group, log, before_exec=life.before_exec)
                setting.announce(collector.pid)
                _sleep_until(began / 1e9 + window_s - _LOOK_S)
                collector.check_started()
                if counted:
                    _note_programs(row, loaded, group)
                spent_ns = group.cpu_ns() if setting.account.name == "schedstat" else 0
                _sleep_until(began / 1e9 + window_s)
                closing = collector.stop()
            ended = time.monotonic_ns()
            harness_after = harness.at_end(setting.drivers)
            load = setting.load.read().since(load_before)
            seen = machine.read().since(machine_before, ended - began)
            row.update(life.used(collector.usage))
            row["agent_ns"] = spent_ns or group.cpu_ns()
    finally:
        if collector:
            collector.kill()
        group.destroy()
    harness_ns, wakeups = harness_after.since(harness_before)
    row.update(window_ns=ended - began, harness_ns=harness_ns, harness_wakeups=wakeups, **seen)
    if row["stress_threads"] is not None:
        row.update(load_switches=load.switches, load_ns=load.cpu_ns)
    row.update({name: closing.get(name) for name in COUNTERS})
    row["scrapes"] = closing.get("scrapes")
    if row.get("lost"):
        raise Invalid(f"the collector lost {row['lost']} updates")


@contextlib.contextmanager
def _between(marks: exact.Marks | exact.NoMarks) -> Iterator[None]:
    """Both marks, whatever happens: one without its pair is an error of the whole boot."""
    marks.begin()
    try:
        yield
    finally:
        marks.end()


def _sleep_until(moment_s: float) -> None:
    time.sleep(max(0.0, moment_s - time.monotonic()))


def _note_programs(row: Row, before: list[int] | None, group: Group) -> None:
    """What the arm's programs have run since they were loaded, a moment before the end."""
    with programs_of(before, group, row) as programs:
        note_programs(row, programs, bpf_stats.Reading(0, 0, 0), programs.read(), True)
