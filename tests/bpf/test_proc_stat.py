"""The parser of /proc/<pid>/stat against real processes with unfriendly names, and its counters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from tests.bpf.conftest import ROOT, Start, needs_root

READERS = ["proc_stat", "proc_stat_tuned"]

NAMES = [
    b"(a) R 1 (b c) R",
    b"x\ny) Z 0 0) R",
    b"(((a)))",
    b")",
    b") ) ) ) ) ) )",
    b" ",
    b"1 2 3 4 5 6 7 8",
    b"\xff\xfe\x80 )",
    b"",
]

# Takes a name, burns 200 ms, says what it has used and stays.
_NAMED = """
import ctypes, sys, time
ctypes.CDLL(None).prctl(15, ctypes.c_char_p(bytes.fromhex(sys.argv[1])), 0, 0, 0)
while time.process_time() < 0.2:
    pass
print(time.process_time_ns(), flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("reader", [*READERS, "psutil_processes"])
def test_names_do_not_confuse_the_parser(start: Start, reader: str) -> None:
    collector = start(reader, 200, "--dump")
    processes = [
        subprocess.Popen([sys.executable, "-c", _NAMED, name.hex()], stdout=subprocess.PIPE)
        for name in NAMES
    ]
    try:
        used = {}
        for process, name in zip(processes, NAMES, strict=True):
            assert process.stdout is not None
            used[process.pid] = int(process.stdout.readline())
            with open(f"/proc/{process.pid}/comm", "rb") as file:
                assert file.read() == name[:15] + b"\n"
        time.sleep(0.6)
        collector.finish()
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    last = {pid: start_ticks for pid, start_ticks, _ in collector.records()[-1]["processes"]}
    now_ticks = time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")
    for pid, known_ns in used.items():
        # ticks of 10 ms, and up to a few ms between the print and the last scrape
        assert collector.cpu_ns(pid) == pytest.approx(known_ns, abs=25_000_000)
        assert now_ticks - 120 * 100 < last[pid] <= now_ticks


@pytest.mark.parametrize("reader", READERS)
def test_deltas_are_never_negative_and_start_at_the_baseline(start: Start, reader: str) -> None:
    """What a process used before the baseline is not reported; what a new one used is, whole."""
    collector = start(reader, 200, "--dump")
    time.sleep(0.5)
    collector.finish()
    first = collector.records()[0]
    assert all(ns >= 0 for record in collector.records() for _, _, ns in record["processes"])
    own = [ns for pid, _, ns in first["processes"] if pid == os.getpid()]
    assert own and own[0] < 2 * first["interval_ns"]
    assert own[0] < time.process_time_ns()


@pytest.mark.parametrize("reader", READERS)
def test_processes_that_vanish_are_counted_not_reported(start: Start, reader: str) -> None:
    collector = start(reader, 10, "--dump")
    end = time.monotonic() + 2
    born = set()
    while time.monotonic() < end:
        children = [subprocess.Popen(["true"]) for _ in range(8)]
        born |= {child.pid for child in children}
        for child in children:
            child.wait()
    closing = collector.finish()
    assert closing["vanished"] is not None and closing["denied"] == 0
    assert born
    seen_at_end = {pid for pid, _, _ in collector.records()[-1]["processes"]}
    assert len(born & seen_at_end) < len(born)


@needs_root
@pytest.mark.parametrize("reader", READERS)
def test_pid_reuse_gives_no_negative_and_no_inherited_time(build: object, reader: str) -> None:
    """Two processes of the same pid, one after the other, in a namespace where that is quick.

    The new one has used less than the old: keyed by pid alone it would get a negative value, or
    the old one's total.
    """
    script = r"""
import os, signal, subprocess, sys, time
# a pid namespace of its own: ids start again at 1 and ns_last_pid can be set
os.unshare(os.CLONE_NEWPID | os.CLONE_NEWNS)
if os.fork():
    os.wait(); sys.exit(0)
subprocess.run(["mount", "--make-rprivate", "/"], check=True)
subprocess.run(["mount", "-t", "proc", "proc", "/proc"], check=True)
def spin(seconds):
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write("499")
    pid = os.fork()
    if not pid:
        while time.process_time() < seconds: pass
        time.sleep(60)
    return pid
collector, interval = sys.argv[1], sys.argv[2]
r, w = os.pipe()
reader = os.fork()
if not reader:
    os.dup2(w, 9); os.close(w); os.dup2(9, 4)
    os.execv(collector, [collector, "--interval-ms", interval, "--dump"])
os.close(w)
time.sleep(0.2)
for seconds in (0.4, 0.1):
    pid = spin(seconds); assert pid == 500, pid
    time.sleep(1.0)
    os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)
time.sleep(0.3)
os.kill(reader, signal.SIGTERM); os.waitpid(reader, 0)
sys.stdout.write(os.fdopen(r).read())
"""
    if not hasattr(os, "unshare"):  # Python 3.11
        script = script.replace(
            "os.unshare(os.CLONE_NEWPID | os.CLONE_NEWNS)",
            "import ctypes\nassert ctypes.CDLL(None).unshare(0x20020000) == 0",
        )
    command = [sys.executable, "-c", script, str(ROOT / "bpf/build" / reader), "100"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    by_start: dict[int, int] = {}
    for line in done.stdout.splitlines():
        for pid, start_ticks, ns in json.loads(line)["processes"]:
            assert ns >= 0
            if pid == 500:
                by_start[start_ticks] = by_start.get(start_ticks, 0) + ns
    totals = [by_start[key] for key in sorted(by_start)]
    assert totals == pytest.approx([400e6, 100e6], abs=30e6)
