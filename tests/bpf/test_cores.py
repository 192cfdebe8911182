"""The collectors of the study cores: what they say of each CPU, to a person and to the runner."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path

import pytest

from experiment import core_reports
from experiment.kernel import program_ids
from experiment.trials.cores import account_of_cpus
from tests.bpf.conftest import BUILD, UNAVAILABLE, Start, needs_root, refused

BOTH = ("sched_switch_cores", "proc_stat_cores")
CPU_LINES = re.compile(r"(\d+|average) +(\d+\.\d\d) +(\d+\.\d\d)")
POSSIBLE, ONLINE = (f"/sys/devices/system/cpu/{name}" for name in ("possible", "online"))

Workload = Callable[..., "subprocess.Popen[str]"]


@pytest.mark.parametrize("name", BOTH)
def test_the_dump_has_every_online_cpu_and_no_more_time_than_there_is(
    start: Start, name: str
) -> None:
    collector = start(name, 200, "--scrapes", "4", "--dump")
    closing = collector.finish(None)
    online = {str(cpu) for cpu in os.sched_getaffinity(0)}
    for record in collector.records():
        assert set(record["cores"]) >= online
        tick_ns = 0 if name == "sched_switch_cores" else 30_000_000
        for active_ns in record["cores"].values():
            assert 0 <= active_ns <= 1.05 * record["interval_ns"] + tick_ns
    assert closing["records"] >= len(online)


def test_what_the_published_monitor_misses_at_a_scrape_comes_later(start: Start) -> None:
    """A task that runs across scrapes is in the one after its switch, and in no other."""
    collector = start("sched_switch_cores_published", 200, "--scrapes", "10", "--dump")
    collector.finish(None)
    records = collector.records()
    elapsed = sum(record["interval_ns"] for record in records)
    for cpu in records[0]["cores"]:
        active = sum(record["cores"][cpu] for record in records)
        # what ran at the first, baseline scrape began up to a second before it
        assert 0 < active < elapsed + 1_000_000_000


def test_bursts_shorter_than_a_tick_are_seen(start: Start, workload: Workload) -> None:
    """A fifth of the time in bursts of 200 us; what a poller makes of them is chance."""
    account = account_of_cpus()
    if account is None:
        pytest.skip("unavailable: this kernel has no account of each CPU")
    collector = start("sched_switch_cores", 500, "--scrapes", "5", "--dump")
    load = workload(
        "duty_cores", "--duty", 20, "--burst-us", 200, "--seconds", 4, "--others", account
    )
    known = json.loads(load.communicate(timeout=60)[0])
    collector.finish(None)
    reports = core_reports.recorded(collector.records())
    rows = core_reports.against(reports, known["cpus"])
    assert len(rows) >= 2
    off = [row["reported_percent"] - row["known_percent"] for row in rows]
    assert all(row["known_percent"] > 15 for row in rows)
    # stolen time is active to the one and unknown to the other: only upwards
    assert -1.5 < statistics.median(off) < 6


def printed(name: str, *options: str) -> str:
    """What it prints for a person, into a pipe."""
    done = subprocess.run(
        [BUILD / name, *options], capture_output=True, text=True, timeout=60, close_fds=True
    )
    if done.returncode == UNAVAILABLE:
        refused(name, done.stderr)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("build")
@pytest.mark.parametrize("name", BOTH)
def test_a_person_gets_a_table_each_interval(name: str) -> None:
    tables = printed(name, "--interval-ms", "200", "--scrapes", "2").split("\n\n")
    assert len(tables) == 2
    for table in tables:
        assert re.match(r"CPU +active +id\b", table)
        found = {cpu: (float(a), float(i)) for cpu, a, i in CPU_LINES.findall(table)}
        assert set(found) >= {"average", *(str(cpu) for cpu in os.sched_getaffinity(0))}
        assert all(
            active + idle == pytest.approx(100, abs=0.011) for active, idle in found.values()
        )
        mean = statistics.mean(active for cpu, (active, _) in found.items() if cpu != "average")
        assert found["average"][0] == pytest.approx(mean, abs=0.02)


@pytest.mark.parametrize("name", BOTH)
def test_the_runner_gets_no_table(build: Path, tmp_path: Path, name: str) -> None:
    words = [str(build / name), "--interval-ms", "50", "--scrapes", "3"]
    script = f'exec "$@" 3>"{tmp_path / "status"}"'
    done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, timeout=60)
    if done.returncode == UNAVAILABLE:
        refused(name, done.stderr.decode())
    assert (done.returncode, done.stdout) == (0, b"")
    assert (tmp_path / "status").read_text().startswith("ready\n")


def on_terminal(rows: int, columns: int, frames: int, resized: bool = False) -> list[str]:
    """What the monitor draws on a terminal of that size, cut where a table begins anew."""
    before = set(program_ids()) if os.geteuid() == 0 else set()
    pid, terminal = pty.fork()
    if pid == 0:
        os.closerange(3, 64)
        time.sleep(0.1)  # until the terminal has its size
        os.execv(BUILD / "sched_switch_cores", ["sched_switch_cores", "--interval-ms", "100"])
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    text = ""
    until = time.monotonic() + 30
    while text.count("average") < frames and time.monotonic() < until:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            text += os.read(terminal, 65536).decode()
        except OSError:  # it has ended
            break
        if resized and "average" in text:
            ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns - 1, 0, 0))
    if "average" not in text:
        refused("sched_switch_cores", text)
    os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    if before:
        time.sleep(0.2)
        assert set(program_ids()) <= before, "Ctrl-C leaves nothing"
    return text.replace("\r", "").split("\x1b[J")[:-1]


UP = re.compile(r"\x1b\[(\d+)A")


@pytest.mark.usefixtures("build")
@pytest.mark.parametrize(
    ("rows", "columns"), [(24, 80), (24, 200), (24, 60), (24, 20), (6, 80), (5, 80), (4, 30)]
)
def test_on_a_terminal_of_any_size_each_table_is_drawn_over_the_one_before(
    rows: int, columns: int
) -> None:
    lines = 0
    for frame in on_terminal(rows, columns, 3):
        up = UP.match(frame)
        assert int(up[1]) if up else lines == 0, "where the table before began"
        assert not up or int(up[1]) == lines
        shown = re.sub(r"\x1b\[\d*[A-Z]", "", frame).splitlines()
        lines = len(shown)
        assert max(map(len, shown)) <= columns, "a longer line would take two"
        assert lines < rows, "and a higher table scroll away"


@pytest.mark.usefixtures("build")
def test_a_terminal_that_has_changed_its_size_is_cleared() -> None:
    frames = on_terminal(24, 80, 4, resized=True)
    assert not frames[0].startswith("\x1b")
    assert sum(frame.startswith("\x1b[H\x1b[2J") for frame in frames) == 1


@pytest.mark.usefixtures("build")
@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("target", ["| head -1", ">/dev/full"])
def test_it_ends_when_nobody_can_read_on(name: str, target: str) -> None:
    before = set(program_ids()) if os.geteuid() == 0 else set()
    script = f'"{BUILD / name}" --interval-ms 50 {target}; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30)
    if done.returncode == UNAVAILABLE:
        refused(name, done.stderr)
    assert done.returncode == 0
    if before:
        time.sleep(0.2)
        assert set(program_ids()) <= before


def in_private(folder: Path, script: str, **files: str) -> list[str]:
    """Words that run ``script`` with ``files`` in place of those of the kernel."""
    places = {"possible": POSSIBLE, "online": ONLINE, "stat": "/proc/stat"}
    mounts = []
    for name, text in files.items():
        (folder / name).write_text(text)
        mounts.append(f"mount --bind '{folder / name}' {places[name]}")
    private = ["unshare", "--mount", "--propagation", "private", "bash", "-ec"]
    return [*private, "\n".join([*mounts, script])]


def stat(**ticks: tuple[int, int]) -> str:
    """/proc/stat with (user, idle) of each CPU; its other numbers are those of guests and waits."""
    lines = [f"{cpu} {user} 0 0 {idle} 7 0 0 3 2 1" for cpu, (user, idle) in ticks.items()]
    return "\n".join(["cpu  1 2 3 4 5 6 7 8 9 10", *lines, "intr 1 2", ""])


@needs_root
def test_numbers_with_holes_and_cpus_that_come_and_go(build: Path, tmp_path: Path) -> None:
    collector = f"'{build}/proc_stat_cores' --interval-ms 300 --scrapes 3 --dump"
    dump = tmp_path / "dump"
    script = f'exec {collector} 3>"{tmp_path / "status"}" 4>"{dump}"'
    first = stat(cpu0=(100, 50), cpu5=(200, 50))
    words = in_private(tmp_path, script, possible="0-7\n", stat=first)
    changes = [
        stat(cpu0=(110, 60), cpu5=(205, 60)),
        stat(cpu0=(110, 90)),  # cpu5 goes offline
        stat(cpu0=(109, 90), cpu5=(225, 60), cpu7=(1000, 0)),  # back; one that is new; one falls
    ]
    with subprocess.Popen(words) as process:
        while not (tmp_path / "status").exists() or not (tmp_path / "status").read_text():
            assert process.poll() is None
            time.sleep(0.01)
        for n, text in enumerate(changes, 1):
            (tmp_path / "stat").write_text(text)
            while not dump.exists() or dump.read_text().count("\n") < n:
                assert process.poll() in (None, 0)
                time.sleep(0.01)
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    found = [json.loads(line)["cores"] for line in dump.read_text().splitlines()]
    assert found == [
        {"0": 10 * tick_ns, "5": 5 * tick_ns},
        {"0": 0},
        {"0": 0, "5": 20 * tick_ns, "7": 0},
    ]
    closing = json.loads((tmp_path / "status").read_text().splitlines()[1])
    assert closing["clamped"] == 1


@needs_root
@pytest.mark.usefixtures("build")
def test_the_monitor_shows_those_that_are_online(tmp_path: Path) -> None:
    """Also those whose number is beyond how many there are."""
    script = f"exec '{BUILD}/sched_switch_cores' --interval-ms 100 --scrapes 1"
    words = in_private(tmp_path, script, possible="0-130\n", online="0,64-65,130\n")
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    if done.returncode == UNAVAILABLE:
        refused("sched_switch_cores", done.stderr)
    assert [cpu for cpu, _, _ in CPU_LINES.findall(done.stdout)] == [
        "0",
        "64",
        "65",
        "130",
        "average",
    ]


def test_scheduler_pressure_stops_by_itself_and_says_what_it_did(workload: Workload) -> None:
    load = workload("stress_threads", "--count", 20, "--sleep-us", 2000, "--seconds", 1)
    said = json.loads(load.communicate(timeout=60)[0])
    assert load.returncode == 0 and said["tasks"] == 20
    assert 20 * 50 < said["voluntary"] <= 20 * 520 * said["seconds"]
    assert said["switches"] >= said["voluntary"] and said["cpu_ns"] > 0


def test_scheduler_pressure_ends_with_its_parent(workload: Workload) -> None:
    load = workload("stress_threads", "--count", 5)
    time.sleep(0.5)
    children = Path(f"/proc/{load.pid}/task/{load.pid}/children").read_text().split()
    assert len(children) == 5
    load.send_signal(signal.SIGKILL)
    load.wait()
    until = time.monotonic() + 10
    while any(Path(f"/proc/{pid}/exe").exists() for pid in children):
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize(
    "name, arguments, said",
    [
        ("stress_threads", [], "--count is missing"),
        ("duty_cores", ["--duty", 5], "--burst-us is missing"),
        ("duty_cores", ["--duty", 100], "want a whole number from 1 to 99"),
    ],
)
def test_bad_arguments_are_one_line(
    workload: Workload, name: str, arguments: list[object], said: str
) -> None:
    load = workload(name, *arguments)
    _, error = load.communicate(timeout=10)
    assert load.returncode == 2 and said in error and error.count("\n") == 1


def test_the_duty_cycle_burns_what_it_says_on_every_cpu(workload: Workload) -> None:
    load = workload("duty_cores", "--duty", 10, "--burst-us", 5000, "--seconds", 2)
    cpus = json.loads(load.communicate(timeout=60)[0])["cpus"]
    assert {int(cpu) for cpu in cpus} == os.sched_getaffinity(0)
    for notes in cpus.values():
        own = notes["own"]
        assert own == sorted(own) and len(own) > 10 and notes["others"] == []
        # a thread that is made to wait burns later, and no more than it says
        assert own[-1][1] - own[0][1] <= 1.2 * 0.10 * (own[-1][0] - own[0][0]) + 5_000_000
        assert own[-1][1] > 5_000_000
