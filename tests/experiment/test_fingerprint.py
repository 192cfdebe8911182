"""The fingerprint: whole, fit for JSON, None for what cannot be known, and no secret in it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from experiment import fingerprint

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); from experiment import fingerprint;"
    "json.dump(fingerprint.collect(), sys.stdout)"
)


def test_it_needs_the_standard_library_alone() -> None:
    done = subprocess.run(
        ["/usr/bin/python3", "-I", "-S", "-B", "-c", PROGRAM, str(ROOT)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["release"] == os.uname().release
    assert found["architecture"] == os.uname().machine
    assert found["cpus_online"] == os.cpu_count()
    assert found["memory_mb"] > 0
    assert found["cgroup_mode"] in ("unified", "hybrid", "legacy", "none")
    assert found["clock_ticks_hz"] == os.sysconf("SC_CLK_TCK")
    assert found["versions"]["python"]


def test_nothing_identifies_the_host_or_the_boot() -> None:
    text = json.dumps(fingerprint.collect())
    assert Path("/proc/sys/kernel/random/boot_id").read_text().strip() not in text
    machine_id = Path("/etc/machine-id")
    if machine_id.exists() and machine_id.read_text().strip():
        assert machine_id.read_text().strip() not in text
    assert json.dumps(fingerprint.collect()["boot"]) in text


def test_what_is_unknown_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(fingerprint, "mitigations", refuse)
    monkeypatch.setattr(fingerprint, "kernel_config", dict)
    monkeypatch.setattr(fingerprint, "read", lambda path: None)
    found = fingerprint.collect()
    for key in ("mitigations", "kernel_hz", "uptime_s", "boot", "cpu_model", "clock_source"):
        assert found[key] is None, key
    assert set(found["kernel_options"].values()) == {None}


def test_config() -> None:
    text = 'CONFIG_HZ=250\n# CONFIG_KALLSYMS_ALL is not set\nCONFIG_CC="gcc 12"\n# a comment\n'
    assert fingerprint.parse_config(text) == {"HZ": "250", "KALLSYMS_ALL": "n", "CC": "gcc 12"}
    assert fingerprint.parse_config("") == {}


@pytest.mark.parametrize(
    ("text", "count"), [("0", 1), ("0-5", 6), ("0-1,3-5", 5), ("0-127", 128), (None, None)]
)
def test_cpu_lists_may_have_holes(
    monkeypatch: pytest.MonkeyPatch, text: str | None, count: int | None
) -> None:
    monkeypatch.setattr(fingerprint, "read", lambda path: text)
    assert fingerprint.cpu_count("possible") == count


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu\n", "AMD EPYC"),
        (
            "processor\t: 0\nCPU implementer\t: 0x61\nCPU part\t: 0x000\n",
            "implementer 0x61, part 0x000",
        ),
        ("", None),
    ],
)
def test_cpu_model(monkeypatch: pytest.MonkeyPatch, text: str, model: str | None) -> None:
    monkeypatch.setattr(fingerprint, "read", lambda path: text)
    assert fingerprint.cpu_model() == model


@pytest.mark.parametrize(
    ("files", "config", "model"),
    [
        ({"/sys/kernel/debug/sched/preempt": "none (voluntary) full"}, {}, "voluntary"),
        ({"/proc/cmdline": "quiet preempt=full"}, {"PREEMPT_DYNAMIC": "y"}, "full"),
        ({}, {"PREEMPT_NONE": "y", "PREEMPT_DYNAMIC": "y"}, "none"),
        ({}, {"PREEMPT": "y"}, "full"),
        ({}, {"PREEMPT_LAZY": "y"}, "lazy"),
        ({}, {}, None),
    ],
)
def test_preemption(
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    config: dict[str, str],
    model: str | None,
) -> None:
    monkeypatch.setattr(fingerprint, "read", files.get)
    if "PREEMPT_RT" in os.uname().version:
        model = "rt"
    assert fingerprint.preemption(config) == model
