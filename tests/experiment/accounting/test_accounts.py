"""Every account of an agent's CPU sees all the agent does and leaves nothing behind."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiment.accounting import ACCOUNTS, group, systemd
from experiment.collector import spawn
from experiment.probes.cgroups import Hierarchies, hierarchies

BURN = "import time\nwhile time.process_time() < {seconds}: pass\n"
WORK = {
    "one process": BURN.format(seconds=0.3) + "time.sleep(600)",
    "a child": "import subprocess, sys, time\n"
    + f"subprocess.run([sys.executable, '-c', {BURN.format(seconds=0.3)!r}])\ntime.sleep(600)",
    "a grandchild that outlives its parent": (
        "import subprocess, sys, time\n"
        "code = 'import time\\nwhile time.process_time() < 0.3: pass\\ntime.sleep(600)'\n"
        "subprocess.Popen(['sh', '-c', '\"$0\" -c \"$1\" & sleep 0.05', sys.executable, code])\n"
        "time.sleep(600)"
    ),
}


def usable():
    names = []
    for name in ("cgroup2", "cgroup1", "schedstat"):
        try:
            made = ACCOUNTS[name]().group(f"probe-{name}")
            made.destroy()
            names.append(name)
        except OSError:
            pass
    return names


@pytest.fixture(params=["cgroup2", "cgroup1", "schedstat"])
def made(request):
    if request.param not in usable():
        assert request.param != "schedstat", "the account of last resort must work everywhere"
        pytest.skip(f"unavailable: this machine lets nobody make a {request.param} group")
    account = ACCOUNTS[request.param]().group("test")
    yield request.param, account
    account.destroy()


def alive(pid):
    """Whether it still runs; what nobody has reaped yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def settle(account):
    """CPU of the group once it has stopped rising."""
    last, until = -1, time.monotonic() + 20
    while time.monotonic() < until:
        now = account.cpu_ns()
        if now == last and now > 250e6:
            return now
        last = now
        time.sleep(0.2)
    raise AssertionError("the group never came to rest")


def spent_by(account, work, log):
    pid = spawn([sys.executable, "-I", "-S", "-c", WORK[work]], log, join=account.join)
    account.started(pid)
    return settle(account)


@pytest.mark.parametrize("work", WORK)
def test_a_cgroup_sees_all_cpu_once_whoever_burns_it(made, work, tmp_path):
    name, account = made
    if name == "schedstat":
        work = "one process"  # what ends between two readings is its stated blind spot
    assert 0.29e9 < spent_by(account, work, tmp_path / "log") < 0.6e9


def test_the_two_cgroup_versions_agree_on_the_same_work(tmp_path):
    if not {"cgroup1", "cgroup2"} <= set(usable()):
        pytest.skip("unavailable: needs both cgroup hierarchies")
    both = [ACCOUNTS[name]().group("agree") for name in ("cgroup1", "cgroup2")]

    def join():
        for account in both:
            account.join()

    code = "import time\ntime.sleep(0.5)\n" + WORK["one process"]
    spawn([sys.executable, "-I", "-S", "-c", code], tmp_path / "log", join=join)
    time.sleep(0.3)  # asleep: what it did while joining one after the other is behind it
    before = [account.cpu_ns() for account in both]
    settle(both[0])
    one, two = (account.cpu_ns() - first for account, first in zip(both, before, strict=True))
    for account in both:
        account.destroy()
    assert abs(one - two) <= 1000


def test_destroying_a_group_kills_everything_in_it_and_removes_it(made, tmp_path):
    name, account = made
    pid = spawn(["sh", "-c", "sleep 600 & sleep 600"], tmp_path / "log", join=account.join)
    account.started(pid)
    until = time.monotonic() + 5
    while len(account.pids()) < 3 and time.monotonic() < until:
        time.sleep(0.02)
    members = account.pids()
    assert len(members) >= 2
    account.destroy()
    os.waitpid(pid, 0)
    time.sleep(0.1)
    assert not [p for p in members if alive(p)]
    assert name == "schedstat" or not account.folder.exists()


