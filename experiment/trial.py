"""One trial: start a collector, measure, end it, and say what was seen as one row.

Seven kinds, a module of ``trials`` each: ``cost``, ``external``, ``fidelity``, ``empty``,
``from_start``, ``cores`` and ``sensor``.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from experiment.accounting import bpf_stats
from experiment.collector import Failed, Unavailable
from experiment.trials import cores, cost, empty, external, fidelity, from_start, sensor
from experiment.trials.common import Invalid, Row, Setting, Unsettled

__all__ = ["Row", "Setting", "Unsettled", "run", "skipped"]

_ATTEMPTS = 3


_MEASURES: dict[str, Callable[[dict[str, Any], Setting, Row, list[Row]], None]] = {
    "cost": cost.measure,
    "external": external.measure,
    "fidelity": fidelity.measure,
    "empty": empty.measure,
    "from_start": from_start.measure,
    "cores": cores.measure,
    "sensor": sensor.measure,
}
#: Rows of these kinds are read by an instrument of another name than the kind's.
_INSTRUMENTS = {"empty": "exact", "cores": "fidelity"}
_OF_THE_AGENT = ("cost", "from_start", "sensor")


def run(trial: dict[str, Any], setting: Setting) -> tuple[Row, list[Row]]:
    """Run one planned trial; its row and its per-scrape samples. Never raises for the arm's sake.

    The row's ``status`` is ``ok``, ``unavailable`` (the arm cannot run here), ``failed`` (it
    should have) or ``invalid`` (measured, not to be trusted), with the reason.
    """
    row = _planned(trial, setting)
    scrapes: list[Row] = []
    measure = _MEASURES[trial["kind"]]
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
        setting.load.ensure(trial)  # first: its tasks are some of the processes
        setting.idle.ensure(trial["processes"], trial.get("threads_per_process", 1))
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


def _instrument(kind: str, setting: Setting) -> str:
    return setting.account.name if kind in _OF_THE_AGENT else _INSTRUMENTS.get(kind, kind)


def _planned(trial: dict[str, Any], setting: Setting) -> Row:
    """What of a row is known beforehand."""
    same = ("trial", "block", "position", "kind", "arm", "replica", "statistics")
    return {name: trial[name] for name in same} | {
        "instrument": _instrument(trial["kind"], setting),
        "workload": trial.get("workload"),
        "pace": trial.get("pace"),
        "pause_us": trial.get("pause_us"),
        "point": trial.get("point"),
        "threads_per_process": trial.get("threads_per_process"),
        "switches_target": trial.get("switches_per_s"),
        "switching_tasks": trial.get("switching_tasks"),
        "stress_threads": trial.get("stress_threads"),
        "duty_percent": trial.get("duty_percent"),
        "burst_us": trial.get("burst_us"),
        "variant": trial.get("variant"),
        "load": trial.get("load"),
        "processes_target": trial["processes"],
        "started_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
