"""How often tasks have gone to sleep, and whether they sleep now: the scrapes of a silent agent.

An agent that knows nothing of our protocol does not say how often it has scraped; one that sleeps
once after each scrape shows it by its voluntary context switches (proc_pid_status(5)).
"""

from __future__ import annotations

import contextlib
import os
import re

_SWITCHES = re.compile(r"^voluntary_ctxt_switches:\s*(\d+)$", re.MULTILINE)
_STATE = re.compile(r"^State:\s*(\S)", re.MULTILINE)


def _statuses(pids: list[int]) -> list[str]:
    found: list[str] = []
    for pid in pids:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                with (
                    contextlib.suppress(OSError),
                    open(f"/proc/{pid}/task/{task}/status", errors="replace") as file,
                ):
                    found.append(file.read())
    return found


def count(pids: list[int]) -> int:
    """Voluntary context switches of all their tasks together."""
    return sum(int(number) for text in _statuses(pids) for number in _SWITCHES.findall(text)[-1:])


def asleep(pids: list[int]) -> bool:
    """Whether none of their tasks runs, or would."""
    return all(_STATE.findall(text)[:1] != ["R"] for text in _statuses(pids))
