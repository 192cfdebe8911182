"""System counters: parsed as the kernel means them, differences never negative."""

import ast
import contextlib
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from experiment.accounting import harness, machine, memory, schedstat
from experiment.estimate import TURNS
from experiment.trials import external

STAT = """\
cpu  100 10 50 {idle} {iowait} 3 4 7 44 45
cpu0 50 5 25 500 50 1 2 3 22 20
cpu5 50 5 25 500 50 2 2 4 22 25
intr 12345 0 9
ctxt 987654321
processes 4242
procs_running 2
"""
TICK = machine._NS_PER_TICK


def test_guest_time_is_inside_user_time_and_not_added_again():
    seen = machine.parse(STAT.format(idle=1000, iowait=500))
    assert seen.busy_ns == (100 + 10 + 50 + 3 + 4) * TICK
    assert seen.steal_ns == 7 * TICK
    assert (seen.switches, seen.forks) == (987654321, 4242)


def test_idle_time_that_falls_or_jumps_by_centuries_is_unknown_and_never_a_number():
    before = machine.parse(STAT.format(idle=1000, iowait=500))
    for idle, iowait in ((1000, 480), (8317131874320235395, 500)):
        after = machine.parse(STAT.format(idle=idle, iowait=iowait))
        assert after.since(before, 2 * 10**9)["idle_ns"] is None
        assert after.since(before, 2 * 10**9)["busy_ns"] == 0


def test_what_a_machine_can_use_is_kept():
    before = machine.parse(STAT.format(idle=1000, iowait=500))
    after = machine.parse(STAT.format(idle=1100, iowait=510))
    assert after.since(before, 2 * 10**9)["idle_ns"] == 110 * TICK


@given(st.lists(st.integers(0, 2**63), min_size=4, max_size=10))
def test_any_number_of_columns_is_read(ticks):
    seen = machine.parse("cpu  " + " ".join(map(str, ticks)) + "\nctxt 5\nprocesses 6\n")
    padded = (ticks + [0] * 8)[:8]
    assert seen.idle_ns == (padded[3] + padded[4]) * TICK


def test_the_running_machine_is_read():
    seen = machine.read()
    assert seen.switches > 0 and seen.forks > 0 and seen.idle_ns > 0
    assert machine.threads() >= machine.processes() > 0


def test_the_harness_counts_its_own_work():
    before = harness.at_start([])
    sum(range(2_000_000))
    spent, wakeups = harness.at_end([]).since(before)
    assert spent > 1_000_000
    assert wakeups >= 0


def test_a_driver_that_polls_is_counted():
    code = "import time\nwhile True: sum(range(20000)); time.sleep(0.01)"
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", code]) as poller:
        time.sleep(0.2)
        before = harness.at_start([poller.pid])
        time.sleep(0.5)
        spent, _ = harness.at_end([poller.pid]).since(before)
        poller.kill()
    assert spent > 2_000_000


def test_parents_that_drive_a_run_are_found_and_the_shell_above_them_is_not(tmp_path):
    root = Path(__file__).resolve().parents[3]
    code = f"import sys; sys.path.insert(0, {str(root)!r}); "
    code += "from experiment.accounting import harness; print(harness.drivers())"
    (tmp_path / "papermill").write_text(
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
    )
    (tmp_path / "shell.sh").write_text(
        f"{shlex.join([sys.executable, str(tmp_path / 'papermill')])}; true"
    )
    shell = ["sh", str(tmp_path / "shell.sh")]
    done = subprocess.run(shell, text=True, capture_output=True, check=True)
    assert len(ast.literal_eval(done.stdout)) == 1


def state(pid):
    return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]


def test_drivers_that_poll_stand_still_inside_a_window_and_go_on_after_it():
    with subprocess.Popen(["sleep", "60"]) as kernel:
        with harness.stopped([kernel.pid]):
            time.sleep(0.05)
            assert state(kernel.pid) == b"T"
        time.sleep(0.05)
        assert state(kernel.pid) == b"S"
        kernel.kill()


def test_drivers_that_poll_stand_still_while_events_are_counted_out(monkeypatch, tmp_path):
    seen = []

    class Still:
        def check_alive(self): ...

        def stop(self):
            return {}

    @contextlib.contextmanager
    def running(*_):
        yield Still(), SimpleNamespace(pids=list), 1

    with subprocess.Popen(["sleep", "60"]) as kernel:

        class Counter:
            def turn(self):
                time.sleep(0.02)
                seen.append(state(kernel.pid))
                return SimpleNamespace(events=1, work_ns=1)

        monkeypatch.setattr(external, "running", running)
        monkeypatch.setattr(
            external.counting, "counter", lambda *_: contextlib.nullcontext(Counter())
        )
        setting = SimpleNamespace(polling=[kernel.pid], paths={"build": str(tmp_path)})
        external.measure({"statistics": "off"}, setting, {}, [])
        time.sleep(0.05)
        seen.append(state(kernel.pid))
        kernel.kill()
    assert seen == [b"T"] * TURNS + [b"S"]


def test_only_what_a_driver_has_started_is_stopped_and_never_what_a_shell_has(tmp_path):
    script = tmp_path / "papermill"
    script.write_text(
        "import subprocess, sys\n"
        "code = 'import time; time.sleep(60)'\n"
        "kernel = subprocess.Popen([sys.executable, '-c', code, 'ipykernel_launcher'])\n"
        "print(kernel.pid, flush=True); kernel.wait()"
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) as top:
        kernel = int(top.stdout.readline())
        until = time.monotonic() + 5
        while b"ipykernel" not in Path(f"/proc/{kernel}/cmdline").read_bytes():
            assert time.monotonic() < until
        assert harness.polling([top.pid, kernel]) == [kernel]
        os.kill(kernel, 9)


def test_what_a_driver_has_started_beside_the_runner_is_counted_and_the_runner_is_not(tmp_path):
    root = Path(__file__).resolve().parents[3]
    code = f"import os, sys; sys.path.insert(0, {str(root)!r}); "
    code += "from experiment.accounting import harness; "
    code += "own = os.spawnvp(os.P_NOWAIT, 'sleep', ['sleep', '5']); "
    code += "print(own, os.getpid(), harness.drivers()); os.kill(own, 9)"
    (tmp_path / "papermill").write_text(
        "import subprocess, sys\n"
        "kernel = subprocess.Popen(['sleep', '5'])\n"
        f"subprocess.run([sys.executable, '-c', {code!r}])\n"
        "print(kernel.pid); kernel.kill()"
    )
    command = [sys.executable, str(tmp_path / "papermill")]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as driver:
        first, kernel = driver.stdout.read().splitlines()
    own, runner, counted = ast.literal_eval("(" + first.replace(" ", ", ", 2) + ")")
    assert set(counted) == {driver.pid, int(kernel)}
    assert own not in counted and runner not in counted


def test_memory_of_a_vanished_process_is_unknown_and_not_zero():
    assert memory.resident_bytes([2**22 + 1]) is None
    assert memory.resident_bytes([os.getpid()]) > 1_000_000


def test_a_process_counts_its_threads_in_ns():
    times = schedstat.thread_times(os.getpid())
    assert times and all(ns >= 0 for ns in times.values())
