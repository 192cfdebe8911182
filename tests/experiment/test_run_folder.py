"""A run's folder survives any interruption and never loses or overwrites a finished row."""

import csv
import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.plan_hash import plan_hash
from experiment.run_folder import RunError, RunFolder, columns, run_name

PLAN = {"schema": 5, "study": "processes", "preset": "smoke", "arms": {}, "trials": []}


def manifest():
    return {"schema": 5, "plan_hash": plan_hash(PLAN)}


def row(trial, **values):
    return {"trial": trial, "block": 0, "status": "ok", "arm": "proc_stat", **values}


def scrape(trial):
    return {"trial": trial, "scrape": 1, "at_ns": 5, "cpu_ns": None, "in_window": 1}


@pytest.fixture
def folder(tmp_path):
    made = RunFolder(tmp_path / "run")
    made.create(manifest())
    return made


def reopened(folder):
    again = RunFolder(folder.path)
    again.resume(PLAN, {}, "cgroup2")
    return again


def rows(folder):
    with open(folder.path / "trials.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_a_finished_trial_is_on_disk_with_an_empty_field_for_what_is_missing(folder):
    folder.append(row(0, agent_ns=0), [scrape(0)])
    assert rows(folder)[0]["agent_ns"] == "0"
    assert rows(folder)[0]["bpf_run_ns"] == ""
    assert list(rows(folder)[0]) == columns("trials")


def test_a_column_that_the_schema_does_not_know_is_an_error(folder):
    with pytest.raises(KeyError, match="cost_in_euro"):
        folder.append(row(0, cost_in_euro=1), [])


def test_resume_knows_which_trials_are_done(folder):
    folder.append(row(0), [scrape(0)])
    folder.append(row(3), [])
    assert reopened(folder).done == {0, 3}


@pytest.mark.parametrize("kept", range(1, 30, 4))
def test_a_half_written_row_is_set_aside_and_its_trial_runs_again(folder, kept):
    folder.append(row(0), [scrape(0)])
    folder.append(row(1, reason="long enough to be cut anywhere"), [scrape(1)])
    path = folder.path / "trials.csv"
    whole = path.read_bytes()
    path.write_bytes(whole[:-kept])
    again = reopened(folder)
    assert again.done == {0}
    assert (folder.path / "log" / "half-written-rows.txt").stat().st_size > 0
    again.append(row(1), [scrape(1)])
    assert [r["trial"] for r in rows(folder)] == ["0", "1"]
    samples = gzip.decompress((folder.path / "scrapes.csv.gz").read_bytes()).decode().splitlines()
    assert [line.split(",")[0] for line in samples[1:]] == ["0", "1"]


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_torn_sample_file_keeps_its_whole_members(folder, cut):
    folder.append(row(0), [scrape(0)])
    folder.append(row(1), [scrape(1)])
    path = folder.path / "scrapes.csv.gz"
    path.write_bytes(path.read_bytes()[:-cut])
    reopened(folder)
    assert gzip.decompress(path.read_bytes()).decode().splitlines()[1:] == ["0,1,5,,1"]


def test_a_new_run_never_overwrites_one(folder):
    folder.append(row(0), [])
    with pytest.raises(RunError, match="already holds a run"):
        RunFolder(folder.path).create(manifest())
    assert len(rows(folder)) == 1


def test_a_folder_with_other_things_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(RunError, match="not empty"):
        RunFolder(tmp_path).create(manifest())


def test_a_folder_that_cannot_be_written_gives_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        RunFolder(tmp_path / "file" / "run").create(manifest())


def damage_manifest(path: Path):
    (path / "manifest.json").write_text("{")


def remove_manifest(path: Path):
    (path / "manifest.json").unlink()


def change_plan(path: Path):
    (path / "manifest.json").write_text(json.dumps({"plan_hash": "other"}))


def change_header(path: Path):
    (path / "trials.csv").write_text("a,b\n1,2\n")


def damage_row(path: Path):
    with open(path / "trials.csv", "a") as file:
        file.write("1,2,3\n")


@pytest.mark.parametrize(
    "damage", [damage_manifest, remove_manifest, change_plan, change_header, damage_row]
)
def test_resuming_a_damaged_run_gives_one_line_and_changes_nothing(folder, damage):
    folder.append(row(0), [scrape(0)])
    damage(folder.path)
    before = {p.name: p.read_bytes() for p in folder.path.iterdir() if p.is_file()}
    with pytest.raises(RunError) as caught:
        reopened(folder)
    assert "\n" not in str(caught.value)
    assert {p.name: p.read_bytes() for p in folder.path.iterdir() if p.is_file()} == before


def test_a_run_is_not_gone_on_with_on_another_machine(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.create(manifest() | {"fingerprint": {"release": "6.1.0", "cpu_model": "A"}})
    RunFolder(folder.path).resume(PLAN, {"release": "6.1.0", "cpu_model": "A"}, "cgroup2")
    with pytest.raises(RunError, match="another machine .release 6.1.0, here 6.8.0"):
        RunFolder(folder.path).resume(PLAN, {"release": "6.8.0", "cpu_model": "A"}, "cgroup2")


def test_a_run_is_not_gone_on_with_by_another_instrument(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.create(manifest() | {"instrument": "cgroup2"})
    with pytest.raises(RunError, match="measured with cgroup2, now schedstat"):
        RunFolder(folder.path).resume(PLAN, {}, "schedstat")


def test_a_start_that_was_killed_before_its_manifest_can_be_started_again(tmp_path):
    (tmp_path / "manifest.json.new").write_text("{")
    RunFolder(tmp_path).create(manifest())
    assert reopened(RunFolder(tmp_path)).done == set()


def test_a_full_disk_is_one_line_and_leaves_no_part_of_a_row(folder, monkeypatch):
    folder.append(row(0), [scrape(0)])
    before = (folder.path / "trials.csv").read_bytes()
    real = os.write
    monkeypatch.setattr("os.write", lambda fd, data: real(fd, data[: len(data) // 2]))
    with pytest.raises(RunError, match="No space left on device; make room and resume"):
        folder.append(row(1), [])
    monkeypatch.undo()
    assert (folder.path / "trials.csv").read_bytes() == before
    assert reopened(folder).done == {0}


def test_samples_after_a_damaged_byte_are_set_aside_and_not_thrown_away(folder):
    for trial in range(3):
        folder.append(row(trial), [scrape(trial)])
    path = folder.path / "scrapes.csv.gz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))
    reopened(folder)
    aside = (folder.path / "log" / "undecodable-scrapes.bin").read_bytes()
    assert aside and bytes(data).endswith(aside)


@given(st.text(max_size=80))
def test_a_run_name_is_a_plain_folder_name_whatever_the_host_is_called(host):
    name = run_name(PLAN, host=host, now=0)
    assert name.startswith("19700101T000000Z-")
    assert name.replace("-", "").isalnum() and name.isascii()


@given(st.text())
def test_a_reason_with_any_text_stays_one_row(tmp_path_factory, reason):
    folder = RunFolder(tmp_path_factory.mktemp("run") / "r")
    folder.create(manifest())
    folder.append(row(0, reason=reason.replace("\0", "")), [])
    assert reopened(folder).done == {0}


def test_what_is_said_of_each_cpu_has_a_table_of_its_own(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.create(manifest())
    sample = {"trial": 3, "scrape": 0, "cpu": -1, "known_percent": 20.5, "reported_percent": 21.0}
    folder.append({"trial": 3, "kind": "cores"}, [sample])
    with gzip.open(folder.path / "cores.csv.gz", "rt") as file:
        assert list(csv.DictReader(file)) == [{k: str(v) for k, v in sample.items()}]
    assert not (folder.path / "scrapes.csv.gz").exists()
