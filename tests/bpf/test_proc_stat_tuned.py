"""Descriptors that stay open and listings that are left out never change what is reported."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import time
from collections.abc import Callable

import pytest

from tests.bpf.conftest import BUILD, Start, needs_root

Workload = Callable[..., "subprocess.Popen[str]"]
COLLECTOR = str(BUILD / "proc_stat_tuned")


def _scrapes(*prefix: str, scrapes: int = 4) -> tuple[dict[str, int], list[dict[str, object]], str]:
    """(closing line, records, stderr) of a collector started through a prefix of commands."""
    words = [*prefix, COLLECTOR, "--interval-ms", "50", "--scrapes", str(scrapes), "--dump"]
    # both descriptors of the protocol into one pipe: the closing line is the one with "scrapes"
    shell = ["bash", "-c", 'exec "$@" 3>&1 4>&1', "bash", *words]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line != "ready"]
    closing = next(line for line in lines if "scrapes" in line)
    return closing, [line for line in lines if "processes" in line], done.stderr


def _pids(record: dict[str, object]) -> set[int]:
    processes = record["processes"]
    assert isinstance(processes, list)
    return {pid for pid, _, _ in processes}


def _idle(pid: int) -> set[int]:
    """The idle processes below a workload."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return set(map(int, file.read().split()))


def test_a_process_made_between_scrapes_is_found_and_its_time_is_whole(
    start: Start, workload: Workload
) -> None:
    collector = start("proc_stat_tuned", 100, "--dump")
    spin = workload("spin", "--cpu-ms", "200", "--hold-ms", "500")
    used = json.loads(spin.communicate(timeout=30)[0])
    collector.finish()
    assert collector.cpu_ns(spin.pid) == pytest.approx(used["cpu_ns"], abs=25_000_000)


def test_what_has_ended_is_dropped_and_what_stays_is_reported_each_time(
    start: Start, workload: Workload
) -> None:
    idle = workload("idle_processes", "--count", "40")
    time.sleep(0.3)
    children = _idle(idle.pid)
    assert len(children) == 40
    collector = start("proc_stat_tuned", 50, "--dump")
    time.sleep(0.3)
    idle.terminate()
    idle.wait()
    time.sleep(0.3)
    closing = collector.finish()
    records = collector.records()
    assert children <= _pids(records[0])
    assert not children & _pids(records[-1])
    assert closing["vanished"] >= 40


@pytest.mark.parametrize("files", [33, 60])
def test_beyond_the_limit_of_open_files_it_opens_and_closes(
    build: object, workload: Workload, files: int
) -> None:
    idle = workload("idle_processes", "--count", "100")
    time.sleep(0.3)
    _, records, said = _scrapes("prlimit", f"--nofile={files}", "--")
    assert all(_idle(idle.pid) <= _pids(record) for record in records)
    assert said.count("\n") == 1 and f"at most {files - 32} stay open" in said


def test_a_soft_limit_of_open_files_is_raised(build: object, workload: Workload) -> None:
    workload("idle_processes", "--count", "100")
    time.sleep(0.3)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    hard = 65536 if hard == resource.RLIM_INFINITY else hard
    assert _scrapes("prlimit", f"--nofile=40:{hard}", "--")[2] == ""


_MADE_LATER = """
import os, subprocess, sys, time
out, (status, its_end) = os.dup(3), os.pipe()
os.dup2(its_end, 3)
os.close(its_end)
reader = subprocess.Popen(sys.argv[1:], pass_fds=(3, 4))
os.close(3)
assert os.read(status, 100) == b"ready\\n"
time.sleep(0.1)
child = os.fork()
if not child:
    time.sleep(60)
os.write(2, b"%d" % child)
with os.fdopen(status, "rb") as closing:
    os.write(out, closing.read())
reader.wait()
os.kill(child, 9)
"""


@needs_root
@pytest.mark.parametrize(
    "mounts",
    [
        # a sandbox's answer: a counter that never moves
        'printf "cpu 0\\nprocesses 0\\n" >/run/stat; mount --bind /run/stat /proc/stat',
        'printf "cpu 0\\nprocesses 77\\n" >/run/stat; mount --bind /run/stat /proc/stat',
        # no such file at all
        "mount -t proc -o subset=pid proc /proc",
        "mount -t proc -o hidepid=2 proc /proc",
    ],
)
def test_where_forks_cannot_be_counted_it_lists_each_time(build: object, mounts: str) -> None:
    script = f'mount -t tmpfs tmpfs /run; {mounts}; exec "$@"'
    private = ["unshare", "--mount", "--propagation", "private", "bash", "-c", script, "bash"]
    _, records, said = _scrapes(*private, "/usr/bin/python3", "-c", _MADE_LATER, scrapes=20)
    born = int(said)
    assert born not in _pids(records[0])
    assert born in _pids(records[-1])


_COUNT_FALLS = """
import os, subprocess, sys
def write(ticks):
    with open("/proc/42/stat", "r+") as file:
        file.write(f"42 (x) S{' 1' * 10} {ticks:05} 00000{' 1' * 6} 00777 1 1 1 1 1 1\\n")
write(500)
(status, its_end), (dump, dumped) = os.pipe(), os.pipe()
names = {3: its_end, 4: dumped}
words = ["bash", "-c", f'exec "$@" 3>&{its_end} 4>&{dumped}', "bash", *sys.argv[1:]]
reader = subprocess.Popen(words, pass_fds=(its_end, dumped))
lines = os.fdopen(dump)
for ticks in (500, 0, 510):
    lines.readline()
    write(ticks)
os.close(its_end)
os.close(dumped)
print(lines.read(), end="")
"""


@needs_root
def test_a_count_that_falls_for_a_moment_is_not_reported_again(build: object) -> None:
    """As of a process whose leader another thread is just replacing: its file says 0."""
    script = "mount -t tmpfs tmpfs /proc; mkdir /proc/42 /proc/self; "
    script += 'touch /proc/42/stat /proc/self/stat; exec "$@"'
    private = ["unshare", "--mount", "--propagation", "private", "bash", "-c", script, "bash"]
    words = [COLLECTOR, "--interval-ms", "100", "--scrapes", "6", "--dump"]
    command = [*private, "/usr/bin/python3", "-c", _COUNT_FALLS, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line)["processes"] for line in done.stdout.split("\n") if line]
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    used = [ns for record in records for pid, start, ns in record if (pid, start) == (42, 777)]
    assert sum(used) == 10 * tick_ns and len(used) == 3


@needs_root
def test_processes_of_others_that_hidepid_refuses_are_counted(build: object) -> None:
    """hidepid=1 lists them and refuses the read, each time anew."""
    user = "setpriv --reuid 65534 --regid 65534 --clear-groups"
    script = f'mount -t proc -o hidepid=1 proc /proc; exec {user} "$@"'
    private = ["unshare", "--mount", "--propagation", "private", "bash", "-c", script, "bash"]
    closing, records, _ = _scrapes(*private)
    assert os.getpid() not in _pids(records[-1])
    assert closing["denied"] >= 5
