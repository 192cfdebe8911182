"""Every collector: ready, absolute scrape times, dump, closing line, exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from tests.bpf.conftest import ARMS, Start, command_of, needs_root, refused

COUNTS = ("lost", "recursion_misses", "vanished", "denied")
NOT_BCC = [name for name in ARMS if name != "bcc_sched_switch"]  # it parses like psutil_processes
NATIVE_BPF = [name for name in NOT_BCC if "bpf" in ARMS[name]["needs"]]
PROCESSES = [name for name in ARMS if ARMS[name]["study"] == "processes"]


@pytest.mark.parametrize("name", ARMS)
def test_scrapes_at_absolute_times_and_closes(start: Start, name: str) -> None:
    interval_ms, scrapes = 50, 12
    collector = start(name, interval_ms, "--scrapes", str(scrapes), "--dump")
    closing = collector.finish(None)
    assert closing["scrapes"] == scrapes
    at = closing["scrape_at_ns"]
    cpu = closing["scrape_cpu_ns"]
    assert len(at) == len(cpu) == scrapes
    assert cpu == sorted(cpu)
    # every scrape lies on the grid that begins just before "ready": no drift however long it runs
    grid = interval_ms * 1_000_000
    phases = sorted((moment - at[0]) % grid for moment in at)
    shifts = [min(phase, grid - phase) for phase in phases]
    assert sorted(shifts)[len(shifts) // 2] < grid // 5, shifts
    # a wake-up that is late only adds: the earliest says where the grid began
    began = min(moment - (n + 1) * grid for n, moment in enumerate(at))
    assert -grid // 5 < collector.ready_ns - began < 5 * grid, "it is read a little later"
    records = collector.records()
    assert [record["scrape"] for record in records] == list(range(1, scrapes + 1))
    assert [record["at_ns"] for record in records] == at
    for count in COUNTS:
        assert closing[count] is None or closing[count] >= 0


@pytest.mark.parametrize("name", PROCESSES)
def test_dump_has_the_facts(start: Start, name: str) -> None:
    collector = start(name, 100, "--scrapes", "5", "--dump")
    closing = collector.finish(None)
    records = collector.records()
    for record in records:
        assert 0 < record["interval_ns"] < 5_000_000_000
        for pid, start_ticks, ns in record["processes"]:
            assert pid >= 0 and ns >= 0
            assert start_ticks is None or start_ticks >= 0
    assert closing["records"] == len(records[-1]["processes"])
    if name == "null_agent":
        assert closing["records"] == 0
    else:
        assert any(record["processes"] for record in records)


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", ["null_agent", "psutil_processes", "sched_switch"])
def test_signal_ends_a_long_sleep_at_once(start: Start, name: str, sig: int) -> None:
    collector = start(name, 600_000)
    begin = time.monotonic()
    closing = collector.finish(sig)
    assert time.monotonic() - begin < 5
    assert closing["scrapes"] == 0 and closing["scrape_at_ns"] == []


def test_late_scrapes_are_skipped_and_counted(start: Start) -> None:
    collector = start("null_agent", 20)
    time.sleep(0.2)
    collector.process.send_signal(signal.SIGSTOP)
    time.sleep(0.3)
    collector.process.send_signal(signal.SIGCONT)
    time.sleep(0.2)
    closing = collector.finish()
    assert closing["late"] >= 10
    at = closing["scrape_at_ns"]
    assert max(b - a for a, b in zip(at, at[1:], strict=False)) > 250_000_000
    off = [(moment - at[0]) % 20_000_000 for moment in at]
    assert sum(min(phase, 20_000_000 - phase) < 4_000_000 for phase in off) > len(off) * 0.8


@pytest.mark.parametrize(
    "name", ["null_agent", "proc_stat", "proc_stat_tuned", "proc_files", "psutil_processes"]
)
def test_runs_without_the_descriptors(build: object, name: str) -> None:
    command = [*command_of(name, 20), "--scrapes", "2", "--dump"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", NOT_BCC)
@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (["--interval-ms", "0"], "--interval-ms"),
        (["--interval-ms", "1e3"], "--interval-ms"),
        (["--interval-ms", "-5"], "--interval-ms"),
        (["--intervall-ms", "5"], "--intervall-ms"),
        (["--interval-ms"], "--interval-ms"),
        (["--scrapes", "x"], "--scrapes"),
        ([], "--interval-ms"),
    ],
)
def test_bad_arguments_are_one_line_and_2(
    build: object, name: str, wrong: list[str], named: str
) -> None:
    bare = [word for word in command_of(name, 1000) if word not in ("--interval-ms", "1000")]
    if name.endswith(("_cores", "_cores_published")):  # without a word it shows a person its table
        bare.append("--dump")
    done = subprocess.run([*bare, *wrong], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, done
    assert done.stderr.count("\n") == 1 and named in done.stderr


@pytest.mark.parametrize("name", NATIVE_BPF)
def test_without_the_right_the_reason_is_one_line(build: object, name: str) -> None:
    command = command_of(name, 1000)
    if os.geteuid() == 0:
        command = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3, done
    assert done.stderr.count("\n") == 1
    assert "EPERM" in done.stderr or "kallsyms" in done.stderr or "tracefs" in done.stderr


@needs_root
def test_bcc_without_headers_says_what_to_install(build: object) -> None:
    script = 'mount -t tmpfs tmpfs /lib/modules && exec "$@"'
    command = command_of("bcc_sched_switch", 1000)[-len(ARMS["bcc_sched_switch"]["command"]) :]
    private = ["unshare", "--mount", "--propagation", "private", "bash", "-c", script, "bash"]
    done = subprocess.run([*private, *command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3, done
    if "has no bcc" in done.stderr:
        refused("bcc_sched_switch", done.stderr)
    assert done.stderr.count("\n") == 1 and "linux-headers" in done.stderr
