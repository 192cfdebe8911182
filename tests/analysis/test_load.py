"""Loading: what is good loads as it is, what is bad is one line with file, place and cure."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import synthetic

from analysis.load import RunError, find_runs, load_run
from analysis.schema import columns, versions


@pytest.fixture
def copy(quick_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(quick_run, tmp_path / "run"))


def test_a_run_loads_with_nullable_integers(quick_run: Path) -> None:
    run = load_run(quick_run)
    assert run.finished and run.study == "processes" and run.name == "quick"
    assert str(run.trials["agent_ns"].dtype) == "Int64"
    external = run.trials[run.trials["kind"] == "external"]
    assert external["agent_ns"].isna().all() and external["work_ns"].notna().all()
    assert len(run.trials) == len(run.plan["trials"])
    assert list(run.arms)[0] == "proc_stat" and list(run.arms)[-1] == "null_agent"


@pytest.mark.parametrize("version", versions()[:-1])
def test_an_older_run_reads_as_if_what_came_later_were_empty(
    quick_run: Path, tmp_path: Path, version: int
) -> None:
    folder = synthetic.quick(tmp_path / "run", schema=version)
    old, new = load_run(folder), load_run(quick_run)
    assert list(old.trials.columns) == list(new.trials.columns)
    same = [column["name"] for column in columns("trials", version)]
    later = [name for name in old.trials.columns if name not in same]
    assert later and old.trials[later].isna().all(axis=None)
    if version < 3:  # the columns of schema 4 are filled in the study crossover alone
        assert new.trials[later].notna().any(axis=None)
    assert old.trials[same].equals(new.trials[same])


def test_an_unfinished_run_loads_and_says_so(tmp_path: Path) -> None:
    folder = synthetic.quick(tmp_path / "run", upto=40)
    run = load_run(folder)
    assert not run.finished and len(run.trials) == 40
    (folder / "scrapes.csv.gz").unlink()
    assert load_run(folder).scrapes.empty


def lines(folder: Path) -> list[str]:
    return (folder / "trials.csv").read_text().splitlines(keepends=True)


def rewrite(folder: Path, new: list[str]) -> None:
    (folder / "trials.csv").write_text("".join(new))


def cut_last_line(folder: Path) -> None:
    text = (folder / "trials.csv").read_text()
    (folder / "trials.csv").write_text(text[:-30])


def drop_column(folder: Path) -> None:
    rewrite(folder, [",".join(line.split(",")[:-1]) + "\n" for line in lines(folder)])


def set_field(column: str, value: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        found = lines(folder)
        at = found[0].strip().split(",").index(column)
        fields = found[2].rstrip("\n").split(",")
        fields[at] = value
        found[2] = ",".join(fields) + "\n"
        rewrite(folder, found)

    return change


def manifest(key: str, value: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        loaded = json.loads((folder / "manifest.json").read_text())
        loaded[key] = value
        if value is None:
            del loaded[key]
        (folder / "manifest.json").write_text(json.dumps(loaded))

    return change


def plan(part: str, change: Callable[[dict[str, object]], object]) -> Callable[[Path], None]:
    """Change the first entry of a part of the plan, or the A/A pair."""

    def apply(folder: Path) -> None:
        loaded = json.loads((folder / "manifest.json").read_text())
        entry = loaded["plan"][part]
        change(entry[0] if isinstance(entry, list) else entry)
        (folder / "manifest.json").write_text(json.dumps(loaded))

    return apply


def half_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"a": 1')


def truncate_gzip(folder: Path) -> None:
    data = (folder / "scrapes.csv.gz").read_bytes()
    (folder / "scrapes.csv.gz").write_bytes(data[: len(data) // 2])


def foreign_scrape(folder: Path) -> None:
    with gzip.open(folder / "scrapes.csv.gz", "at") as file:
        file.write("99999,1,1,1,1\n")


@pytest.mark.parametrize("state", ["absent", "null"])
def test_a_run_without_root_knows_no_loaded_programs_and_is_read(copy: Path, state: str) -> None:
    """Runs of schema 3 once wrote null where the programs may not be listed."""
    file = copy / "manifest.json"
    loaded = json.loads(file.read_text())
    del loaded["programs_loaded_before"]
    if state == "null":
        loaded["programs_loaded_before"] = None
    file.write_text(json.dumps(loaded))
    assert load_run(copy).finished


@pytest.mark.parametrize(
    ("damage", "place", "cause"),
    [
        (cut_last_line, "trials.csv, line", "half-written"),
        (drop_column, "trials.csv, line 1", "column 'pause_us' is missing"),
        (lambda f: rewrite(f, lines(f) + lines(f)[-1:]), "trials.csv, line", "trial"),
        (lambda f: rewrite(f, []), "trials.csv, line 1", "empty"),
        (lambda f: rewrite(f, [*lines(f)[:5], "1,2\n"]), "trials.csv, line 6", "2 fields"),
        (set_field("agent_ns", "1.5"), "trials.csv, line 3", "not a whole number"),
        (set_field("agent_ns", "nan"), "trials.csv, line 3", "not a whole number"),
        (set_field("window_ns", "-4"), "trials.csv, line 3", "at least 1"),
        (set_field("agent_ns", "9" * 30), "trials.csv", "64 bits"),
        (set_field("status", "fine"), "trials.csv, line 3", "status"),
        (set_field("arm", ""), "trials.csv, line 3", "arm is empty"),
        (set_field("trial", "100000"), "trials.csv, line 3", "not in the plan"),
        (set_field("block", "77"), "trials.csv, line 3", "the plan says"),
        (lambda f: (f / "trials.csv").unlink(), "trials.csv", "no such file"),
        (lambda f: (f / "trials.csv").write_bytes(b"\xff\xfe\n"), "trials.csv", "corrupt"),
        (lambda f: (f / "manifest.json").unlink(), "manifest.json", "no such file"),
        (
            half_manifest,
            "manifest.json, line 1",
            "not JSON",
        ),
        (manifest("schema", 6), "manifest.json", "schema 6, this version reads schemas 1 to 5"),
        (manifest("schema", True), "manifest.json", "schema True"),
        (manifest("schema", 1), "trials.csv, line 1", "column 'workload' is not in the schema"),
        (manifest("source", "abc"), "manifest.json", "'source' is not of type object"),
        (manifest("fingerprint", None), "manifest.json", "'fingerprint' is missing"),
        (manifest("plan", []), "manifest.json", "not of type object"),
        (manifest("plan", {"arms": {}, "trials": []}), "manifest.json", "the plan has no arms"),
        (manifest("plan", {"arms": [], "trials": [{}]}), "manifest.json", "has no arms"),
        (manifest("plan", {"arms": {"a": 1}, "trials": [{}]}), "manifest.json", "not objects"),
        (manifest("plan", {"arms": {"a": {}}, "trials": ["x"]}), "manifest.json", "not objects"),
        (
            plan("trials", lambda e: e.pop("arm")),
            "manifest.json",
            "entry 0 of the plan's trials: 'arm' is missing",
        ),
        (plan("trials", lambda e: e.pop("trial")), "manifest.json", "'trial' is missing"),
        (plan("trials", lambda e: e.update(block="1")), "manifest.json", "of another type"),
        (plan("trials", lambda e: e.update(kind="external", pace=None)), "manifest.json", "'pace'"),
        (plan("trials", lambda e: e.update(processes="x")), "manifest.json", "no whole number"),
        (plan("contrasts", lambda e: e.pop("denominator")), "manifest.json", "'denominator'"),
        (plan("a_a", lambda e: e.pop("statistics")), "manifest.json", "the plan's a_a"),
        (truncate_gzip, "scrapes.csv.gz", "cut off"),
        (foreign_scrape, "scrapes.csv.gz, line", "has no row in trials.csv"),
    ],
)
def test_bad_raw_data_is_one_line_with_file_cause_and_cure(
    copy: Path, damage: Callable[[Path], None], place: str, cause: str
) -> None:
    damage(copy)
    with pytest.raises(RunError) as caught:
        load_run(copy)
    text = str(caught.value)
    assert "\n" not in text and place in text and cause in text
    assert text.count("; ") >= 1, "no cure"


def test_runs_are_found_per_study_in_order_of_time(tmp_path: Path) -> None:
    for name in ("processes/2024-b", "processes/2024-a", "gauges/2023"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "manifest.json").write_text("{}")
    (tmp_path / "processes" / "notes").mkdir()
    assert [p.name for p in find_runs(tmp_path)] == ["2023", "2024-a", "2024-b"]
    assert find_runs(tmp_path / "nothing") == []
