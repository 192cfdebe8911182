"""What a collector reports about a load whose CPU use is known.

A collector that cannot see a process reports less than is known. That is what is measured here and
no failure of the trial.
"""

from __future__ import annotations

import time
from typing import Any

from experiment import fidelity, loads, workloads
from experiment.accounting import machine
from experiment.collector import Collector, Unavailable
from experiment.trials.common import COUNTERS, Row, Setting, running


def measure(trial: dict[str, Any], setting: Setting, row: Row, scrapes: list[Row]) -> None:
    """Fill the row: CPU time of all processes of the load, known and reported."""
    del scrapes
    if not setting.arms[trial["arm"]]["dump"]:
        raise Unavailable("this arm's records cannot be read (dump: false)")
    interval_ms = int(trial["interval_ms"])
    load = loads.known_use(trial)
    words = workloads.words_of(setting.paths["build"], load)
    dump = setting.log_folder / f"{trial['trial']}-{trial['arm']}.records"
    try:
        with running(trial, setting, interval_ms, dump) as (collector, _, setup_ns):
            began = time.monotonic_ns()
            time.sleep(load.delay_s)
            known, closing = _watched(words, load, collector)
            row.update(window_ns=time.monotonic_ns() - began, setup_ns=setup_ns)
        row.update({name: closing.get(name) for name in COUNTERS})
        row.update(interval_ms=interval_ms, processes=machine.processes())
        row["known_ns"], row["reported_ns"] = fidelity.compare(dump, known)
    finally:
        dump.unlink(missing_ok=True)


def _watched(
    words: list[str], load: loads.Load, collector: Collector
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(what the load says of itself, the collector's closing line)."""
    deadline_s = 30 + 5 * load.seconds
    if load.watched_s is None:
        known = workloads.run(words, deadline_s)
        collector.check_alive()
        return known, collector.stop()
    with workloads.started(words) as process:
        time.sleep(load.watched_s)
        collector.check_alive()
        closing = collector.stop()
        return workloads.report(process, deadline_s), closing
