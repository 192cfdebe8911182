"""The gauges against /proc read by the test itself."""

from __future__ import annotations

import os
import time

import pytest

from tests.bpf.conftest import ARMS, Start

MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
GAUGES = [name for name in ARMS if ARMS[name]["study"] == "gauges"]


def _cpu_ns() -> dict[str, int]:
    tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    with open("/proc/stat") as file:
        return {m: int(v) * tick for m, v in zip(MODES, file.readline().split()[1:], strict=False)}


def _memory() -> dict[str, int]:
    with open("/proc/meminfo") as file:
        return {line.split(":")[0]: int(line.split()[1]) * 1024 for line in file}


@pytest.mark.parametrize("name", GAUGES)
def test_agrees_with_proc(start: Start, name: str) -> None:
    collector = start(name, 200, "--scrapes", "4", "--dump")
    before = _cpu_ns()
    closing = collector.finish(None)
    after, memory = _cpu_ns(), _memory()
    assert closing["records"] == 1
    records = collector.records()
    last = records[-1]
    # idle differs by what is under way: /proc adds it, the kernel's own counter does not yet
    slack = {"idle": (os.cpu_count() or 1) * 2_000_000_000, "iowait": 2_000_000_000}
    for mode in MODES:
        allowed = slack.get(mode, 50_000_000)
        assert before[mode] - allowed <= last["cpu_ns"][mode] <= after[mode] + allowed, mode
        values = [record["cpu_ns"][mode] for record in records]
        assert values == sorted(values)
    assert last["memory_bytes"]["total"] == memory["MemTotal"]
    assert last["memory_bytes"]["free"] == pytest.approx(memory["MemFree"], abs=256 << 20)


@pytest.mark.parametrize("name", GAUGES)
def test_sees_work_being_done(start: Start, name: str) -> None:
    collector = start(name, 500, "--dump")
    end = time.monotonic() + 1.6
    while time.monotonic() < end:
        pass
    collector.finish()
    first, *_, last = collector.records()
    spent = last["cpu_ns"]["user"] - first["cpu_ns"]["user"]
    assert spent > 0.5 * (last["at_ns"] - first["at_ns"])
