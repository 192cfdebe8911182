"""Watching a machine: a made /proc whose numbers are known, and this one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.advise import observe
from cli.problem import Problem


class Machine:
    """A /proc of files, and a clock that only moves when someone sleeps."""

    def __init__(self, root: Path, kept: bool = True) -> None:
        self.root, self.now, self.ctxt, self.forks = root, 100.0, 1_000_000, 500
        self.file = "schedstat" if kept else "status"
        for pid in (1, 2, 99):
            self.start(pid)
        (root / "2" / "stat").write_text("2 (k thread) d) S 0 0 0 0 -1 2129984 0\n")
        (root / "self").symlink_to("99")
        if not kept:
            (root / "99" / "schedstat").write_text("0 0 0\n")

    def start(self, pid: int, *threads: int) -> None:
        self.forks += 1 + len(threads)
        for tid in (pid, *threads):
            (self.root / str(pid) / "task" / str(tid)).mkdir(parents=True)
            self.run(pid, tid, 1)

    def run(self, pid: int, tid: int, times: int) -> None:
        text = f"{times * 1000} 0 {times}\n"
        if self.file == "status":
            text = f"Name:\tx\nvoluntary_ctxt_switches:\t{times}\nVmRSS:\t{time.monotonic_ns()}\n"
        (self.root / str(pid) / "task" / str(tid) / self.file).write_text(text)
        if pid == tid:
            (self.root / str(pid) / self.file).write_text(text)

    def end(self, pid: int) -> None:
        subprocess.run(["rm", "-r", self.root / str(pid)], check=True)

    def clock(self) -> float:
        (self.root / "stat").write_text(
            f"cpu 1 2\nintr 5 5\nctxt {self.ctxt}\nprocesses {self.forks}\n"
        )
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.ctxt += round(1000 * seconds)

    def watch(self, seconds: float, *intervals: float) -> observe.Seen:
        return observe.machine(
            seconds, intervals, proc=str(self.root), clock=self.clock, sleep=self.sleep
        )


@pytest.mark.parametrize("kept", [True, False], ids=["schedstat", "status"])
def test_tasks_that_ran_went_or_came_are_active(tmp_path: Path, kept: bool) -> None:
    machine = Machine(tmp_path, kept)
    machine.start(10)
    machine.start(20, 21, 22)
    machine.start(30)
    asleep = machine.sleep

    def sleep(seconds: float) -> None:
        asleep(seconds)
        machine.run(20, 21, 7)  # one thread of three
        if (tmp_path / "30").exists():
            machine.end(30)
            machine.start(40)

    machine.sleep = sleep  # type: ignore[method-assign]
    seen = machine.watch(1, 1)
    assert seen.active == {1: 3}
    assert seen.processes == 5, "not itself"
    assert seen.threads == 7


def test_the_rate_is_the_difference_of_the_kernels_count(tmp_path: Path) -> None:
    seen = Machine(tmp_path).watch(60, 1, 15)
    assert seen.switches_per_s == pytest.approx(1000, rel=1e-3)
    assert seen.slowest <= seen.switches_per_s <= seen.fastest
    assert seen.active == {1: 0, 15: 0}


def test_an_interval_longer_than_the_watch_is_not_known(tmp_path: Path) -> None:
    seen = Machine(tmp_path).watch(5, 1, 15)
    assert seen.active[15] is None and seen.active[1] == 0


@pytest.mark.parametrize(("seconds", "intervals"), [(60, (1, 15, 60)), (60, (0.1,)), (3, (7,))])
def test_looks_are_few_and_at_the_ends_of_intervals(
    seconds: float, intervals: tuple[float, ...]
) -> None:
    times = observe.schedule(seconds, intervals)
    assert times[0] == 0 and times[-1] == seconds and times == sorted(times)
    assert len(times) <= 2 + observe.WINDOWS * len(intervals)
    for interval in intervals:
        if interval <= seconds:
            assert any(abs(b - a - interval) < 1e-6 for a in times for b in times)


def test_a_containers_proc_is_refused_since_it_mixes_two_machines(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    (tmp_path / "2" / "stat").write_text("2 (kthreadd) S 1 0 0 0 -1 4194304 0\n")
    with pytest.raises(Problem, match="container's processes.*whole host.*--processes"):
        machine.watch(1, 1)
    machine.end(2)
    with pytest.raises(Problem, match="container's processes"):
        machine.watch(1, 1)


def test_hidden_processes_are_no_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (tmp_path / "99" / "mountinfo").write_text(
        "20 1 0:1 / /proc rw,relatime shared:1 - proc proc rw,hidepid=invisible\n"
    )
    with pytest.raises(Problem, match="hidepid"):
        machine.watch(1, 1)
    (tmp_path / "99" / "mountinfo").write_text("20 1 0:1 / /proc rw - proc proc rw,hidepid=0\n")
    machine.watch(1, 1)


def test_another_system_is_told_what_to_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(Problem, match="takes Linux: give --processes and --switches"):
        observe.machine(1, [1])


def test_a_sleeping_child_is_counted_and_a_busy_one_is_active() -> None:
    with open("/proc/2/stat") as file:
        if "(kthreadd)" not in file.read():
            pytest.fail("these tests need a whole machine's /proc")
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        look = observe._look("/proc", observe._counters("/proc"), time.monotonic)
        time.sleep(0.3)
        again = observe._look("/proc", observe._counters("/proc"), time.monotonic)
    finally:
        busy.kill()
        busy.wait()
    tid = str(busy.pid)
    assert look.tasks[tid] != again.tasks[tid]
    assert abs(look.processes - sum(name.isdigit() for name in os.listdir("/proc"))) < 50
    assert again.switches > look.switches
