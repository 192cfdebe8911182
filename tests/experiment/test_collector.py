"""Starting, waiting for and ending a collector, well behaved or not."""

import os
import sys
import time
from pathlib import Path

import pytest

from experiment import collector as module
from experiment.accounting.schedstat import Schedstat
from experiment.collector import Collector, Failed, Unavailable, closing_line, command_line

FAKE = [sys.executable, str(Path(__file__).with_name("fake_collector.py"))]


@pytest.fixture
def start(tmp_path):
    started = []

    def launch(*words, command=FAKE, ready="fd3", dump=None):
        group = Schedstat().group("test")
        made = Collector([*command, *words], ready, group, tmp_path / "log", dump)
        started.append(made)
        return made

    yield launch
    for made in started:
        made.kill()
        assert not os.path.exists(f"/proc/{made.pid}")


def test_a_good_collector_becomes_ready_and_gives_its_closing_counters(start):
    made = start("--interval-ms", "50", "--lost", "3")
    made.wait_ready()
    time.sleep(0.28)
    closing = made.stop()
    assert closing["lost"] == 3 and closing["scrapes"] >= 4
    assert len(closing["scrape_at_ns"]) == closing["scrapes"]


def test_exit_3_is_unavailable_with_the_collectors_own_reason(start):
    with pytest.raises(Unavailable, match="^no such hook here$"):
        start("--mode", "unavailable").wait_ready()


@pytest.mark.parametrize(
    ("words", "command", "reason"),
    [
        (["--mode", "crash"], FAKE, "exit 1: it broke"),
        ([], ["/no/such/program"], "exit 127: /no/such/program: No such file or directory"),
        (["--nonsense"], FAKE, "exit 2"),
        ([], ["sh", "-c", "kill -SEGV $$"], "killed by SIGSEGV"),
    ],
)
def test_one_that_breaks_before_it_is_ready_failed_and_says_how(start, words, command, reason):
    with pytest.raises(Failed, match=reason):
        start(*words, command=command).wait_ready()


def test_one_that_never_becomes_ready_is_given_up_at_the_deadline(start):
    with pytest.raises(Failed, match="not ready after 0 s"):
        start("--mode", "mute").wait_ready(deadline_s=0.3)


def test_one_that_dies_in_the_window_is_noticed(start):
    made = start("--interval-ms", "20", "--mode", "dies")
    made.wait_ready()
    time.sleep(0.3)
    with pytest.raises(Failed, match="ended inside the window: exit 9"):
        made.check_alive()


def test_one_that_ignores_sigterm_is_killed_and_failed(start, monkeypatch):
    monkeypatch.setattr(module, "STOP_DEADLINE_S", 0.5)
    made = start("--mode", "deaf")
    made.wait_ready()
    with pytest.raises(Failed, match="did not end"):
        made.stop()


def test_a_command_that_knows_no_protocol_gets_its_settling_time(start):
    made = start(command=["sleep", "600"], ready={"after_s": 0.1})
    made.wait_ready()
    made.check_alive()
    assert made.stop() == {}


def test_records_go_to_the_dump_file_and_descriptors_do_not_leak(start, tmp_path):
    made = start("--interval-ms", "30", "--dump", dump=tmp_path / "records")
    made.wait_ready()
    time.sleep(0.2)
    held = {int(n) for n in os.listdir(f"/proc/{made.pid}/fd")}
    made.stop()
    assert held == {0, 1, 2, 3, 4}
    assert (tmp_path / "records").read_text().count("\n") >= 3


def test_what_it_started_is_killed_with_it_also_after_it_has_ended(start, tmp_path):
    made = start(command=["sh", "-c", "sleep 601 & sleep 0.1"], ready={"after_s": 0.05})
    time.sleep(0.3)
    made.kill()
    time.sleep(0.1)
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{entry}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        assert int(stat[2]) != made.pid or stat[0] == b"Z"


def test_an_empty_log_is_not_kept(start, tmp_path):
    made = start("--interval-ms", "30")
    made.wait_ready()
    made.stop()
    made.kill()
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", {}),
        (b"ready\n", {}),
        (b'ready\n{"scrapes": 2}\n', {"scrapes": 2}),
        (b'ready\n{"scrapes": 2}\n{"scrapes": 3', {"scrapes": 2}),
        (b"ready\n[1]\n", {}),
        (b'{"kernel_ns": 1.5, "lost": -1, "scrapes": true, "late": 0}', {"late": 0}),
        (b'{"scrape_at_ns": null, "scrape_cpu_ns": [1, "x"], "lost": null}', {}),
    ],
)
def test_the_closing_line_is_the_last_whole_object(text, expected):
    assert closing_line(text) == expected


def test_placeholders_of_a_command_are_filled():
    words = command_line(["{build}/x", "{interval_ms}"], {"build": "/b c"}, 250, dump=True)
    assert words == ["/b c/x", "250", "--dump"]
