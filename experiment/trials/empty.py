"""A window without any agent: what the machine and the harness do by themselves."""

from __future__ import annotations

import time
from typing import Any

from experiment.accounting import machine
from experiment.trials import window
from experiment.trials.common import Row, Setting


def measure(trial: dict[str, Any], setting: Setting, row: Row, scrapes: list[Row]) -> None:
    """Fill the row of a window as long as those of the agents, half an interval after a pause."""
    del scrapes
    interval_ms = int(trial["interval_ms"])
    row["interval_ms"] = interval_ms
    time.sleep(interval_ms / 2000)
    seen = window.measure(int(trial["window_s"] * 1e9), setting, row)
    row.update(processes_end=machine.processes(), threads=machine.threads())
    window.check_load(row, seen)
