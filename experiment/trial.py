"""One trial: start a collector, measure a window, end it, and say what was seen as one row.

Three kinds. ``cost``: the agent's CPU in a window whose edges fall mid-interval. ``external``:
the time of a fixed count of context switches with the arm attached and not scraping.
``fidelity``: what the collector reports about a process of known CPU use.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiment import fidelity, samples, workloads
from experiment.accounting import Account, Group, bpf_stats, harness, machine, memory
from experiment.collector import Collector, Failed, Unavailable, command_line

Row = dict[str, Any]
_NEVER_MS = 3_600_000
_ATTEMPTS = 3
_COUNTERS = (
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
    announce: Callable[[int], None] = lambda process_group: None
    drivers: list[int] = field(default_factory=harness.drivers)

    def __post_init__(self) -> None:
        self.polling = harness.polling(self.drivers)


class Invalid(Exception):
    """The window was measured and cannot be trusted; the text says why."""


class Unsettled(Invalid):
    """The machine is not at the planned number of processes, so the window was not begun."""


def run(trial: dict[str, Any], setting: Setting) -> tuple[Row, list[Row]]:
    """Run one planned trial; its row and its per-scrape samples. Never raises for the arm's sake.

    The row's ``status`` is ``ok``, ``unavailable`` (the arm cannot run here), ``failed`` (it
    should have) or ``invalid`` (measured, not to be trusted), with the reason.
    """
    row = _planned(trial, setting)
    scrapes: list[Row] = []
    measure = {"cost": _cost, "external": _external, "fidelity": _fidelity}[trial["kind"]]
    try:
        with _statistics(trial["statistics"] == "on"):
            _settled(measure, trial, setting, row, scrapes)
        row["status"] = "ok"
    except Unavailable as problem:
        row.update(status="unavailable", reason=str(problem))
    except Invalid as problem:
        row.update(status="invalid", reason=str(problem))
    except Exception as problem:  # a user's arm can break in any way; the other arms go on
        words = " ".join(str(problem).split())
        named = words if isinstance(problem, Failed | OSError | ValueError) else repr(problem)
        row.update(status="failed", reason=named or type(problem).__name__)
    return row, scrapes


def _settled(
    measure: Callable[[dict[str, Any], Setting, Row, list[Row]], None],
    trial: dict[str, Any],
    setting: Setting,
    row: Row,
    scrapes: list[Row],
) -> None:
    """Measure once the machine has the planned number of processes.

    Other processes come and go: a window that would begin at another number is not begun, whatever
    it would have shown, and the load is set up anew.
    """
    for attempt in range(_ATTEMPTS):
        setting.idle.ensure(trial["processes"])
        try:
            measure(trial, setting, row, scrapes)
            return
        except Unsettled:
            if attempt == _ATTEMPTS - 1:
                raise


@contextlib.contextmanager
def _statistics(wanted: bool) -> Iterator[None]:
    """Kernel statistics on inside the block. Raises Unavailable where the kernel refuses."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(bpf_stats.statistics(wanted))
        except OSError as problem:
            raise Unavailable(f"BPF statistics cannot be switched on: {problem.strerror}") from None
        yield


def skipped(trial: dict[str, Any], setting: Setting, reason: str) -> Row:
    """The row of a trial whose arm has already been found unavailable in this run."""
    return _planned(trial, setting) | {"status": "unavailable", "reason": reason}


