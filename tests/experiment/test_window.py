"""The edges of a window: what is read there, and what is not trusted."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from experiment import trial
from experiment.accounting import Account, Group, schedstat
from experiment.accounting.group import start_ticks
from experiment.switch_load import SwitchLoad
from experiment.trials import window
from experiment.trials.common import Invalid
from experiment.workloads import IdleProcesses

FAKE = str(Path(__file__).with_name("fake_collector.py"))


class Slow(Group):
    """An account whose reading takes a while."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def cpu_ns(self) -> int:
        time.sleep(self._seconds)
        return 5

    def pids(self) -> list[int]:
        return []

    def destroy(self) -> None:
        pass


def test_a_reading_that_is_slow_beside_the_interval_is_not_trusted() -> None:
    """A scrape between it and the edge would be billed to the window without a trace."""
    assert window._agent_ns(Slow(0.03), {"interval_ms": 1000}) == 5
    with pytest.raises(Invalid, match="more than a quarter of an interval"):
        window._agent_ns(Slow(0.03), {"interval_ms": 100})
    assert window._agent_ns(None, {}) == 0, "an empty window has no agent"


class Vanishing(Account):
    """An account that ends with its agent, as a systemd scope does."""

    name = "systemd"

    def group(self, label: str) -> Group:
        class Tree(schedstat._Tree):
            def cpu_ns(self) -> int:
                if start_ticks(self._root) == -1:
                    raise OSError("no such scope")
                return super().cpu_ns()

        return Tree()


def test_an_agent_whose_account_ends_with_it_is_told_by_its_own_end(tmp_path: Path) -> None:
    arm: dict[str, Any] = {
        "command": [sys.executable, FAKE, "--interval-ms", "{interval_ms}", "--mode", "dies"],
        "ready": "fd3",
        "needs": [],
        "language": "Python",
        "dump": True,
    }
    planned = {
        "trial": 0, "block": 0, "position": 0, "kind": "cost", "arm": "mortal", "replica": 1,
        "statistics": "off", "processes": None, "interval_ms": 200, "window_s": 0.6,
    }  # fmt: skip
    setting = trial.Setting(
        {"mortal": arm},
        {},
        Vanishing(),
        tmp_path,
        IdleProcesses("", tmp_path / "idle.stderr"),
        SwitchLoad("", tmp_path / "load.stderr", Vanishing()),
    )
    row, _ = trial.run(planned, setting)
    assert row["status"] == "failed"
    assert row["reason"] == "ended inside the window: exit 9"
