"""What is done n times is reported n times, with its facts, by each of the sensor's hooks."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.bpf import bpf_syscall
from tests.bpf.conftest import Start, needs_root
from tests.bpf.sensing import RUNGS, need_hook, watch

ALL = (
    "execve execveat connect accept file_open bprm_check tcp_sendmsg tcp_cleanup_rbuf sock_create "
    "fork exit setuid ptrace mount umount module_load bpf unlink rename chmod bind kill"
).split()
PTRACE_TRACEME, PTRACE_SEIZE = 0, 0x4206
FINIT_MODULE = {"x86_64": 313, "aarch64": 273}[platform.machine()]

libc = ctypes.CDLL(None, use_errno=True)
by_rung = pytest.mark.parametrize("rung", RUNGS)
by_rung_but_lsm = pytest.mark.parametrize("rung", RUNGS[1:])  # it does not know a new process's id
pytestmark = needs_root


def child(function: object) -> int:
    """Runs a function in a child and returns its pid once it has ended with status 0."""
    pid = os.fork()
    if not pid:
        try:
            function()  # type: ignore[operator]
        except BaseException:  # whatever it is must not go on as a second pytest
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    return pid


def test_every_hook_attaches_or_says_why(start: Start) -> None:
    seen = watch(start, "all", "--missing", "skip")
    events = seen.finish()
    closing = seen.closing
    assert set(closing["attached"]) | set(closing["skipped"]) == set(ALL)
    assert not set(closing["attached"]) & set(closing["skipped"])
    assert set(closing["skipped"]) <= {"module_load", "sock_create"}, closing["skipped"]
    assert closing["lost"] == 0
    assert closing["events"] == sum(closing["events_by_kind"].values()) >= len(events)
    assert not [e for e in events if e["tgid"] == seen.collector.process.pid], "not itself"


def test_23_execs_are_23_events(start: Start) -> None:
    seen = watch(start, "execve,fork")
    for _ in range(23):
        subprocess.run(["/bin/true"], check=True)
    events = seen.finish()
    execs = [e for e in events if e["kind"] == "execve" and e["path"] == "/bin/true"]
    forks = {e["child"] for e in events if e["kind"] == "fork" and e["tgid"] == os.getpid()}
    assert len(execs) == 23 and {e["tgid"] for e in execs} == forks and len(forks) == 23
    for event in execs:
        assert event["tid"] == event["tgid"] and event["uid"] == os.getuid()
    assert [e["time_ns"] for e in execs] == sorted(e["time_ns"] for e in execs)


def test_an_exec_that_fails_is_reported_too(start: Start) -> None:
    seen = watch(start, "execve")
    with pytest.raises(FileNotFoundError):
        subprocess.run(["/nowhere/at-all"], check=True)
    assert sum(e["path"] == "/nowhere/at-all" for e in seen.finish()) == 1


def test_execveat_of_an_open_file(start: Start) -> None:
    seen = watch(start, "execveat")
    with open("/bin/true", "rb") as binary:
        descriptor = binary.fileno()
        pids = [child(lambda: os.execve(descriptor, ["true"], {})) for _ in range(5)]
    events = [e for e in seen.finish() if e["tgid"] in pids]
    assert [e["tgid"] for e in events] == pids
    path = os.path.realpath("/bin/true")
    assert {(e["path"], e["directory"], e["flags"]) for e in events} == {(path, descriptor, 0x1000)}


@by_rung
def test_connections_from_both_sides(start: Start, rung: str) -> None:
    seen = watch(start, "connect,accept", rung=rung)
    expected = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        server.setblocking(False)
        for _ in range(17):
            with socket.create_connection(("127.0.0.1", port)) as client:
                expected.append(client.getsockname()[1])
                server.accept()[0].close()
            with pytest.raises(BlockingIOError):
                server.accept()  # nothing there: not an event
    events = [e for e in seen.finish() if e["tgid"] == os.getpid()]
    connects = [e for e in events if e["kind"] == "connect" and e["port"] == port]
    accepts = [e for e in events if e["kind"] == "accept"]
    assert len(connects) == 17 and {e["address"] for e in connects} == {"127.0.0.1"}
    assert [e["port"] for e in accepts] == expected
    assert {(e["address"], e["local_port"]) for e in accepts} == {("127.0.0.1", port)}


def test_ipv6_and_connections_that_are_refused(start: Start) -> None:
    if not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists():
        pytest.skip("unavailable: no IPv6 here")
    seen = watch(start, "connect,accept,bind")
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("::1", port)):
            server.accept()[0].close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("::1", port))
    events = [e for e in seen.finish() if e["tgid"] == os.getpid() and e["family"] == 10]
    kinds = [(e["kind"], e["address"]) for e in events]
    assert kinds == [(k, "::1") for k in ("bind", "connect", "accept", "connect")]
    assert [events[1]["port"], events[3]["port"]] == [port, port]


def test_local_sockets_by_name(start: Start, tmp_path: Path) -> None:
    seen = watch(start, "bind,connect")
    longest = str(tmp_path / ("s" * 107))[:107]
    names = [str(tmp_path / "socket"), "\0of nowhere", longest]
    for name in names:
        with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
            server.bind(name)
            server.listen()
            client.connect(name)
    events = [e for e in seen.finish() if e["tgid"] == os.getpid() and e["family"] == 1]
    written = [name.replace("\0", "@") for name in names]
    assert [e["path"] for e in events] == [name for name in written for _ in range(2)]
    assert [e["kind"] for e in events] == ["bind", "connect"] * 3


@by_rung
def test_binaries_and_where_they_lie(start: Start, rung: str) -> None:
    seen = watch(start, "bprm_check", rung=rung)
    for _ in range(9):
        subprocess.run(["/bin/true"], check=True)
    events = [e for e in seen.finish() if e["path"] == "/bin/true"]
    about = os.stat("/bin/true")
    assert len(events) == 9
    assert {(e["inode"], e["mode"]) for e in events} == {(about.st_ino, about.st_mode)}
    if os.major(about.st_dev):  # else the file system shows another device than its own
        device = os.major(about.st_dev) << 20 | os.minor(about.st_dev)
        assert {e["device"] for e in events} == {device}


def test_sockets_that_are_made(start: Start) -> None:
    seen = watch(start, "sock_create")
    for _ in range(13):
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    events = seen.of("sock_create")
    assert [(e["family"], e["type"], e["protocol"]) for e in events] == [(2, 1, 6)] * 13 + [
        (2, 2, 17)
    ]


@by_rung_but_lsm
def test_processes_come_and_go_and_threads_do_not_count(start: Start, rung: str) -> None:
    seen = watch(start, "fork,exit", rung=rung)
    pids = [child(lambda: None) for _ in range(11)]
    for _ in range(5):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
    events = seen.finish()
    forks = [e for e in events if e["kind"] == "fork" and e["tgid"] == os.getpid()]
    ends = [e for e in events if e["kind"] == "exit" and e["tgid"] in pids]
    assert [e["child"] for e in forks] == pids == [e["tgid"] for e in ends]


@by_rung_but_lsm
def test_how_a_process_ended(start: Start, rung: str) -> None:
    seen = watch(start, "exit", rung=rung)
    script = "import sys,threading,time; threading.Thread(target=time.sleep,args=(60,)).start();"
    status = subprocess.Popen([sys.executable, "-c", "import os; os._exit(37)"])
    killed = subprocess.Popen(["/bin/sleep", "60"])
    killed.kill()
    threads = [
        subprocess.Popen([sys.executable, "-c", f"{script * 8} import os; os._exit(7)"])
        for _ in range(10)
    ]
    for process in (status, killed, *threads):
        process.wait()
    found = seen.finish()
    events = {e["tgid"]: (e["status"], e["signal"]) for e in found}
    assert events[status.pid] == (37, 0)
    assert events[killed.pid] == (0, signal.SIGKILL)
    for process in threads:  # all threads end together, on both CPUs: still one event
        assert events[process.pid] == (7, 0)
        assert sum(e["tgid"] == process.pid for e in found) == 1


@by_rung
def test_changes_of_user(start: Start, rung: str) -> None:
    seen = watch(start, "setuid", rung=rung)

    def change() -> None:  # one that changes nothing returns before the framework is asked
        for _ in range(3):
            os.setresuid(0, 1000, 0)
            os.setresuid(0, 0, 0)
        os.setresuid(1000, 1000, 0)

    events = seen.of("setuid", child(change))
    ids = [(e["from_uid"], e["from_euid"], e["to_uid"], e["to_euid"]) for e in events]
    assert ids == [(0, 0, 0, 1000), (0, 1000, 0, 0)] * 3 + [(0, 0, 1000, 1000)]


@by_rung
def test_tracing(start: Start, rung: str) -> None:
    seen = watch(start, "ptrace", rung=rung)
    own = child(lambda: libc.ptrace(PTRACE_TRACEME, 0, 0, 0) and os._exit(1))
    with subprocess.Popen(["/bin/sleep", "60"]) as other:
        assert libc.ptrace(PTRACE_SEIZE, other.pid, 0, 0) == 0
        other.kill()
    events = [e for e in seen.finish() if e["tgid"] in (own, os.getpid())]
    assert [(e["tgid"], e["target"]) for e in events] == [(own, own), (os.getpid(), other.pid)]
    assert events[0]["request"] == PTRACE_TRACEME and events[1]["request"] in (16, PTRACE_SEIZE)


@by_rung
def test_mounts(start: Start, tmp_path: Path, rung: str) -> None:
    seen = watch(start, "mount,umount", rung=rung)
    script = f"mount -t tmpfs probetax {tmp_path} && umount {tmp_path}"
    private = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    subprocess.run(private, check=True)
    events = [e for e in seen.finish() if e["path"] == str(tmp_path)]
    assert [e["kind"] for e in events] == ["mount", "umount"]
    assert events[0]["type"] in ("tmpfs", ""), "a mount that is moved to its place has none"
    if events[0]["type"]:
        assert events[0]["source"] == "probetax"


def test_modules(start: Start, tmp_path: Path) -> None:
    seen = need_hook(start, "module_load", witness=Path("/proc/modules").exists())
    (tmp_path / "no.ko").write_text("an empty one is refused before the framework is asked")
    with open(tmp_path / "no.ko", "rb") as module:
        assert libc.syscall(FINIT_MODULE, module.fileno(), b"", 0) == -1
    assert [e["path"] for e in seen.of("module_load")] == [str(tmp_path / "no.ko")]


@by_rung
def test_uses_of_bpf(start: Start, rung: str) -> None:
    seen = watch(start, "bpf", rung=rung)
    for _ in range(8):
        os.close(bpf_syscall.enable_stats())
    assert [e["command"] for e in seen.of("bpf")] == [32] * 8


@by_rung
def test_names_that_change(start: Start, tmp_path: Path, rung: str) -> None:
    seen = watch(start, "unlink,rename,chmod", rung=rung)
    old, new = tmp_path / "old", tmp_path / 'ünïcode \\ " \n'
    for mode in (0o600, 0o755, 0o4711):
        old.touch()
        old.chmod(mode)
        descriptor = os.open(old, os.O_RDONLY)
        os.fchmod(descriptor, mode)
        os.close(descriptor)
        old.rename(new)
        new.unlink()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder").rmdir()  # a folder: rmdir is not unlink
    events = [e for e in seen.finish() if e["tgid"] == os.getpid()]
    bytes_of_new = os.fsencode(new).decode("latin-1")
    for kind, count in (("chmod", 6), ("rename", 3), ("unlink", 3)):
        assert sum(e["kind"] == kind for e in events) == count, kind
    assert [e["mode"] & 0o7777 for e in events if e["kind"] == "chmod"] == [
        m for m in (0o600, 0o755, 0o4711) for _ in range(2)
    ]
    for event in events:
        assert event["path"] == (bytes_of_new if event["kind"] == "unlink" else str(old))
        assert event.get("to", bytes_of_new) == bytes_of_new


@by_rung
def test_signals(start: Start, rung: str) -> None:
    seen = watch(start, "kill", rung=rung)
    for _ in range(19):
        os.kill(os.getpid(), 0)
    with subprocess.Popen(["/bin/sleep", "60"]) as other:
        other.terminate()
    events = [e for e in seen.of("kill") if e["target"] != seen.collector.process.pid]
    expected = [(os.getpid(), 0)] * 19 + [(other.pid, signal.SIGTERM)]
    assert [(e["target"], e["signal"]) for e in events] == expected


def test_the_cgroup_is_the_one_in_the_version_2_hierarchy(start: Start) -> None:
    seen = watch(start, "kill")
    os.kill(os.getpid(), 0)
    event = seen.of("kill")[0]
    with open("/proc/self/mountinfo") as file:
        mounts = [line.split() for line in file if " - cgroup2 " in line]
    with open("/proc/self/cgroup") as file:
        below = next(line.rstrip("\n").split("::")[1] for line in file if line.startswith("0::"))
    if not mounts:
        pytest.skip("unavailable: no cgroup v2 hierarchy is mounted")
    assert event["cgroup"] == os.stat(mounts[0][4] + below).st_ino
    assert event["comm"] == Path("/proc/self/comm").read_text().rstrip("\n")
