"""Progress: readable lines without a terminal, one bar in a notebook, and no thread of tqdm's."""

from __future__ import annotations

import io
import threading
from typing import Any

import pytest
from tqdm import tqdm

from cli.progress import Progress, duration


def events() -> list[dict[str, Any]]:
    trial = {"event": "trial", "status": "ok", "arm": "proc_stat", "reason": None}
    refused = {"event": "trial", "status": "unavailable", "arm": "bpf_timer", "reason": "EPERM"}
    return [
        {"event": "start", "trials": 4, "done": 1, "eta_s": 9},
        {"event": "warning", "text": "few blocks"},
        {**trial, "trial": 1, "done": 2, "eta_s": 6},
        {**refused, "trial": 2, "done": 3, "eta_s": 3},
        {**refused, "trial": 3, "done": 4, "eta_s": 0},
        {"event": "end", "status": "finished"},
    ]


def shown(**how: Any) -> str:
    file = io.StringIO()
    progress = Progress("processes", file, **how)
    for event in events():
        progress(event)
    return file.getvalue()


def test_without_a_terminal_there_are_plain_lines() -> None:
    lines = shown().splitlines()
    assert lines[0] == "processes: 3 of 4 trials to go, 9 s"
    assert lines[-1] == "processes: 4 of 4 trials done, 0 s left"
    assert "\r" not in shown()


def test_a_refusal_is_told_once_with_its_reason() -> None:
    assert shown().count("bpf_timer is unavailable: EPERM") == 1


def test_a_note_that_was_told_is_not_told_again() -> None:
    assert "few blocks" in shown()
    assert "few blocks" not in shown(told=["few blocks"])


def test_the_bar_counts_from_where_a_resumed_run_stands() -> None:
    text = shown(notebook=True)
    assert "1/4 trials, 9 s left" in text
    assert "4/4 trials, 0 s left" in text


def test_the_bar_has_no_thread_that_wakes_up() -> None:
    before = set(threading.enumerate())
    progress = Progress("processes", io.StringIO(), notebook=True)
    progress(events()[0])
    assert set(threading.enumerate()) == before
    assert tqdm.monitor_interval == 0
    progress.close()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59.6, "1 min 00 s"), (45, "45 s"), (200, "3 min 20 s")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
