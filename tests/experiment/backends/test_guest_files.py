"""What goes into a boot is all that it needs, and the same bytes on every machine."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiment import perturbations
from experiment.backends import guest_files
from experiment.plan import build

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def plan():
    return build("processes", "exact", root=ROOT, backend="exact")


def test_the_plan_of_a_block_begins_with_a_trial_to_be_discarded(plan):
    part = guest_files.plan_of_block(plan, 3)
    first, *others = part["trials"]
    assert others == [trial for trial in plan["trials"] if trial["block"] == 3]
    assert first["trial"] == len(plan["trials"]) and first["window_s"] == 1.0
    assert part["perturbation"] == {"block": 3, "offset_us": 250_375, "forks": 2}
    assert part["backend"] == "exact"


def test_nothing_in_it_names_this_machine(plan):
    moved = {**plan, "paths": dict.fromkeys(plan["paths"], "/elsewhere"), "estimate": None}
    for block in (1, 9):
        part = guest_files.plan_of_block(plan, block)
        assert part == guest_files.plan_of_block(moved, block)
        assert str(ROOT) not in json.dumps(part)


def test_the_packed_runner_starts_by_itself(plan, tmp_path):
    for path in guest_files.runner_files(ROOT / "experiment"):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    packed = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.py")}
    assert "experiment/trials/empty.py" in packed
    assert not {"experiment/plan.py", "experiment/backends/exact.py"} & packed
    (tmp_path / "data").mkdir()
    (tmp_path / "data/schema.json").write_bytes((ROOT / "data/schema.json").read_bytes())
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(tmp_path / "experiment"), "none", "none"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "give the path of a plan.json" in done.stderr


def test_programs_and_scripts_are_there_if_an_arm_needs_them(plan, tmp_path):
    names = ("null_agent", "proc_stat", "proc_stat_tuned", "sched_switch", "sched_switch_published",
             "task_iter", "idle_processes", "spin")  # fmt: skip
    for name in names:
        (tmp_path / name).write_bytes(b"\x7fELF")
    entries = {entry.name: entry for entry in guest_files.project(plan, ROOT, tmp_path)}
    assert entries["build/spin"].mode & 0o777 == 0o755 and entries["init"].mode & 0o111
    assert not [name for name in entries if name.startswith("probetax/bpf/")]
    assert guest_files.packages(plan) == []
    python = build("processes", "smoke", root=ROOT, backend="exact", arms=["psutil_processes"])
    assert guest_files.packages(python) == ["python3-psutil"]
    cores = build("cores", "exact", root=ROOT, backend="exact")
    assert guest_files.packages(cores) == ["sysstat"]
    entries = {entry.name for entry in guest_files.project(python, ROOT, tmp_path)}
    assert {"probetax/bpf/common/collector.py", "build/null_agent"} <= entries
    (tmp_path / "spin").unlink()
    with pytest.raises(FileNotFoundError):
        guest_files.project(plan, ROOT, tmp_path)


def test_perturbations_are_declared_and_differ():
    eight = [perturbations.of_block(block, 1000) for block in range(1, 9)]
    assert eight[0] == {"block": 1, "offset_us": 0, "forks": 0}
    assert len({p["offset_us"] % 4000 for p in eight}) == 8, "another place in the kernel's tick"
    assert max(p["offset_us"] for p in eight) < 1_000_000
    assert perturbations.of_block(9, 1000) == {**eight[0], "block": 9}
