"""Nothing stays behind, however a collector or a workload ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable

import pytest

from tests.bpf import bpf_syscall
from tests.bpf.conftest import ARMS, BUILD, Start

WITH_PROGRAMS = [n for n in ARMS if ARMS[n]["programs"]]
#: how many programs these load depends on how this kernel lets them attach
BY_LADDER = {"sensor"}


def _until(condition: Callable[[], bool], seconds: float = 10) -> bool:
    """The kernel frees programs and maps a moment after the last descriptor is gone."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def _own_programs(process_id: int) -> set[int]:
    """Ids of the programs that this process holds descriptors of."""
    found = set()
    for fd in os.listdir(f"/proc/{process_id}/fdinfo"):
        with open(f"/proc/{process_id}/fdinfo/{fd}") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
        if "prog_id" in fields and "prog_type" in fields:
            found.add(int(fields["prog_id"]))
    return found


def _own_maps(process_id: int) -> set[int]:
    found = set()
    for fd in os.listdir(f"/proc/{process_id}/fdinfo"):
        with open(f"/proc/{process_id}/fdinfo/{fd}") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
        if "map_id" in fields:
            found.add(int(fields["map_id"]))
    return found


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("name", WITH_PROGRAMS)
def test_no_program_and_no_map_is_left(start: Start, name: str, sig: int) -> None:
    collector = start(name, 100)
    programs, maps = _own_programs(collector.process.pid), _own_maps(collector.process.pid)
    if name in BY_LADDER:
        assert programs
    else:
        assert len(programs) == ARMS[name]["programs"], "the YAML says how many"
    assert bool(maps) is bool(ARMS[name]["fields"]), "what reads nothing keeps nothing"
    assert programs <= bpf_syscall.program_ids()
    collector.process.send_signal(sig)
    collector.process.wait(timeout=20)
    assert _until(lambda: not programs & bpf_syscall.program_ids())
    assert _until(lambda: not maps & bpf_syscall.map_ids())


@pytest.mark.parametrize("name", ["sched_switch_published"])
def test_tracefs_is_mounted_for_the_collector_alone(start: Start, name: str) -> None:
    with open("/proc/self/mountinfo") as file:
        before = file.read()
    start(name, 100, "--scrapes", "1").finish(None)
    with open("/proc/self/mountinfo") as file:
        assert file.read() == before


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_idle_processes_end_with_their_parent(build: object, sig: int) -> None:
    command = ["bash", "-c", f'exec "{BUILD}/idle_processes" --count 200 3>&1']
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as idle:
        assert idle.stdout is not None and idle.stdout.readline() == "ready\n"
        with open(f"/proc/{idle.pid}/task/{idle.pid}/children") as file:
            children = [int(pid) for pid in file.read().split()]
        assert len(children) == 200
        idle.send_signal(sig)
        assert idle.wait(timeout=20) == (-sig if sig == signal.SIGKILL else 0)
    assert _until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in children))


@pytest.mark.parametrize(
    ("name", "options"),
    [("pipe_switch", ["--switches", "100000000"]), ("spin", ["--cpu-ms", "1000000"])],
)
def test_loads_end_with_their_parent(build: object, name: str, options: list[str]) -> None:
    shell = subprocess.Popen(
        ["bash", "-c", '"$@" & echo $!; wait', "bash", str(BUILD / name), *options],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert shell.stdout is not None
    pid = int(shell.stdout.readline())
    time.sleep(0.1)
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        family = [pid, *map(int, file.read().split())]
    shell.kill()
    shell.wait()
    shell.stdout.close()
    assert _until(lambda: not any(os.path.exists(f"/proc/{p}") for p in family))
