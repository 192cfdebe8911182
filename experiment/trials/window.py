"""A window in which nothing of ours runs: every instrument is read at both edges, mirrored."""

from __future__ import annotations

import time
from typing import NamedTuple

from experiment import switch_load, workloads
from experiment.accounting import Group, bpf_stats, harness, machine, sleeps
from experiment.trials.common import Invalid, Row, Setting, Unsettled, note_programs

#: How often an agent that is at work at an edge is looked at again.
_LOOK_S = 0.005


class Window(NamedTuple):
    """When it began (CLOCK_MONOTONIC, ns), how often a silent agent slept in it, and its load."""

    began_ns: int
    slept: int
    load: switch_load.Seen


def settle(row: Row) -> None:
    """Note the number of processes. Raises Unsettled if it is not the planned one."""
    target, row["processes"] = row["processes_target"], machine.processes()
    if target is not None and abs(row["processes"] - target) > workloads.tolerance(target):
        raise Unsettled(f"{row['processes']} processes at the start, {target} planned")


def measure(
    window_ns: int,
    setting: Setting,
    row: Row,
    group: Group | None = None,
    programs: bpf_stats.Programs | None = None,
    silent: list[int] | None = None,
) -> Window:
    """Read every instrument, sleep through the window, read again.

    The order of reading is mirrored at the two edges, so that each instrument sees the window
    and as little as possible of the others' reading.

    Args:
        silent: processes of an agent that does not say when it scrapes: both edges are put where it
            sleeps, at most one window later than planned.
    """
    settle(row)
    setting.marks.aim(row["trial"])
    _wait_for_sleep(silent, window_ns)
    machine_before = machine.read()
    bpf_before = programs.read() if programs else None
    slept = sleeps.count(silent or [])
    with harness.stopped(setting.polling):
        harness_before = harness.at_start(setting.drivers)
        load_before = setting.load.read()
        agent_before = _agent_ns(group, row)
        began = time.monotonic_ns()
        setting.marks.begin()
        time.sleep(max(0, began + window_ns - time.monotonic_ns()) / 1e9)
        _wait_for_sleep(silent, window_ns)
        setting.marks.end()
        ended = time.monotonic_ns()
        agent_after = _agent_ns(group, row)
        load_after = setting.load.read()
        harness_after = harness.at_end(setting.drivers)
    slept = sleeps.count(silent or []) - slept
    bpf_after = programs.read() if programs else None
    seen = machine.read().since(machine_before, ended - began)
    harness_ns, wakeups = harness_after.since(harness_before)
    row.update(window_ns=ended - began, harness_ns=harness_ns, harness_wakeups=wakeups, **seen)
    load = load_after.since(load_before)
    if row["switches_target"] is not None or row["stress_threads"] is not None:
        row.update(load_switches=load.switches, load_ns=load.cpu_ns)
    if group:
        row["agent_ns"] = agent_after - agent_before
    if programs and bpf_before and bpf_after:
        note_programs(row, programs, bpf_before, bpf_after, row["statistics"] == "on")
    return Window(began, slept, load)


def check_load(row: Row, seen: Window) -> None:
    """Raise Invalid where the load was not what the plan asked for."""
    if row["switches_target"]:
        fault = switch_load.fault(seen.load, row["window_ns"], row["switches_target"])
        if fault:
            raise Invalid(fault)


def _agent_ns(group: Group | None, row: Row) -> int:
    """The agent's CPU now. Raises Invalid if the reading took so long that it is of no moment.

    Scrapes are half an interval away from an edge. One that falls between a slow reading and its
    edge would be billed to the window, or missing in it, without any other trace.
    """
    if group is None:
        return 0
    asked = time.monotonic_ns()
    spent = group.cpu_ns()
    took_ms = (time.monotonic_ns() - asked) / 1e6
    if took_ms > row["interval_ms"] / 4:
        raise Invalid(
            f"reading the agent's CPU took {took_ms:.0f} ms, more than a quarter of an interval"
        )
    return spent


def _wait_for_sleep(pids: list[int] | None, most_ns: int) -> None:
    if pids is None:
        return
    until = time.monotonic_ns() + most_ns
    while not sleeps.asleep(pids) and time.monotonic_ns() < until:
        time.sleep(_LOOK_S)
