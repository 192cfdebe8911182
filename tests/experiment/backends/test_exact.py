"""A run in exact machines is an ordinary run folder, written in the plan's order, or nothing."""

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiment.backends import exact, guests
from experiment.run_folder import RunError
from tests.vm.conftest import fake_qemu, image  # noqa: F401
from vm.problem import Problem
from vm.result import GuestFailed

ROOT = Path(__file__).resolve().parents[3]


def trial(number, block, arm="idle", kind="cost"):
    named = {"trial": number, "block": block, "position": 0, "kind": kind, "arm": arm}
    return named | {"replica": 1, "statistics": "off", "processes": None, "interval_ms": 100,
                    "window_s": 0.2}  # fmt: skip


def make_plan(blocks=3):
    trials = []
    for block in range(1, blocks + 1):
        for arm, kind in (("none", "empty"), ("idle", "cost"), ("absent", "cost")):
            trials.append(trial(len(trials), block, arm, kind))
    arm = {"command": ["true"], "ready": "fd3", "needs": [], "language": "C", "dump": False}
    return {
        "schema": 5,
        "study": "processes",
        "preset": "test",
        "backend": "exact",
        "guest": "6.1-x86_64",
        "paths": {"root": str(ROOT), "build": "", "python": "", "system_python": ""},
        "arms": {"idle": arm, "absent": arm},
        "perturbations": [{"block": b, "offset_us": 0, "forks": 0} for b in range(1, blocks + 1)],
        "trials": trials,
    }


@pytest.fixture
def events(image, fake_qemu, monkeypatch, tmp_path):  # noqa: F811
    """The backend on fake machines; what it tells."""
    fake_qemu("good")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    made = guests.Guest(image, (), {"qemu": "fake"})
    monkeypatch.setattr(guests, "prepare", lambda *words: made)
    told = []
    return SimpleNamespace(
        told=told, tell=lambda **event: told.append(event), manner=fake_qemu, made=made
    )


def rows(out):
    with open(out / "trials.csv", newline="") as file:
        return list(csv.DictReader(file))


def leftovers():
    return list(Path(tempfile.gettempdir()).glob(exact.PREFIX + "*"))


def test_a_run_has_every_row_in_order_with_its_counts(tmp_path, events):
    out = tmp_path / "20240101T000000Z-host-00000000"
    exact.run(make_plan(), out, False, events.tell)
    found = rows(out)
    assert [row["trial"] for row in found] == [str(n) for n in range(9)]
    assert [row["user_instructions"] for row in found[:3]] == ["1", "2", ""]
    assert [row["bpf_instructions"] for row in found[:3]] == ["3", "3", ""]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["exact"] == {"qemu": "fake"} and manifest["run"] == out.name
    assert manifest["plan"]["backend"] == "exact" and "paths" not in manifest["plan"]
    assert [e["event"] for e in events.told][0] == "start" and events.told[-1]["event"] == "end"
    unavailable = [e for e in events.told if e.get("status") == "unavailable"]
    assert len(unavailable) == 3 and unavailable[0]["reason"] == "no hook"
    assert not leftovers()


@pytest.mark.parametrize(
    ("manner", "kind"),
    [("panic", GuestFailed), ("truncated", GuestFailed), ("unmarked", GuestFailed),
     ("refuse", Problem)],
)  # fmt: skip
def test_a_run_whose_first_boot_fails_leaves_nothing(tmp_path, events, manner, kind):
    events.manner(manner)
    with pytest.raises(kind):
        exact.run(make_plan(), tmp_path / "run", False, events.tell)
    assert not (tmp_path / "run").exists() and not leftovers()


def test_an_unfinished_run_goes_on_to_the_same_rows(tmp_path, events, monkeypatch):
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    exact.run(make_plan(), whole, False, events.tell)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    finish = exact.Machine.finish
    ended = iter([False, True])

    def fail_second(machine):
        if next(ended):
            raise GuestFailed("it stalled")
        return finish(machine)

    monkeypatch.setattr(exact.Machine, "finish", fail_second)
    with pytest.raises(GuestFailed):
        exact.run(make_plan(), torn, False, events.tell)
    assert len(rows(torn)) == 3
    text = (torn / "trials.csv").read_text().splitlines(keepends=True)
    (torn / "trials.csv").write_text("".join(text[:3]))  # killed while it wrote the block
    monkeypatch.setattr(exact.Machine, "finish", finish)
    exact.run(make_plan(), torn, True, events.tell)
    assert (torn / "trials.csv").read_bytes() == (whole / "trials.csv").read_bytes()


def test_a_run_is_not_gone_on_with_by_another_machine_or_over_another_run(tmp_path, events):
    out = tmp_path / "run"
    exact.run(make_plan(), out, False, events.tell)
    with pytest.raises(RunError, match="not empty"):
        exact.run(make_plan(), out, False, events.tell)
    events.made.inputs["qemu"] = "another"
    with pytest.raises(RunError, match="another image or QEMU"):
        exact.run(make_plan(), out, True, events.tell)
    with pytest.raises(RunError, match="no run to resume"):
        exact.run(make_plan(), tmp_path / "none", True, events.tell)


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from types import SimpleNamespace
from experiment.backends import guests
from vm import hardware, machine
folder = Path(sys.argv[2])
hardware.PLUGIN = hardware.TURNS = folder / "bin" / "count.so"
machine.environment = lambda: None
image = SimpleNamespace(
    inputs={"architecture": "x86_64"},
    kernel=folder / "vmlinuz",
    system_map=folder / "System.map",
)
guests.prepare = lambda *words: guests.Guest(image, (), {})
del sys.argv[1:3]
from experiment.backends import __main__
sys.exit(__main__.main())
"""


def start(tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(make_plan()))
    words = [sys.executable, "-c", PROGRAM, str(ROOT), str(tmp_path), str(tmp_path / "plan.json")]
    return subprocess.Popen(
        [*words, str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_leaves_nothing_running(tmp_path, events, number):
    events.manner("stall")
    with start(tmp_path) as process:
        assert json.loads(process.stdout.readline())["event"] == "start"
        while not running(tmp_path):
            time.sleep(0.01)
        process.send_signal(number)
        said = process.stdout.read()
    if number != signal.SIGKILL:
        assert process.returncode == 130 and '"interrupted"' in said
    until = time.monotonic() + 5
    while running(tmp_path) and time.monotonic() < until:
        time.sleep(0.02)
    assert not running(tmp_path) and not (tmp_path / "run").exists()
    exact.repair()
    assert not leftovers()


def running(tmp_path):
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"-icount" in words and any(os.fsencode(tmp_path) in word for word in words):
                found.append(entry.name)
    return found


def test_a_guest_that_fails_is_one_line_and_its_console(tmp_path, events):
    events.manner("panic")
    with start(tmp_path) as process:
        said, error = process.communicate(timeout=30)
    assert process.returncode == 1
    assert error.splitlines() == ["probetax: the guest's kernel panicked: VFS: no root"]
    assert "the guest's console: ---[ end Kernel panic ]---" in said
