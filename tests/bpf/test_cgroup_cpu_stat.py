"""CPU time of containers against loads of known use in control groups of both versions."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiment.probes.cgroups import hierarchies
from tests.bpf.conftest import BUILD, Collector, Start, needs_root

SPIN = str(BUILD / "spin")
#: cgroup v1 and v2 count the whole process, what it does before and after its loop too
SLACK_NS = 15_000_000


@pytest.fixture(params=["1", "2"])
def tree(request: pytest.FixtureRequest) -> Iterator[tuple[str, Path]]:
    """(version, a group of our own in that hierarchy)."""
    found = hierarchies()
    place = found.cpuacct if request.param == "1" else found.v2
    if place is None or os.geteuid():
        pytest.skip(f"unavailable: no cgroup v{request.param} hierarchy that this user may write")
    own = Path(place) / f"probetax-test-{os.getpid()}"
    own.mkdir()
    try:
        yield request.param, own
    finally:
        for folder in sorted((*own.rglob("*/"), own), key=lambda path: -len(path.parts)):
            for _ in range(100):
                try:
                    folder.rmdir()
                    break
                except OSError:  # its processes are about to be gone
                    time.sleep(0.02)


def _spin(group: Path, cpu_ms: int = 200) -> int:
    """CPU time in ns of a load that ran in the group, by its own clock."""
    words = ["bash", "-c", 'echo $$ >"$0/cgroup.procs"; exec "$@"', str(group), SPIN]
    options = ["--cpu-ms", str(cpu_ms), "--hold-ms", "0"]
    done = subprocess.run([*words, *options], capture_output=True, text=True, timeout=60)
    return int(json.loads(done.stdout)["cpu_ns"])


def _watch(start: Start, version: str, group: Path, *options: str) -> Collector:
    below = ["--version", version, "--below", f"/{group.name}"]
    return start("cgroup_cpu_stat", 50, "--dump", *below, *options)


def _sums(collector: Collector) -> dict[str, int]:
    sums: dict[str, int] = {}
    for record in collector.records():
        for path, ns in record["containers"]:
            name = path.split("/", 2)[2]
            sums[name] = sums.get(name, 0) + ns
    return sums


def test_agrees_with_the_loads_themselves(start: Start, tree: tuple[str, Path]) -> None:
    """Groups that are there, that are made later, and below others; history is left out."""
    version, own = tree
    for name in ("early", "idle", "pod/inner"):
        (own / name).mkdir(parents=True)
    _spin(own / "early")
    collector = _watch(start, version, own)
    known = {"early": _spin(own / "early"), "pod/inner": _spin(own / "pod/inner")}
    (own / "late").mkdir()
    known["late"] = _spin(own / "late")
    time.sleep(0.2)
    closing = collector.finish()
    sums = _sums(collector)
    assert sums == {name: pytest.approx(known.get(name, 0), abs=SLACK_NS) for name in sums}
    assert set(sums) == {"early", "idle", "late", "pod/inner"}
    assert closing["records"] == 4


def test_a_group_made_anew_under_an_old_name_starts_at_nothing(
    start: Start, tree: tuple[str, Path]
) -> None:
    version, own = tree
    collector = _watch(start, version, own)
    known = 0
    for cpu_ms in (300, 100):
        (own / "same").mkdir()
        known += _spin(own / "same", cpu_ms)
        time.sleep(0.2)
        (own / "same").rmdir()
    time.sleep(0.1)
    collector.finish()
    assert _sums(collector)["same"] == pytest.approx(known, abs=2 * SLACK_NS)
    assert collector.records()[-1]["containers"] == []


def test_a_group_that_gets_groups_below_is_no_container_and_no_history_comes_back(
    start: Start, tree: tuple[str, Path]
) -> None:
    version, own = tree
    (own / "pod").mkdir()
    before = _spin(own / "pod")
    collector = _watch(start, version, own)
    (own / "pod/a").mkdir()
    known = _spin(own / "pod/a")
    time.sleep(0.2)
    (own / "pod/a").rmdir()
    time.sleep(0.2)
    collector.finish()
    sums = _sums(collector)
    assert sums["pod/a"] == pytest.approx(known, abs=SLACK_NS)
    assert before > SLACK_NS > sums["pod"]


def test_the_group_to_look_below_may_go_and_come_back(start: Start, tree: tuple[str, Path]) -> None:
    version, own = tree
    collector = _watch(start, version, own)
    own.rmdir()
    time.sleep(0.2)
    (own / "late").mkdir(parents=True)
    known = _spin(own / "late")
    time.sleep(0.2)
    collector.finish()
    assert _sums(collector) == {"late": pytest.approx(known, abs=SLACK_NS)}


def test_what_cannot_be_watched_is_listed_each_time(start: Start, tree: tuple[str, Path]) -> None:
    version, own = tree
    # an open file less than inotify wants
    words = [str(BUILD / "cgroup_cpu_stat"), "--interval-ms", "50", "--scrapes", "20", "--dump"]
    words += ["--version", version, "--below", f"/{own.name}"]
    shell = 'sysctl -qw user.max_inotify_instances=0; exec "$@" 4>&1'
    private = ["unshare", "--user", "--map-root-user", "bash", "-c", shell, "bash"]
    with subprocess.Popen([*private, *words], stdout=subprocess.PIPE, text=True) as process:
        time.sleep(0.3)
        (own / "late").mkdir()
        assert process.stdout is not None
        records: list[dict[str, Any]] = [json.loads(line) for line in process.stdout]
    assert process.returncode == 0
    assert records[0]["containers"] == []
    assert [path for path, _ in records[-1]["containers"]] == [f"/{own.name}/late"]


def test_reading_needs_no_right(tree: tuple[str, Path]) -> None:
    version, own = tree
    (own / "one").mkdir()
    words = [str(BUILD / "cgroup_cpu_stat"), "--interval-ms", "50", "--scrapes", "2", "--dump"]
    words += ["--version", version, "--below", f"/{own.name}"]
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    shell = ["bash", "-c", 'exec "$@" 4>&1', "bash"]
    done = subprocess.run([*shell, *user, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["containers"] == [[f"/{own.name}/one", 0]]
    assert last["cgroup_version"] == int(version)


@needs_root
@pytest.mark.parametrize("version", ["any", "1", "2"])
def test_without_a_hierarchy_it_is_unavailable(build: object, version: str) -> None:
    script = 'mount -t tmpfs tmpfs /sys/fs/cgroup; exec "$@"'
    private = ["unshare", "--mount", "--propagation", "private", "bash", "-c", script, "bash"]
    words = [str(BUILD / "cgroup_cpu_stat"), "--interval-ms", "50", "--version", version]
    done = subprocess.run([*private, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1 and "cgroup" in done.stderr and "mount" in done.stderr


@pytest.mark.parametrize("below", ["/no-such-group", "relative"])
def test_a_group_that_is_not_there_is_one_line(build: object, below: str) -> None:
    words = [str(BUILD / "cgroup_cpu_stat"), "--interval-ms", "50", "--below", below]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and below in done.stderr


def test_a_mount_with_a_blank_in_its_name_is_found(build: object, tmp_path: Path) -> None:
    found = hierarchies()
    if found.v2 is None or os.geteuid():
        pytest.skip("unavailable: needs root and cgroup v2")
    place = tmp_path / "c g"
    place.mkdir()
    script = 'mount -t tmpfs tmpfs /sys/fs/cgroup; mount -t cgroup2 none "$0"; exec "$@"'
    private = ["unshare", "--mount", "--propagation", "private", "bash", "-c", script, str(place)]
    words = [str(BUILD / "cgroup_cpu_stat"), "--interval-ms", "50", "--scrapes", "1"]
    done = subprocess.run([*private, *words], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
