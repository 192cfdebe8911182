"""The sensor's flags and YAML: what is right is in force, what is wrong is one clear line."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from tests.bpf.conftest import BUILD, UNAVAILABLE, Start, needs_root
from tests.bpf.sensing import watch

SENSOR = str(BUILD / "sensor")


def run(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **more}
    command = [SENSOR, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--hooks", "execve,opne"], "unknown hook 'opne'; known are all, source, execve"),
        (["--hooks", "execve,"], "unknown hook ''"),
        (["--hooks"], "--hooks"),
        (["--filter", "kernal"], "want one of user kernel"),
        (["--buffer", "perf", "--wakeup", "adaptive"], "want one of each batch tick"),
        (["--paths", "etc/"], "a path must begin with /: 'etc/'"),
        (["--paths", "/etc/,,/usr/"], "an empty path"),
        (["--paths", "/" + "a" * 254], "a path of more than 254 bytes"),
        (["--more-paths", "4097"], "from 0 to 4096"),
        (["--buffer-kb", "0"], "--buffer-kb"),
        (["--rung", "uprobe"], "lsm fentry kprobe tracepoint best"),
        (["--config", "/nowhere.yaml"], "/nowhere.yaml: No such file"),
        (["--config"], "--config"),
    ],
)
def test_bad_flags(build: object, words: list[str], named: str) -> None:
    done = run("--interval-ms", "100", *words)
    assert done.returncode == 2 and named in done.stderr, done
    assert done.stderr.startswith("sensor: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "nothing in it"),
        ("- execve\n", 1, "want lines such as buffer: ring"),
        ("hooks: [execve\n", 2, "did not find expected"),
        ("buffer: ring\n\tfilter: user\n", 2, "tab character"),
        ("buffer: ring\nhocks: all\n", 2, "unknown key 'hocks'; known are hooks filter paths "),
        ("config: a.yaml\n", 1, "unknown key 'config'"),
        ("buffer: ring\nbuffer: perf\n", 2, "buffer is given twice"),
        ("hooks:\n  - execve\n  - opne\n", 3, "hooks: unknown hook 'opne'"),
        ("hooks:\n  - [execve]\n", 2, "hooks: want a list of words"),
        ("hooks: {execve: 1}\n", 1, "hooks: want a list of words"),
        ("buffer: rung\n", 1, "buffer: 'rung': want one of ring perf"),
        ("buffer: [ring]\n", 1, "buffer: want one value"),
        ("buffer_kb: 1e3\n", 1, "buffer_kb: '1e3': want a whole number from 1 to"),
        ("batch_kb: \n", 1, "batch_kb: '': want a whole number"),
        ("paths:\n  - /etc/\n  - etc\n", 3, "paths: a path must begin with /: 'etc'"),
        (f"paths: [/{'a' * 254}]\n", 1, "paths: a path of more than 254 bytes"),
        ("hooks: &a [execve]\n", 1, "an anchor"),
        ("hooks: *a\n", 1, "an alias"),
        ("buffer: ring\n---\nbuffer: perf\n", 2, "a second document"),
        ('paths: ["/a\\0b"]\n', 1, "a NUL"),
    ],
)
def test_bad_yaml(build: object, tmp_path: Path, text: str, line: int, what: str) -> None:
    file = tmp_path / "sensor.yaml"
    file.write_text(text)
    done = run("--interval-ms", "100", "--config", str(file))
    assert done.returncode == 2, done
    assert done.stderr.count("\n") == 1 and what in done.stderr, done.stderr
    assert re.match(rf"sensor: {re.escape(str(file))}:{line}: ", done.stderr), done.stderr


def test_bytes_that_are_no_yaml(build: object, tmp_path: Path) -> None:
    for content in (b"\xff\xfe\xfd\x00", b"buffer: \xc3\x28\n", b"\x00" * 100):
        (tmp_path / "noise").write_bytes(content)
        done = run("--interval-ms", "100", "--config", str(tmp_path / "noise"))
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done


@needs_root
def test_a_file_is_in_force_and_a_flag_beside_it_wins(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "sensor.yaml"
    file.write_text(
        "# what a person would write\n"
        "hooks: [kill, connect]\npaths:\n  - /etc/\n  - '/with,comma'\n"
        "filter: user\nbuffer: perf\nwakeup: tick\nbuffer_kb: 64\nbytes: off\nmore_paths: 5\n"
        "batch_kb: 16\nsockets: 100\nrung: best\nmissing: skip\n"
    )
    options = ("--config", str(file))
    closing = start("sensor", 100, *options).finish()
    assert set(closing["attached"]) == {"kill", "connect"} and closing["buffer_bytes"] >= 65536
    seen = watch(start, "kill", *options, "--buffer", "ring", "--buffer-kb", "8")
    os.kill(os.getpid(), 0)
    assert len(seen.of("kill")) == 1
    assert set(seen.closing["attached"]) == {"kill"} and seen.closing["buffer_bytes"] == 8192


@needs_root
def test_a_path_with_a_comma_can_be_an_item_of_a_list(start: Start, tmp_path: Path) -> None:
    (tmp_path / "sensor.yaml").write_text(f"paths: ['{tmp_path}/a,b']\nhooks: file_open\n")
    (tmp_path / "a,b").touch()
    collector = start("sensor", 100, "--dump", "--config", str(tmp_path / "sensor.yaml"))
    os.close(os.open(tmp_path / "a,b", os.O_RDONLY))
    closing = collector.finish()
    assert closing["events_by_kind"] == {"file_open": 1}


@needs_root
def test_a_hook_that_cannot_be_attached_is_named(build: object) -> None:
    """tcp_sendmsg has no place in the security framework."""
    words = ["--interval-ms", "100", "--scrapes", "1", "--hooks", "tcp_sendmsg,kill"]
    done = run(*words, "--rung", "lsm")
    assert done.returncode == UNAVAILABLE and done.stderr.count("\n") == 1, done
    assert "sensor: hook tcp_sendmsg: no way to attach here (it has no such rung)" in done.stderr
    verbose = run(*words, "--rung", "lsm", "--missing", "skip", PROBETAX_VERBOSE="1")
    assert verbose.returncode == 0, verbose


@needs_root
def test_skipped_hooks_are_reported_with_the_reason(start: Start) -> None:
    options = ("--hooks", "tcp_sendmsg,execve", "--rung", "lsm", "--missing", "skip")
    closing = start("sensor", 100, *options).finish()
    assert closing["skipped"] == {"tcp_sendmsg": "it has no such rung"}
    assert closing["attached"] == {"execve": "tracepoint"}, "it has no other way"


def test_help_names_every_hook_and_flag(build: object) -> None:
    done = run("--help")
    assert done.returncode == 0 and done.stderr == ""
    for word in ("execve", "tcp_cleanup_rbuf", "kill", "--hooks", "--more-paths", "lsm fentry"):
        assert word in done.stdout
    assert len(re.findall(r"^  [a-z_]+ .*(?:tracepoint|cgroup)$", done.stdout, re.M)) == 22
    assert max(map(len, done.stdout.splitlines())) <= 110


@needs_root
def test_a_person_reads_a_line_for_each_event(build: object, tmp_path: Path) -> None:
    words = ["--watch", "--hooks", "kill,unlink", "--interval-ms", "200", "--scrapes", "3"]
    with subprocess.Popen([SENSOR, *words], stdout=subprocess.PIPE, text=True) as sensor:
        while sensor.poll() is None:
            os.kill(os.getpid(), 0)
            (tmp_path / "file").touch()
            (tmp_path / "file").unlink()
            time.sleep(0.01)
        assert sensor.stdout is not None
        lines = sensor.stdout.read().splitlines()
    assert sensor.returncode == 0
    own = [line for line in lines if f"[{os.getpid()}]" in line]
    pattern = r"\d\d:\d\d:\d\d\.\d{6}  (kill|unlink) +\S.*\[\d+\] +uid=0  "
    assert len(own) > 2 and all(re.match(pattern, line) for line in own), own[:3]
    assert any(line.endswith(f"path={tmp_path}/file") for line in own)
