"""What perf stat would say of an arm, without perf."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from experiment.accounting import own, perf

BURN = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass"


def life(*words: str) -> own.Columns:
    """The columns of a command, started as the runner does."""
    with own.Life() as watched:
        pid = os.fork()
        if pid == 0:
            end = time.process_time() + 0.1  # the runner's own doing
            while time.process_time() < end:
                pass
            watched.before_exec()
            os.execvp(words[0], words)
        _, status, usage = os.wait4(pid, 0)
        assert status == 0
        return watched.used(usage)


def test_a_life_counts_from_the_execution_on() -> None:
    used = life(sys.executable, "-I", "-S", "-c", BURN)
    clock = used["own_task_clock_ns"]
    assert clock is not None and 0.19e9 < clock < 0.29e9, "without the 0.1 s before it"
    assert used["own_user_ns"] is not None and used["own_system_ns"] is not None
    assert used["own_user_ns"] + used["own_system_ns"] == clock


def test_a_life_counts_what_it_has_waited_for() -> None:
    used = life("sh", "-c", f'"{sys.executable}" -I -S -c "$1"; true', "sh", BURN)
    assert used["own_task_clock_ns"] is not None and used["own_task_clock_ns"] > 0.19e9


def test_switches_of_a_life_are_those_of_its_sleeps() -> None:
    text = "import time\nfor _ in range(50): time.sleep(0.001)"
    used = life(sys.executable, "-I", "-S", "-c", text)
    assert used["own_switches"] is not None and 50 <= used["own_switches"] < 500


def test_a_window_is_the_difference_of_two_readings() -> None:
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", BURN + "\ntime.sleep(60)"]) as process:
        try:
            before = own.read([process.pid])
            time.sleep(1.0)
            used = own.read([process.pid]).since(before)
        finally:
            process.kill()
    assert used["own_task_clock_ns"] is not None and 0.1e9 < used["own_task_clock_ns"] < 0.4e9


def test_a_count_that_falls_is_unknown() -> None:
    later, earlier = own.Reading(5, 10, 0, 3), own.Reading(7, 0, 0, 3)
    assert later.since(earlier) == {
        "own_task_clock_ns": None,
        "own_user_ns": 10,
        "own_system_ns": 0,
        "own_switches": 0,
    }


def test_a_counter_counts_what_is_executed_and_not_the_runner() -> None:
    counter = perf.Counter(perf.SOFTWARE, perf.TASK_CLOCK)
    try:
        if counter.read() is None:
            pytest.skip("unavailable: perf_event_open is refused here")
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass
        assert counter.read() == 0
        subprocess.run([sys.executable, "-I", "-S", "-c", BURN], check=True)
        counted = counter.read()
        assert counted is not None and 0.19e9 < counted < 0.6e9
    finally:
        counter.close()
