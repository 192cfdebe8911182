"""What a sensor costs the tasks that it watches, and what it takes and reports itself.

A fixed count of events in turns of one process, as in trials of kind ``external``: turns without
the arm surround those with it. But its reader is alive and looks as often as it does in service.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from experiment import counting
from experiment.accounting import bpf_stats, harness, machine, memory
from experiment.sensor_loads import EVENTS, SUMMED
from experiment.trials.common import (
    COUNTERS,
    Invalid,
    Row,
    Setting,
    note_programs,
    programs_of,
    running,
)

#: What a loader used once and unloaded, or an arm left attached, takes a moment to be gone.
_SETTLE_S = 0.05
#: The reader's tick after the last event is over when so much of an interval has passed since.
_AFTER_TICK = 0.25
_ATTACHED_TURNS = 2
#: Columns of the row by the closing line's names.
_SAID = {
    "events": "reported_events",
    "bytes_sent": "reported_bytes",
    "filtered": "filtered",
    "kernel_filtered": "kernel_filtered",
    "wakeups": "wakeups",
    "buffer_bytes": "buffer_bytes",
}


def measure(trial: dict[str, Any], setting: Setting, row: Row, scrapes: list[Row]) -> None:
    """Fill the row: the work's events and CPU time, the sensor's own, and what it reported.

    The sensor's own is read beyond its next tick: until then events may wait in a buffer, or as
    sums in a map, whose reading is part of their price.
    """
    del scrapes
    interval_ms = int(trial["interval_ms"])
    row["interval_ms"] = interval_ms
    before = bpf_stats.loaded()
    build = setting.paths["build"]
    with harness.stopped(setting.polling), counting.counter(build, trial) as counter:
        counter.turn()
        alone = [counter.turn()]
        with running(trial, setting, interval_ms) as (collector, group, setup_ns):
            ready = time.monotonic()
            time.sleep(_SETTLE_S)
            with programs_of(before, group, row) as programs:
                bpf_before = programs.read()
                spent_before = group.cpu_ns()
                began = time.monotonic_ns()
                attached = [counter.turn() for _ in range(_ATTACHED_TURNS)]
                ended = time.monotonic_ns()
                _await_tick(ready, interval_ms / 1000)
                spent_after = group.cpu_ns()
                bpf_after = programs.read()
            row.update(
                setup_ns=setup_ns,
                window_ns=ended - began,
                processes=machine.processes(),
                events=sum(turn.events for turn in attached),
                work_ns=sum(turn.work_ns for turn in attached),
                agent_ns=spent_after - spent_before,
                agent_rss_bytes=memory.resident_bytes(group.pids()),
            )
            note_programs(row, programs, bpf_before, bpf_after, trial["statistics"] == "on")
            collector.check_alive()
            closing = collector.stop()
            facts = collector.facts()
        time.sleep(_SETTLE_S)
        alone.append(counter.turn())
    row["unattached_ns"] = sum(turn.work_ns for turn in alone)
    row.update({name: closing.get(name) for name in COUNTERS})
    row.update({column: closing.get(name) for name, column in _SAID.items()})
    row.update(_known(trial, facts))
    _judge(row)


def _await_tick(ready_s: float, interval_s: float) -> None:
    """Sleep until the reader, which looks at whole intervals since it was ready, has looked."""
    ticks = (time.monotonic() - ready_s) // interval_s + 1
    until = ready_s + (ticks + _AFTER_TICK) * interval_s
    time.sleep(max(0.0, until - time.monotonic()))


def _known(trial: Mapping[str, Any], facts: Mapping[str, Mapping[str, Any]]) -> Row:
    """What the load made happen at hooks that were attached, and what was reported of it.

    Others on the machine do the like: the sensor may rightly report some more.
    """
    event = EVENTS[trial["event"]]
    attached, kinds = facts.get("attached") or {}, facts.get("events_by_kind") or {}
    made = _ATTACHED_TURNS * (int(trial["events"]) + 1)  # each turn begins with one uncounted
    summed = "flow" in kinds
    names = [h for h in event.makes if h in attached and not (summed and h in SUMMED)]
    sends = event.messages if "tcp_sendmsg" in attached else 0
    row: Row = {
        "attachments": " ".join(f"{hook}:{way}" for hook, way in attached.items()) or None,
        "known_bytes": made * sends * int(trial["size"]) if sends else None,
    }
    if names:
        row["known_events"] = made * sum(event.makes[name] for name in names)
        row["matching_events"] = sum(int(kinds.get(name, 0)) for name in names)
    return row


def _judge(row: Row) -> None:
    """Raise Invalid where what was measured is not what an event costs."""
    if row["agent_ns"] < 0:
        row["agent_ns"] = None
        raise Invalid("the account of the agent's CPU went backwards")
    if row.get("lost"):
        raise Invalid(f"the sensor lost {row['lost']} events: what it saved by that is no saving")
