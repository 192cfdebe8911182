"""``./study review`` as a process: measured for real, briefly, interrupted, and gone on with."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.problem import Problem
from cli.review import command, table
from cli.review.table import Row

ROOT = Path(__file__).resolve().parents[3]
#: The command with the study that is soonest measured; figures of the shipped runs do not fit in.
SCRIPT = """
import sys
from cli import __main__
from cli.review import steps
steps.TRIED = ("gauges",)
sys.exit(__main__.main())
"""
WORDS = ("review", "--preset", "smoke", "--minutes", "1.8")


def start(output: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *WORDS, "--output", str(output)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # whoever runs the tests in the background has SIGINT ignored, and children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )


def rows(output: Path) -> int:
    tables = list(output.glob("raw/gauges/*/trials.csv"))
    return tables[0].read_text().count("\n") - 1 if tables else 0


def test_an_interrupted_review_goes_on_and_ends_in_the_table(tmp_path: Path) -> None:
    first = start(tmp_path)
    deadline = time.monotonic() + 90
    while rows(tmp_path) < 2:
        assert time.monotonic() < deadline and first.poll() is None, first.communicate()
        time.sleep(0.05)
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=60)
    assert first.returncode == 130 and said.count("\n") == 1
    assert "./study review goes on" in said
    assert not (tmp_path / "review.md").exists()

    second = start(tmp_path)
    told, said = second.communicate(timeout=120)
    assert "doctor: done before" in told and "left out" in told
    assert len(list(tmp_path.glob("raw/gauges/*"))) == 1, "the same run, gone on with"
    content = json.loads((tmp_path / "review.json").read_text())
    outcomes = [row["outcome"] for row in content["rows"]]
    assert outcomes and set(outcomes) == {table.CANNOT}, "smoke answers no claim"
    assert second.returncode == 0, said
    assert (tmp_path / "review.md").read_text().count("\n|") == len(outcomes) + 2
    assert (tmp_path / "review.csv").read_text().startswith("id,claim,shipped,yours")


def test_shipped_tables_are_compared_byte_by_byte(tmp_path: Path) -> None:
    shipped, again = tmp_path / "shipped", tmp_path / "again"
    for root, names in ((shipped, "abc"), (again, "abd")):
        for name in names:
            file = root / "study" / "run" / "tables" / f"{name}.csv"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(name if name == "a" else str(root))
    told = command._equal(shipped, again, [("study", "run")])
    assert told == {"same": 1, "differing": ["study/run/tables/b.csv"], "missing": 1}


def row(outcome: str) -> Row:
    return Row("A-1", "claim", "x", "y", table.LIVE, outcome, "")


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ([table.REPRODUCED, table.CANNOT], 0),
        ([table.REPRODUCED, table.NOT], 1),
        ([table.CANNOT], 0),
    ],
)
def test_the_status_says_whether_all_that_can_run_was_reproduced(
    outcomes: list[str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_doctor", "_figures", "_measure"):
        monkeypatch.setattr(command, name, lambda step, output: {})
    monkeypatch.setattr(command, "_WORK", {})
    found = [row(outcome) for outcome in outcomes]
    monkeypatch.setattr(command.outcome, "compared", lambda *given: found)
    assert command.command(["--preset", "smoke", "--output", str(tmp_path)]) == status


def test_a_step_that_fails_is_told_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = []

    def work(step: object, output: object) -> dict[str, object]:
        done.append(step)
        if len(done) == 2:
            raise Problem("nothing was measured: no root")
        return {}

    monkeypatch.setattr(command, "_WORK", {})
    monkeypatch.setattr(command, "_measure", work)
    monkeypatch.setattr(command.outcome, "compared", lambda *given: [row(table.REPRODUCED)])
    words = ["--preset", "smoke", "--output", str(tmp_path)]
    assert command.command(words) == 1, "not all of it was done"
    assert "smoke failed: nothing was measured: no root" in capsys.readouterr().out
    assert len(done) == 3
    assert command.command(words) == 0, "called again, it does that step only"
    assert len(done) == 4


def test_the_plan_measures_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.command(["--plan", "--output", str(tmp_path / "new")]) == 0
    assert "together about" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "words", [["--minuets", "3"], ["--minutes", "x"], ["--preset", "papper"], ["--minutes"]]
)
def test_wrong_words_are_one_problem(words: list[str]) -> None:
    with pytest.raises(Problem):
        command.command(words)
