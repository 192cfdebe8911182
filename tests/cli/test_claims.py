"""./study claims: what is written, what is stale, and what is one line of complaint."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from cli import claims, index, paths, readme, show
from cli.problem import Failed, Problem
from cli.session import Session

PROCESSED = paths.DATA / "processed"


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """A folder of results with the shipped live run of gauges alone."""
    named = index.shipped() or set()  # not what was measured in this clone since
    found = [PROCESSED / study / run / "summary.json" for study, run in sorted(named)]
    gauges = [file for file in found if file.parts[-3] == "gauges"]
    shipped = [file for file in gauges if json.loads(file.read_text())["backend"] == "here"]
    assert shipped
    for file in shipped:
        there = tmp_path / "processed" / "gauges" / file.parent.name
        there.mkdir(parents=True)
        shutil.copy(file, there)
    return tmp_path


def test_it_writes_the_ledger_of_another_folder_and_leaves_the_readme_alone(
    output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = readme.README.read_bytes()
    assert claims.command(["--output", str(output)]) == 0
    assert "PROC-1: not testable here" in capsys.readouterr().out
    found = json.loads((output / "processed" / "claims.json").read_text())["claims"]
    with open(output / "processed" / "claims.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [entry["id"] for entry in found]
    assert (output / "processed" / "claims.md").read_text().count("\n| PROC-") == 10
    assert readme.README.read_bytes() == before


def test_check_names_what_is_stale_and_the_cure_and_writes_nothing(output: Path) -> None:
    words = ["--check", "--output", str(output)]
    with pytest.raises(Failed, match="claims.csv.*; ./study claims writes them again"):
        claims.command(words)
    assert not (output / "processed" / "claims.csv").exists()
    claims.command(words[1:])
    assert claims.command(words) == 0
    (output / "processed" / "claims.md").write_text("another")
    with pytest.raises(Failed) as caught:
        claims.command(words)
    assert "claims.md" in str(caught.value) and "claims.csv" not in str(caught.value)
    assert caught.value.exit_code == 1


def test_a_notebook_shows_the_verdicts_of_its_own_runs(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(show, "display", lambda text: shown.append(text.data))
    (summary,) = (output / "processed" / "gauges").glob("*/summary.json")
    runs = {"gauges": summary.parent.name}
    show.claims(Session({"study": ["gauges"], "output": output}, runs))
    assert "| PROC-1: " in shown[0] and "not testable here" in shown[0]
    assert f"`gauges/{summary.parent.name}/tables/verdicts.md`" in shown[0]


@pytest.mark.parametrize("words", [["--chek"], ["now"], ["--output", "/proc/nowhere"]])
def test_bad_input_is_one_line(words: list[str]) -> None:
    with pytest.raises(Problem) as caught:
        claims.command(words)
    assert "\n" not in str(caught.value)


def test_a_folder_without_results_says_what_makes_them(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no results in .*: ./study figures makes them"):
        claims.command(["--output", str(tmp_path)])


def test_a_shipped_run_without_results_is_named(output: Path) -> None:
    with pytest.raises(Problem, match="no results of processes/missing"):
        index.of(output, {("processes", "missing")})


def test_only_tracked_runs_are_shipped_and_only_they_are_judged(output: Path) -> None:
    shipped = index.shipped()
    assert shipped is not None and {study for study, _ in shipped} >= {"processes", "gauges"}
    there = {file.parent.name for file in output.glob("processed/gauges/*/summary.json")}
    one = {name for name in shipped if name[0] == "gauges" and name[1] in there}
    assert len(index.of(output, one)["runs"]) == len(one)
    session = output / "processed" / "sessions" / "processes-paper-0" / "summary.json"
    session.parent.mkdir(parents=True)
    session.write_text(json.dumps({"runs": ["mine"]}))
    assert index.not_among(output, {"runs": []}) == "1 run"
    assert index.not_among(output, index.of(output, one)) == ""
    assert index.of(output, one)["sessions"] == []
    assert index.of(output)["sessions"] == [{"runs": ["mine"]}]
    machines = output / "processed" / "machines" / "processes-paper" / "summary.json"
    machines.parent.mkdir(parents=True)
    machines.write_text(json.dumps({"machines": 3}))
    assert len(index.of(output)["runs"]) == len(one)
    assert index.not_among(output, {"runs": []}) == "1 run"


def test_a_block_of_the_readme_is_exchanged_and_the_rest_stays() -> None:
    text = "a\n<!-- x -->\nold\n\n<!-- /x -->\nb\n"
    made = readme.replaced(text, "x", "new \\1\n")
    assert made == "a\n<!-- x -->\n\nnew \\1\n\n<!-- /x -->\nb\n"
    assert readme.replaced(made, "x", "new \\1\n") == made


@pytest.mark.parametrize("text", ["", "<!-- x -->", "<!-- x --><!-- /x --><!-- x --><!-- /x -->"])
def test_markers_that_are_not_a_pair_are_a_problem(text: str) -> None:
    with pytest.raises(Problem, match="<!-- x --> and <!-- /x -->"):
        readme.replaced(text, "x", "new")


def test_the_readme_shows_the_newest_finished_paper_run() -> None:
    base = {"study": "processes", "preset": "paper", "finished": True}
    runs = [{**base, "run": "1"}, {**base, "run": "2"}, {**base, "run": "3", "finished": False}]
    assert readme.main_run([*runs, {**base, "run": "4", "preset": "quick"}])["run"] == "2"
    with pytest.raises(Problem, match="no finished paper run"):
        readme.main_run(runs[2:])


def test_without_a_crossover_run_the_readme_and_the_advice_say_so(output: Path) -> None:
    runs = index.of(output)["runs"]
    assert readme.crossover(runs, output).startswith("Not yet measured: study `crossover`")
    assert json.loads(claims.advice({"runs": runs})) == {"schema": 2, "models": []}


def test_the_advice_file_is_what_the_shipped_runs_give() -> None:
    """If this fails: ./study claims, and commit what it wrote."""
    found = index.of(paths.DATA, index.shipped())
    assert claims.ADVICE.read_text(encoding="utf-8") == claims.advice(found)