def _planned(trial: dict[str, Any], setting: Setting) -> Row:
    """What of a row is known beforehand."""
    same = ("trial", "block", "position", "kind", "arm", "replica", "statistics")
    return {name: trial[name] for name in same} | {
        "instrument": setting.account.name if trial["kind"] == "cost" else trial["kind"],
        "workload": trial.get("workload"),
        "processes_target": trial["processes"],
        "started_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


@contextlib.contextmanager
def _running(
    trial: dict[str, Any], setting: Setting, interval_ms: int, dump: Path | None = None
) -> Iterator[tuple[Collector, Group, float]]:
    """A collector that is attached; gives it, its group and its set-up time in ns."""
    arm = setting.arms[trial["arm"]]
    words = command_line(arm["command"], setting.paths, interval_ms, dump is not None)
    label = f"{trial['trial']}-{trial['arm']}"
    group = setting.account.group(label)
    collector = None
    try:
        began = time.monotonic_ns()
        log = setting.log_folder / f"{label}.stderr"
        collector = Collector(words, arm["ready"], group, log, dump)
        setting.announce(collector.pid)
        collector.wait_ready()
        yield collector, group, time.monotonic_ns() - began
    finally:
        if collector:
            collector.kill()
        group.destroy()


def _cost(trial: dict[str, Any], setting: Setting, row: Row, scrapes: list[Row]) -> None:
    interval_ms = int(trial["interval_ms"])
    window_ns = int(trial["window_s"] * 1e9)
    before = bpf_stats.loaded()
    with _running(trial, setting, interval_ms) as (collector, group, setup_ns):
        ready = time.monotonic()
        row.update(interval_ms=interval_ms, setup_ns=setup_ns)
        time.sleep(max(0.0, ready + interval_ms / 2000 - time.monotonic()))
        # Only now: what a loader used once and unloaded takes a moment to be gone.
        programs = bpf_stats.Programs(before, group.pids())
        try:
            row["bpf_programs"] = programs.count
            began = _measure(window_ns, setting, group, programs, trial["statistics"] == "on", row)
        finally:
            programs.close()
        pids = group.pids()
        row.update(
            processes_end=machine.processes(),
            threads=machine.threads(),
            agent_tasks=len(pids),
            agent_rss_bytes=memory.resident_bytes(pids),
        )
        collector.check_alive()
        closing = collector.stop()
    row.update({name: closing.get(name) for name in _COUNTERS})
    if row["kernel_ns"] is not None:
        row["kernel_life_ns"] = closing.get("scrapes", 0) * interval_ms * 1_000_000
    scrapes += samples.per_scrape(trial["trial"], closing, began, row["window_ns"])
    row["scrapes"] = sum(s["in_window"] for s in scrapes) if closing else None
    _judge(row, window_ns, interval_ms)
    longest = max((s["cpu_ns"] or 0 for s in scrapes if s["in_window"]), default=0)
    if longest > interval_ms * 500_000:
        raise Invalid(f"a scrape took {longest / 1e6:.0f} ms, more than half an interval")


def _measure(
    window_ns: int,
    setting: Setting,
    group: Group,
    programs: bpf_stats.Programs,
    with_statistics: bool,
    row: Row,
) -> int:
    """Read every instrument, sleep through the window, read again; returns its start in ns.

    The order of reading is mirrored at the two edges, so that each instrument sees the window
    and as little as possible of the others' reading.
    """
    target, row["processes"] = row["processes_target"], machine.processes()
    if target is not None and abs(row["processes"] - target) > workloads.tolerance(target):
        raise Unsettled(f"{row['processes']} processes at the start, {target} planned")
    machine_before = machine.read()
    bpf_before = programs.read()
    with harness.stopped(setting.polling):
        harness_before = harness.at_start(setting.drivers)
        agent_before = group.cpu_ns()
        began = time.monotonic_ns()
        time.sleep(max(0, began + window_ns - time.monotonic_ns()) / 1e9)
        ended = time.monotonic_ns()
        agent_after = group.cpu_ns()
        harness_after = harness.at_end(setting.drivers)
    bpf_after = programs.read()
    seen = machine.read().since(machine_before, ended - began)
    harness_ns, wakeups = harness_after.since(harness_before)
    row.update(
        window_ns=ended - began,
        agent_ns=agent_after - agent_before,
        harness_ns=harness_ns,
        harness_wakeups=wakeups,
        **seen,
    )
    bpf = bpf_after.since(bpf_before)
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
    return began


def _judge(row: Row, window_ns: int, interval_ms: int) -> None:
    """Raise Invalid where the window is not what was planned."""
    planned = round(window_ns / 1e6 / interval_ms)
    if row["agent_ns"] < 0:
        row["agent_ns"] = None
        raise Invalid("the account of the agent's CPU went backwards")
    if row["scrapes"] is not None and row["scrapes"] != planned:
        raise Invalid(f"{row['scrapes']} scrapes in the window, {planned} planned")
    if row.get("lost"):
        raise Invalid(f"the collector lost {row['lost']} updates")


def _external(trial: dict[str, Any], setting: Setting, row: Row, scrapes: list[Row]) -> None:
    del scrapes
    with _running(trial, setting, _NEVER_MS) as (collector, _, setup_ns):
        began = time.monotonic_ns()
        billed, work_ns = workloads.pipe_switch(
            setting.paths["build"], trial["pace"], int(trial["events"])
        )
        row.update(
            pace=trial["pace"],
            setup_ns=setup_ns,
            window_ns=time.monotonic_ns() - began,
            processes=machine.processes(),
            events=billed,
            work_ns=work_ns,
        )
        collector.check_alive()
        closing = collector.stop()
    row.update({name: closing.get(name) for name in _COUNTERS})
    if row.get("lost"):
        raise Invalid(f"the collector lost {row['lost']} updates")


def _fidelity(trial: dict[str, Any], setting: Setting, row: Row, scrapes: list[Row]) -> None:
    del scrapes
    if not setting.arms[trial["arm"]]["dump"]:
        raise Unavailable("this arm's records cannot be read (dump: false)")
    interval_ms = int(trial["interval_ms"])
    window_ms = trial["window_s"] * 1000
    hold_ms = round(1.6 * interval_ms)
    # At 80 % duty the burning and the hold fill the window; short windows burn at least 0.2 s.
    burn_ms = max(200, round(0.8 * (window_ms - hold_ms)))
    dump = setting.log_folder / f"{trial['trial']}-{trial['arm']}.records"
    words = [os.path.join(setting.paths["build"], "spin"), "--cpu-ms", str(burn_ms)]
    words += ["--burst-ms", "10", "--duty", "80", "--hold-ms", str(hold_ms)]
    try:
        with _running(trial, setting, interval_ms, dump) as (collector, _, setup_ns):
            began = time.monotonic_ns()
            known = workloads.run(words, deadline_s=30 + 5 * window_ms / 1000)
            row.update(window_ns=time.monotonic_ns() - began, setup_ns=setup_ns)
            collector.check_alive()
            closing = collector.stop()
        row.update({name: closing.get(name) for name in _COUNTERS})
        row.update(interval_ms=interval_ms, processes=machine.processes())
        row["known_ns"], row["reported_ns"] = fidelity.compare(dump, known)
    finally:
        dump.unlink(missing_ok=True)
