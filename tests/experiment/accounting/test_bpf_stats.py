"""BPF statistics: differences of the right programs, switched on by a descriptor and off again."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiment import doctor, kernel
from experiment.accounting import bpf_stats
from experiment.accounting.bpf_stats import Reading

ROOT = Path(__file__).resolve().parents[3]
SYSCTL = Path("/proc/sys/kernel/bpf_stats_enabled")


@pytest.fixture(scope="module")
def possible():
    """Skips with the doctor's reason where this kernel or user cannot load BPF."""
    answer = doctor.report({})["arms_possible"]
    for need in ("bpf", "btf"):
        if not answer[need]["possible"]:
            pytest.skip(f"unavailable: {answer[need]['reason']}")


@pytest.fixture
def collector(possible):
    """sched_switch, attached and not scraping; gives (its process, the ids loaded before)."""
    before = bpf_stats.loaded()
    read_end, write_end = os.pipe()
    program = ROOT / "bpf" / "build" / "sched_switch"

    def protocol():
        os.dup2(write_end, 3)

    with subprocess.Popen(
        [program, "--interval-ms", "3600000"], pass_fds=[3], preexec_fn=protocol
    ) as process:
        os.close(write_end)
        assert os.read(read_end, 10) == b"ready\n"
        time.sleep(0.5)
        yield process, before
        process.terminate()
    os.close(read_end)


def force_switches(count):
    subprocess.run(
        [ROOT / "bpf" / "build" / "pipe_switch", "--switches", str(count)],
        check=True, capture_output=True,
    )  # fmt: skip


def test_programs_are_found_by_descriptor_and_by_what_is_new(collector):
    process, before = collector
    by_descriptor = bpf_stats.of_processes([process.pid])
    new = set(bpf_stats.loaded()) - set(before)
    assert by_descriptor and by_descriptor <= new
    programs = bpf_stats.Programs(before, [])
    assert programs.count is not None and programs.count >= 1
    programs.close()


def test_runs_are_counted_between_two_readings_and_only_while_switched_on(collector):
    process, before = collector
    programs = bpf_stats.Programs(before, [process.pid])
    quiet = programs.read()
    force_switches(20_000)
    assert programs.read() == quiet, "off means off"
    with bpf_stats.statistics(True):
        begin = programs.read()
        force_switches(20_000)
        seen = programs.read().since(begin)
    programs.close()
    assert 20_000 <= seen.run_count < 40_000
    assert 10 < seen.run_ns / seen.run_count < 100_000


def test_the_sysctl_is_never_touched_and_statistics_end_with_their_holder(collector):
    before = SYSCTL.read_text()
    code = (
        f"import sys, os, signal; sys.path.insert(0, {str(ROOT)!r}); "
        "from experiment import kernel; kernel.enable_bpf_stats(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    assert SYSCTL.read_text() == before
    _, loaded_before = collector
    programs = bpf_stats.Programs(loaded_before, [])
    quiet = programs.read()
    force_switches(1000)
    assert programs.read() == quiet
    programs.close()


def test_a_held_program_does_not_outlive_its_reading(collector):
    process, before = collector
    programs = bpf_stats.Programs(before, [process.pid])
    process.terminate()
    process.wait()
    programs.close()
    until = time.monotonic() + 5
    while set(bpf_stats.loaded()) - set(before) and time.monotonic() < until:
        time.sleep(0.05)
    assert set(bpf_stats.loaded()) <= set(before)


@pytest.mark.parametrize("late", [Reading(1, 9, 0), Reading(9, 1, 0), Reading(9, 9, -1)])
def test_counters_that_go_backwards_make_the_sample_invalid(late):
    with pytest.raises(ValueError, match="backwards"):
        late.since(Reading(5, 5, 0))


def test_a_program_that_vanishes_while_it_is_attributed_makes_the_sample_invalid(monkeypatch):
    monkeypatch.setattr(bpf_stats, "loaded", lambda: [1, 999_999_999])
    monkeypatch.setattr(
        kernel, "open_program", lambda number: (_ for _ in ()).throw(FileNotFoundError())
    )
    with pytest.raises(ValueError, match="vanished"):
        bpf_stats.Programs([1], [])


def test_without_the_right_to_list_programs_their_count_is_unknown_and_not_zero(monkeypatch):
    monkeypatch.setattr(
        kernel, "program_ids", lambda: (_ for _ in ()).throw(PermissionError(1, "no"))
    )
    programs = bpf_stats.Programs(bpf_stats.loaded(), [])
    assert programs.count is None


def test_private_mounts_do_not_reach_the_machine(possible):
    before = Path("/proc/self/mounts").read_text()
    code = (
        f"import sys, os; sys.path.insert(0, {str(ROOT)!r}); from experiment import mounts; "
        "print(mounts.prepare()); print(os.path.exists('/sys/kernel/tracing/events/sched'))"
    )
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == "True"
    assert Path("/proc/self/mounts").read_text() == before
