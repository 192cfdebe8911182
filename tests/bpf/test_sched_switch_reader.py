"""The reader of sched_switch between any two steps of the program, which no run meets at will.

The reader is compiled as a library; the test is the program, one store at a time.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bpf.conftest import ROOT

DIRECT, SLOTS, CPUS = 4, 6, 2
LAST, UNSEEN, IDLE = 0xFFFFFFFF, 0xFFFFFFFE, 0
LEADER, THREAD, OTHER = 0x1000, 0x2000, 0x3000  # addresses of tasks

STUB = """
#include "sched_switch_reader.h"
int pushed;
int bpf_map_update_elem(int fd, const void *key, const void *value, unsigned long long flags)
{
	(void)fd, (void)key, (void)value, (void)flags;
	pushed++;
	return 0;
}
unsigned int sizes[] = {sizeof(struct cpu_record), sizeof(struct task_slot)};
"""


class Cpu(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("running", "changed", "mask", "padding")] + [
        ("counts", ctypes.c_uint64 * 6)
    ]


class Slot(ctypes.Structure):
    _fields_ = [
        ("task", ctypes.c_uint64),
        ("used_ns", ctypes.c_uint64),
        ("tgid", ctypes.c_uint32),
        ("next", ctypes.c_uint32),
        ("pid", ctypes.c_uint32),
        ("dead", ctypes.c_uint32),
        ("start", ctypes.c_uint64),
        ("reported_ns", ctypes.c_uint64),
        ("scrape", ctypes.c_uint64),
        ("ran", ctypes.c_uint64),
    ]


class Sample(ctypes.Structure):
    _fields_ = [
        ("place", ctypes.c_uint32),
        ("padding", ctypes.c_uint32),
        ("used_ns", ctypes.c_uint64),
    ]


class Fact(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_uint32),
        ("start_ticks", ctypes.c_uint64),
        ("cpu_ns", ctypes.c_uint64),
    ]


class Facts(ctypes.Structure):
    _fields_ = [("list", ctypes.POINTER(Fact)), ("length", ctypes.c_size_t)]


class Memory(ctypes.Structure):
    _fields_ = [
        ("cpus", ctypes.POINTER(Cpu)),
        ("slots", ctypes.POINTER(Slot)),
        ("samples", ctypes.POINTER(Sample)),
        ("direct_count", ctypes.c_uint32),
        ("slot_count", ctypes.c_uint32),
        ("cpu_count", ctypes.c_uint32),
        ("free_places_fd", ctypes.c_int),
        ("sample", ctypes.c_void_p),
    ]


class Reader:
    """The memory that the program and the reader share, and the program's steps."""

    def __init__(self, library: Path) -> None:
        self.code = ctypes.CDLL(str(library))
        sizes = (ctypes.c_uint * 2).in_dll(self.code, "sizes")
        assert list(sizes) == [ctypes.sizeof(Cpu), ctypes.sizeof(Slot)]
        self.cpus, self.slots = (Cpu * CPUS)(), (Slot * SLOTS)()
        self.samples = (Sample * CPUS)()
        self.sample = ctypes.CFUNCTYPE(None)(lambda: None)
        memory = Memory(
            self.cpus,
            self.slots,
            self.samples,
            DIRECT,
            SLOTS,
            CPUS,
            -1,
            ctypes.cast(self.sample, ctypes.c_void_p),
        )
        self.code.sched_switch_reader_start(ctypes.byref(memory))
        self.code.sched_switch_facts.restype = ctypes.POINTER(Facts)
        for cpu in self.cpus:
            assert cpu.running == UNSEEN
            cpu.running = IDLE

    def settle(self, place: int, task: int, pid: int, base_ns: int = 0) -> None:
        slot = self.slots[place - 1]
        assert not slot.task
        slot.task = task
        slot.dead, slot.reported_ns = 0, base_ns
        slot.tgid = slot.pid = pid
        slot.used_ns = base_ns

    def list(self, place: int) -> None:
        slot, cpu = self.slots[place - 1], self.cpus[0]
        if not slot.next:
            slot.next, cpu.changed = cpu.changed or LAST, place

    def used(self, place: int, used_ns: int) -> None:
        self.slots[place - 1].used_ns = used_ns
        self.list(place)

    def bury(self, place: int, pid: int) -> None:
        slot = self.slots[place - 1]
        slot.dead, before = pid, slot.dead
        if before != pid:
            self.list(place)

    def scrape(self) -> dict[int, int]:
        self.code.sched_switch_scrape()
        facts = self.code.sched_switch_facts().contents
        return {fact.pid: fact.cpu_ns for fact in facts.list[: facts.length]}


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    stub, library = tmp_path / "stub.c", tmp_path / "reader.so"
    stub.write_text(STUB)
    bpf = ROOT / "bpf"
    parts = ("processes/sched_switch_reader.c", "common/processes.c", "common/collector.c")
    include = [f"-I{bpf / 'common'}", f"-I{bpf / 'processes'}"]
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-std=gnu11", *include]
    subprocess.run([*command, stub, *(bpf / part for part in parts), "-o", library], check=True)
    yield Reader(library)