def test_a_group_of_a_dead_run_is_repaired_and_one_of_a_living_run_is_not(tmp_path):
    if "cgroup2" not in usable():
        pytest.skip("unavailable: needs a writable cgroup v2 hierarchy")
    root = Path(hierarchies().v2)
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], text=True,
                           capture_output=True, check=True)  # fmt: skip
    orphan = root / f"{group.PREFIX}{ended.stdout.strip()}-1-left"
    orphan.mkdir()
    living = ACCOUNTS["cgroup2"]().group("living")
    foreign = root / "not-of-this-project"
    foreign.mkdir()
    try:
        assert ACCOUNTS["cgroup2"].repair() == 1
        assert not orphan.exists() and living.folder.exists() and foreign.exists()
    finally:
        foreign.rmdir()
        living.destroy()


SYSTEMCTL = """#!/bin/sh
echo "$*" >> {log}.calls
case "$*" in
*CPUUsageNSec*) echo "{usage}" ;;
*ControlGroup*) echo /system.slice/probetax.scope ;;
*list-units*) echo "probetax-1-1-left.scope loaded active running x" ;;
*kill*) echo "$*" >> {log} ;;
*) echo "Unit not found" >&2; exit 1 ;;
esac
"""


@pytest.fixture
def systemctl(tmp_path, monkeypatch):
    def install(usage):
        tool = tmp_path / "systemctl"
        tool.write_text(SYSTEMCTL.format(usage=usage, log=tmp_path / "killed"))
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return ACCOUNTS["systemd"]().group("7-arm")

    return install


def test_the_systemd_scope_is_read_in_ns_and_runs_the_agent_inside_it(systemctl):
    scope = systemctl("123456789")
    assert scope.cpu_ns() == 123456789
    prefix = scope.launch_prefix()
    assert "--scope" in prefix and prefix[-1] == "--" and f"--unit={scope.unit}" in prefix


@pytest.mark.parametrize("usage", ["[not set]", str(2**64 - 1), ""])
def test_systemd_without_cpu_accounting_is_an_error_and_never_a_zero(systemctl, usage):
    with pytest.raises(OSError, match="does not account"):
        systemctl(usage).cpu_ns()


@pytest.mark.parametrize("version", [2, 1])
def test_a_scopes_counter_is_read_in_its_group_and_systemd_asked_only_where_that_is(
    systemctl, tmp_path, monkeypatch, version
):
    """Asking takes so long on a slow machine that a scrape fits between the answer and the edge."""
    place = tmp_path / "mount" / "system.slice" / "probetax.scope"
    place.mkdir(parents=True)
    mount = str(tmp_path / "mount")
    found = Hierarchies("x", mount if version == 2 else None, mount if version == 1 else None)
    monkeypatch.setattr(systemd, "hierarchies", lambda: found)
    scope = systemctl("[not set]")
    (place / "cgroup.procs").write_text("12\n34\n")
    (place / "cpu.stat").write_text("usage_usec 7\nuser_usec 3\n")
    (place / "cpuacct.usage").write_text("7000\n")
    scope.prepare()
    assert scope.cpu_ns() == 7000
    (place / "cpu.stat").write_text("usage_usec 9\nuser_usec 3\n")
    (place / "cpuacct.usage").write_text("9000\n")
    assert scope.cpu_ns() == 9000
    assert scope.pids() == [12, 34]
    assert len((tmp_path / "killed.calls").read_text().splitlines()) == 1


def test_a_left_over_scope_is_killed_at_the_next_start(systemctl, tmp_path):
    systemctl("1")
    assert ACCOUNTS["systemd"].repair() == 1
    assert "probetax-1-1-left.scope" in (tmp_path / "killed").read_text()
