"""Stopping a runner that sudo has started, whether or not sudo still asks for nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cli import runner

PROGRAM = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    for _ in range(200):
        os.write(1, b'{"event": "trial"}\\n')
        time.sleep(0.05)
except (BrokenPipeError, KeyboardInterrupt):
    sys.exit(130)
"""
SUDO = """#!/bin/sh
shift
case $1 in
  true) ;;
  kill) [ -z "$EXPIRED" ] && exec "$@" ;;
  *) exec "$@" ;;
esac
"""


@pytest.mark.parametrize("expired", ["", "yes"])
def test_an_interrupt_ends_the_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], expired: str
) -> None:
    (tmp_path / "sudo").write_text(SUDO)
    (tmp_path / "sudo").chmod(0o755)
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("EXPIRED", expired)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(runner, "PROGRAM", (sys.executable, str(tmp_path / "program.py")))
    running = runner.Runner(tmp_path / "plan.json", tmp_path / "out", False)
    assert next(running.events()) == {"event": "trial"}
    running.interrupt()
    left = list(running.events())
    assert running.finish()["code"] == 130
    told = capfd.readouterr().err.splitlines()
    if expired:
        assert not left and len(told) == 1 and "ticket has expired" in told[0]
    else:
        assert not told
