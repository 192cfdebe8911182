"""Work that is counted out in turns of one process, and what happens when the generator fails."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from experiment import counting
from experiment.collector import Failed
from experiment.estimate import PAUSE_S, TURNS
from experiment.loads import COUNTED

BUILD = str(Path(__file__).resolve().parents[2] / "bpf" / "build")


def trial(workload: str, events: int, pace: str = "hot") -> dict[str, Any]:
    return {"workload": workload, "pace": pace, "events": events}


@pytest.mark.parametrize("workload", COUNTED)
@pytest.mark.parametrize("pace", ["hot", "paced"])
def test_every_turn_makes_the_same_events_in_the_same_process(workload: str, pace: str) -> None:
    events = 200 if pace == "hot" else 4
    billed = events * 3 // 2 if (workload, pace) == ("switch", "paced") else events
    with counting.counter(BUILD, trial(workload, events, pace)) as counter:
        before = time.monotonic()
        turns = [counter.turn() for _ in range(TURNS)]
        took = time.monotonic() - before
    assert [turn.events for turn in turns] == [billed] * TURNS
    assert all(turn.work_ns > 0 for turn in turns)
    pauses = {"hot": 0, "paced": events // 2 if workload == "switch" else events}[pace]
    assert took >= TURNS * pauses * PAUSE_S


def test_a_trial_says_how_long_its_events_are_apart() -> None:
    planned = {**trial("switch", 20, "paced"), "pause_us": 2000}
    with counting.counter(BUILD, planned) as counter:
        began = time.monotonic()
        assert [counter.turn().events for _ in range(2)] == [30, 30]
        took = time.monotonic() - began
    assert 2 * 10 * 0.002 <= took, "a pause before each exchange of two switches"


def test_a_generator_stands_still_between_two_turns() -> None:
    with counting.counter(BUILD, trial("switch", 2000)) as counter:
        counter.turn()
        pid = counter.pid
        before = switched(pid)
        time.sleep(0.1)
        assert switched(pid) == before
        counter.turn()
        assert switched(pid) > before


def switched(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)


def test_a_generator_ends_with_its_block_whatever_it_was_doing() -> None:
    with pytest.raises(KeyError), counting.counter(BUILD, trial("open", 50)) as counter:
        pid = counter.pid
        raise KeyError
    assert not os.path.exists(f"/proc/{pid}")


SAID: Mapping[str, str] = {
    "echo 'pipe_switch: fork: Resource temporarily unavailable' >&2; exit 1": "fork: Resource temp",
    "exit 0": "gave no report",
    "read line; echo '{\"events\"'; exit 3": "ended with status 3",
}


@pytest.mark.parametrize("script", SAID)
def test_a_generator_that_ends_early_fails_the_trial_with_its_own_words(
    tmp_path: Path, script: str
) -> None:
    program = tmp_path / "fixed_work"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with counting.counter(str(tmp_path), trial("open", 5)) as counter:
        with pytest.raises(Failed) as problem:
            counter.turn()
    assert "fixed_work" in str(problem.value) and SAID[script] in str(problem.value)
    assert "\n" not in str(problem.value)


def test_a_generator_that_hangs_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "fixed_work"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(counting, "DEADLINE_S", 0.1)
    with counting.counter(str(tmp_path), trial("open", 5)) as counter:
        with pytest.raises(Failed, match="fixed_work did not end its turn within"):
            counter.turn()
