"""./study figures: what it takes, and the machines' verdicts without figures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.__main__ import dispatch
from cli.problem import Failed, Problem

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))
import synthetic  # noqa: E402


@pytest.fixture
def output(tmp_path: Path) -> Path:
    plan = synthetic.make_plan(
        ["null_agent", "proc_stat", "sched_switch_published"],
        [600],
        8,
        statistics=("off",),
        contrasts=[synthetic.contrast("proc_stat", "sched_switch_published", 600)],
    )
    for n, host in enumerate(["alpha", "beta", "gamma"]):
        name = f"20240601T10000{n}Z-{host}-0000000{n}"
        synthetic.write_run(tmp_path / "raw" / "processes" / name, plan, seed=n)
    return tmp_path


def test_machines_are_judged_together_and_nothing_is_drawn(
    output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch("figures", ["--machines", "--output", str(output)]) == 0
    said = capsys.readouterr().out
    assert "3 machines, 3 runs" in said and "dearer (adjusted p" in said
    written = {p.relative_to(output / "processed").parts[0] for p in output.rglob("*.md")}
    assert written == {"machines"}


def test_a_damaged_run_is_named_after_the_others(output: Path) -> None:
    run = sorted((output / "raw" / "processes").iterdir())[0]
    (run / "trials.csv").write_text("half")
    with pytest.raises(Failed, match=r"trials.csv, line 1"):
        dispatch("figures", ["--machines", "--output", str(output)])
    assert (output / "processed" / "machines" / "processes-synthetic" / "summary.json").exists()


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (["--machine"], "only --output FOLDER, --machines and names of runs"),
        (["--machines", "20240601T100000Z-alpha-00000000"], "--machines is of all runs"),
    ],
)
def test_what_it_does_not_take_is_one_line(words: list[str], cause: str) -> None:
    with pytest.raises(Problem, match=cause) as caught:
        dispatch("figures", words)
    assert "\n" not in str(caught.value)


def test_no_run_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no run in"):
        dispatch("figures", ["--machines", "--output", str(tmp_path)])
