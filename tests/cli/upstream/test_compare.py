"""``./study compare-upstream`` on a stand-in for the clone that was made for this test."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli import parameters
from cli import plan as plans
from cli.problem import Problem
from cli.upstream import arms as upstream_arms
from cli.upstream import build, command, tree
from experiment import arms

STANDIN = Path(__file__).parent / "standin"
FOLDER = STANDIN / tree.FOLDER
BOTH = tree.of_study("processes")
GAUGES = tree.of_study("gauges")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))


@pytest.fixture
def built() -> Path:
    return build.build(tree.find(STANDIN, BOTH), BOTH, print)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "clone"))


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


def problem(call: Callable[[], object]) -> str:
    with pytest.raises(Problem) as caught:
        call()
    return str(caught.value)


def test_the_clone_or_its_folder_is_found() -> None:
    whole, folder = tree.find(STANDIN, BOTH), tree.find(FOLDER, BOTH)
    assert whole == folder
    assert {source.name for source in whole.sources} >= {"Makefile", "task.bpf.c", "common.h"}


def test_what_is_no_clone_is_told_in_a_line(tmp_path: Path, copy: Path) -> None:
    (copy / "task.bpf.c").unlink()
    (tmp_path / "empty").mkdir()
    for path, named in (
        (tmp_path / "nowhere", "not a folder"),
        (FOLDER / "Makefile", "not a folder"),
        (tmp_path / "empty", "Makefile, proc_pids.c"),
        (copy, "task.bpf.c not in"),
    ):
        said = problem(lambda path=path: tree.find(path, BOTH))  # type: ignore[misc]
        assert "\n" not in said and str(path) in said and named in said and "hello-ebpf" in said


def test_generated_and_compiled_files_change_no_digest(copy: Path) -> None:
    before = tree.find(copy, BOTH).digest
    for name in ("vmlinux.h", "task.skel.h", "task.bpf.o", "proc_pids"):
        (copy / name).write_text("made")
    assert tree.find(copy, BOTH).digest == before
    (copy / "common.h").write_text("changed")
    assert tree.find(copy, BOTH).digest != before


def test_builds_elsewhere_once_and_leaves_the_clone_as_it_was(built: Path) -> None:
    before = state(STANDIN)
    said: list[str] = []
    again = build.build(tree.find(STANDIN, BOTH), BOTH, said.append)
    assert (again, said) == (built, [])
    assert all(os.access(built / program.name, os.X_OK) for program in BOTH)
    assert state(STANDIN) == before


def test_missing_tools_are_named_with_their_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("make", "cc"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    real = shutil.which
    monkeypatch.setattr(build.shutil, "which", lambda name, path: real(name, path=str(tmp_path)))
    assert set(build.tools(BOTH[:1])) == {"make", "cc"}
    said = problem(lambda: build.tools(BOTH))
    assert said == "clang, bpftool not found, needed to build: apt-get install clang bpftool"


def test_a_build_failure_is_the_compilers_first_error(copy: Path) -> None:
    with (copy / "proc_pids.c").open("a") as file:
        file.write("int broken = missing_name;\nint worse = another;\n")
    said = problem(lambda: build.build(tree.find(copy, BOTH), BOTH, print))
    assert "\n" not in said
    assert "proc_pids.c:" in said and "missing_name" in said and "another" not in said
    assert ".proc" not in said and "/tmp" not in said


def test_a_collector_that_does_not_start_says_why_in_a_line() -> None:
    folder = build.build(tree.find(STANDIN, GAUGES), GAUGES, print)
    assert [upstream_arms.why_not(program, folder) for program in GAUGES] == [
        None,
        "load failed: made for the test",
    ]


@pytest.mark.parametrize(
    ("interval_ms", "ready_s"), [(200, 1.0), (300, 1.2), (1000, 1), (15000, 15)]
)
def test_an_arm_begins_a_whole_number_of_intervals_after_its_start(
    tmp_path: Path, interval_ms: int, ready_s: float
) -> None:
    source = tree.find(STANDIN, [*BOTH, *GAUGES])
    for program in (*BOTH, *GAUGES):
        about = upstream_arms.describe(program, source, Path("/x/{y}"), interval_ms)
        arm = arms.load(upstream_arms.write(about, tmp_path))
        assert arm["ready"] == {"after_s": ready_s}
        assert arm["command"][0].format() == f"/x/{{y}}/{program.name}"
        assert arm["sleeps_per_scrape"] == 1 and arm["study"] == program.study
        assert (arm["hook"], arm["context"] == "both") == (program.hook, program.ebpf)


def test_a_plan_holds_both_sides_in_the_same_blocks_and_contrasts_them(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "processes_now", lambda: 50)
    values = parameters.resolve({"study": "processes", "preset": "quick", "runs": 3})
    source = tree.find(STANDIN, BOTH)
    files = [
        str(upstream_arms.write(upstream_arms.describe(p, source, built, 1000), tmp_path))
        for p in BOTH
    ]
    made = plans.build("processes", {**values, "arms": [*tree.OURS["processes"], *files]})
    upstream_arms.add_contrasts(made, BOTH)
    ids = [contrast["id"] for contrast in made["contrasts"]]
    assert len(set(ids)) == len(ids)
    assert {
        "proc_vs_published_600",
        "upstream_proc_pids_vs_proc_stat_600",
        "upstream_ebpf_pids_vs_sched_switch_published_600",
        "upstream_proc_pids_vs_upstream_ebpf_pids_600",
    } <= set(ids)
    assert made["estimate"]["smallest_adjusted_p"] == min(1, len(ids) * 0.25)
    for block in (1, 2, 3):
        cells = {
            (t["kind"], t["arm"], t["statistics"]) for t in made["trials"] if t["block"] == block
        }
        for arm in ("proc_stat", "upstream_proc_pids", "upstream_ebpf_pids"):
            assert {("cost", arm, "off"), ("cost", arm, "on")} <= cells
        assert ("external", "upstream_ebpf_pids", "off") in cells
    again = json.loads(json.dumps(made))
    upstream_arms.add_contrasts(again, BOTH)
    assert again["contrasts"] == made["contrasts"]


def test_nothing_that_starts_is_a_problem_and_not_a_run(
    copy: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shutil.copyfile(copy / "ebpf_collector.c", copy / "proc_poller.c")
    words = [str(copy), "gauges", "--preset", "smoke", "--output", str(tmp_path / "out")]
    lines = problem(lambda: command.command(words)).splitlines()
    assert len(lines) == 3 and "proc_poller does not start" in lines[0]
    assert "nothing of the clone is left" in lines[2]
    assert not (tmp_path / "out" / "raw").exists()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "PATH"),
        ([str(STANDIN), "accounts"], "accounts"),
        ([str(STANDIN), "--preset", "slow"], "slow"),
        ([str(STANDIN), "--runs", "1"], "runs"),
        ([str(STANDIN), "--runs", "3", "--minutes", "2"], "not both"),
        ([str(STANDIN), "--backend", "exact"], "--backend"),
    ],
)
def test_bad_words_are_one_line(words: list[str], named: str) -> None:
    said = problem(lambda: command.command(words))
    assert "\n" not in said and named in said


def test_measures_the_stand_in_beside_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole way but for the figures, which others draw; of the plan a trial of each kind."""
    measure, kept = command.measure, set[tuple[str, str, str]]()

    def few(made: dict[str, Any], output: Path) -> Path:
        trials = []
        for trial in made["trials"]:
            kind = trial["kind"], trial["arm"], trial["statistics"]
            if trial["arm"].startswith("upstream_") and trial["block"] and kind not in kept:
                kept.add(kind)
                # whatever else runs here: no count of processes to be reached
                trials.append({**trial, "trial": len(trials), "processes": None})
        return measure({**made, "trials": trials}, output)

    monkeypatch.setattr(command, "measure", few)
    monkeypatch.setattr(command.results, "process", lambda raw, processed: None)
    monkeypatch.setattr(command.results, "findings", lambda processed: f"found in {processed}")
    words = [str(STANDIN), "processes", "--preset", "smoke", "--runs", "2"]
    assert command.command([*words, "--output", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "found in" in said and "upstream_proc_pids" in said
    assert "status 2" not in said, "the stand-in could turn the kernel's statistics on"
    (table,) = tmp_path.glob("raw/processes/*/trials.csv")
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    arms_measured = ["upstream_proc_pids"]
    if "ebpf_pids does not start" not in said:
        arms_measured.append("upstream_ebpf_pids")
    assert {("cost", arm, state) for arm in arms_measured for state in ("off", "on")} <= kept
    mine = {(r["kind"], r["arm"], r["statistics"]): r for r in rows}
    assert set(mine) == kept
    for state in ("off", "on"):
        row = mine["cost", "upstream_proc_pids", state]
        assert row["status"] in ("ok", "invalid"), row["reason"]  # by what else runs here
        assert int(row["agent_ns"]) > 0 and int(row["scrapes"]) > 0
    if len(arms_measured) == 2:
        outside = mine["external", "upstream_ebpf_pids", "off"]
        # others who measure here at the same time may have statistics on, or programs
        assert outside["status"] in ("ok", "invalid"), outside["reason"]
        assert int(outside["bpf_programs"]) >= 1 and int(outside["events"]) > 0