def test_a_change_is_reported_once(reader: Reader) -> None:
    reader.settle(1, OTHER, 40)
    reader.used(1, 500)
    assert [reader.scrape(), reader.scrape()] == [{40: 500}, {}]


def test_a_change_that_is_seen_late_is_in_the_next_scrape(reader: Reader) -> None:
    """Made while the slot was taken off the list, and so not listed again."""
    reader.settle(1, OTHER, 40)
    reader.used(1, 500)
    assert reader.scrape() == {40: 500}
    reader.slots[0].used_ns = 800
    assert [reader.scrape(), reader.scrape()] == [{40: 300}, {}]


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_slot_that_is_listed_while_a_new_task_moves_in_says_nothing_of_the_old_one(
    reader: Reader, steps: int
) -> None:
    reader.settle(1, OTHER, 40)
    reader.used(1, 500)
    reader.bury(1, 40)
    assert reader.scrape() == {40: 500}
    slot = reader.slots[0]
    assert not slot.task
    reader.list(1)  # by an end that came in the moment in which the list was taken
    slot.task = THREAD
    if steps > 1:
        slot.reported_ns = 0
    if steps > 2:
        slot.tgid = slot.pid = 44
    assert reader.scrape() == {}


def test_the_end_of_one_task_that_comes_late_does_not_free_the_next_ones_slot(
    reader: Reader,
) -> None:
    """A CPU found the old task in the slot, and notes its end after the reader has freed it."""
    reader.settle(1, LEADER, 40)
    reader.used(1, 500)
    reader.bury(1, 40)
    assert reader.scrape() == {40: 500}
    reader.settle(1, OTHER, 44)
    reader.used(1, 70)
    reader.bury(1, 40)
    assert [reader.scrape(), reader.scrape()] == [{44: 70}, {}]
    assert reader.slots[0].task == OTHER
    reader.used(1, 90)
    reader.bury(1, 44)
    assert reader.scrape() == {44: 20}
    assert not reader.slots[0].task


def test_a_slot_on_which_a_cpu_still_runs_is_not_freed(reader: Reader) -> None:
    """A thread that replaces its process, on the slot of the id that its leader has now."""
    reader.settle(1, THREAD, 44)
    reader.used(1, 500)
    reader.cpus[1].running = 1
    reader.bury(1, 44)
    assert [reader.scrape(), reader.scrape()] == [{44: 500}, {}]
    assert reader.slots[0].task == THREAD
    reader.used(1, 900)
    reader.cpus[1].running = IDLE
    assert reader.scrape() == {44: 400}
    assert not reader.slots[0].task


def test_ends_of_displaced_tasks_give_their_places_back_once(reader: Reader) -> None:
    pushed = ctypes.c_int.in_dll(reader.code, "pushed")
    assert pushed.value == SLOTS - DIRECT
    reader.settle(DIRECT + 1, OTHER, 40)
    reader.used(DIRECT + 1, 500)
    reader.bury(DIRECT + 1, 40)
    assert [reader.scrape(), reader.scrape()] == [{40: 500}, {}]
    assert pushed.value == SLOTS - DIRECT + 1
