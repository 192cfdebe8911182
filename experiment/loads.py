"""The loads of known CPU use that a collector's reports are held against, and how long each takes.

Every load is a program of ``bpf/workloads`` with its arguments. It starts right after the collector
is ready, so times here count from a scrape. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Events that can be counted out, for trials of kind ``external``: the generator of each, and its
#: option for their number.
COUNTED = {
    "switch": ("pipe_switch", "--switches"),
    "exec": ("fixed_work", "--execs"),
    "open": ("fixed_work", "--opens"),
    "send": ("fixed_work", "--sends"),
}
EVENTS = tuple(COUNTED)
#: Patterns of CPU use, for trials of kind ``fidelity``.
KNOWN_USE = ("steady", "bursty", "children", "busy", "threads", "exits", "leader_exits")

CHILDREN = 200
CHILD_MS = 50
TOGETHER = 4
_CPUS = 2  # for estimates alone: a larger machine is done sooner
_THREADS = 32
#: A load that lasts is seen once more before it ends: what a poller has not read by then is lost.
_HOLD = 1.6
#: The share of an interval that a process lives which starts and ends between two scrapes.
_BEGIN, _LIFE = 0.2, 0.4


@dataclass(frozen=True)
class Load:
    """``seconds`` it takes on an idle machine; ``delay_s`` after a scrape it is started.

    ``watched_s``: the collector is ended after so much of it, while the load is still at work; None
    when the load ends first.
    """

    program: str
    arguments: tuple[str, ...]
    seconds: float
    delay_s: float = 0.0
    watched_s: float | None = None


def known_use(trial: Mapping[str, Any]) -> Load:
    """The load of a planned fidelity trial. KeyError for an unknown workload."""
    interval_ms = int(trial["interval_ms"])
    window_ms = round(1000 * trial["window_s"])
    workload = trial.get("workload") or "steady"
    if workload == "children":
        return _children(int(trial.get("children") or CHILDREN), interval_ms)
    if workload == "exits":
        return _exits(window_ms, interval_ms)
    return _spin(workload, window_ms, interval_ms)


#: share of a CPU, length of a burst in ms, threads, further arguments of ``spin``
_SPIN: dict[str, tuple[int, int, int, tuple[str, ...]]] = {
    "steady": (80, 10, 1, ()),
    "bursty": (40, 200, 1, ()),
    "busy": (100, 10, 1, ()),
    "threads": (80, 10, _THREADS, ()),
    "leader_exits": (80, 10, 3, ("--leader-exits", "1")),
}


def _spin(workload: str, window_ms: int, interval_ms: int) -> Load:
    duty, burst_ms, threads, more = _SPIN[workload]
    hold_ms = round(_HOLD * interval_ms)
    # At its duty the burning and the hold fill the window; short windows burn at least 0.2 s.
    burn_ms = max(200, round(duty / 100 * (window_ms - hold_ms)))
    seconds = (100 * burn_ms / duty + hold_ms) / 1000
    words = ["--burst-ms", str(burst_ms), "--duty", str(duty), *more]
    words += ["--threads", str(threads)] if threads > 1 else []
    if workload == "busy":  # it must not have ended at the last scrape, nor ever have slept
        watched_ms = window_ms + interval_ms // 2
        words += ["--cpu-ms", str(window_ms + interval_ms), "--note-ms", "1"]
        seconds = (window_ms + interval_ms) / 1000
        return Load("spin", tuple(words), seconds, watched_s=watched_ms / 1000)
    words += ["--cpu-ms", str(burn_ms), "--hold-ms", str(hold_ms)]
    return Load("spin", tuple(words), seconds)


def _children(count: int, interval_ms: int) -> Load:
    hold_ms = round(_HOLD * interval_ms)
    words = ["--count", str(count), "--cpu-ms", str(CHILD_MS), "--together", str(TOGETHER)]
    seconds = (count * CHILD_MS / _CPUS + hold_ms) / 1000
    return Load("brood", (*words, "--hold-ms", str(hold_ms)), seconds)


def _exits(window_ms: int, interval_ms: int) -> Load:
    count = max(1, window_ms // interval_ms - 1)
    hold_ms = round(interval_ms * (1 + _LIFE))
    words = ["--count", str(count), "--cpu-ms", str(max(1, round(_LIFE * interval_ms)))]
    words += ["--every-ms", str(interval_ms), "--hold-ms", str(hold_ms)]
    seconds = (_BEGIN + (count - 1) + _LIFE) * interval_ms / 1000 + hold_ms / 1000
    return Load("brood", tuple(words), seconds, delay_s=_BEGIN * interval_ms / 1000)
