"""Two boots of one plan give the same digits, whatever else the host does, and BPF is what ran."""

import csv
import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiment.plan import build

ROOT = Path(__file__).resolve().parents[3]
BACKEND = ["/usr/bin/python3", "-I", "-S", "-B", str(ROOT / "experiment" / "backends")]


@pytest.fixture(scope="module")
def plan():
    """One block: an empty window, nothing loaded, and an empty program on every context switch."""
    made = build("accounts", "smoke", root=ROOT, backend="exact", blocks=2)
    cost = next(t for t in made["trials"] if t["block"] == 1 and t["kind"] == "cost")
    cells = [("none", "empty", "off"), ("null_agent", "cost", "off"),
             ("empty_switch", "cost", "on"), ("proc_stat", "cost", "off")]  # fmt: skip
    made["trials"] = [
        {**cost, "trial": number, "position": number, "arm": arm, "kind": kind, "statistics": state,
         "interval_ms": 200, "window_s": 1.0}
        for number, (arm, kind, state) in enumerate(cells)
    ]  # fmt: skip
    return made


@pytest.fixture(scope="module")
def runs(plan, tmp_path_factory):
    """The plan twice, at the same time, with a process beside them that leaves them no core."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "plan.json").write_text(json.dumps(plan))
    places = [folder / "first", folder / "second"]
    load = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        started = []
        for place in places:
            words = [*BACKEND, str(folder / "plan.json"), str(place)]
            started.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        for process in started:
            _, error = process.communicate(timeout=240)
            assert process.returncode == 0, error.decode()
    finally:
        load.kill()
        load.wait()
    return places


def rows(run):
    with open(run / "trials.csv", newline="") as file:
        return {row["arm"]: row for row in csv.DictReader(file)}


def test_two_boots_have_the_same_bytes(runs):
    first, second = runs
    assert (first / "trials.csv").read_bytes() == (second / "trials.csv").read_bytes()
    samples = [gzip.decompress((run / "scrapes.csv.gz").read_bytes()) for run in runs]
    assert samples[0] == samples[1]
    manifests = [json.loads((run / "manifest.json").read_text()) for run in runs]
    for name in ("fingerprint", "exact", "plan_hash"):
        assert manifests[0][name] == manifests[1][name]
    assert manifests[0]["fingerprint"]["architecture"] == "x86_64"


def test_every_window_is_measured_and_counted(runs, plan):
    found = rows(runs[0])
    assert [row["status"] for row in found.values()] == ["ok"] * len(plan["trials"])
    for row in found.values():
        assert int(row["user_instructions"]) > 1000 < int(row["kernel_instructions"])
    assert found["none"]["instrument"] == "exact" and found["none"]["agent_ns"] == ""
    # a guest's CPU does an instruction in 2 ns: the agent's account is part of the count
    agent = found["proc_stat"]
    both = int(agent["user_instructions"]) + int(agent["kernel_instructions"])
    nothing = found["none"]
    net = both - int(nothing["user_instructions"]) - int(nothing["kernel_instructions"])
    assert int(agent["agent_ns"]) == pytest.approx(2 * net, rel=0.1)


def test_bpf_instructions_are_those_of_the_programs_that_ran(runs):
    found = rows(runs[0])
    assert {
        arm: row["bpf_instructions"] for arm, row in found.items() if arm != "empty_switch"
    } == ({"none": "0", "null_agent": "0", "proc_stat": "0"})
    ran, executed = (int(found["empty_switch"][n]) for n in ("bpf_run_count", "bpf_instructions"))
    assert ran > 5
    length = round(executed / ran)
    assert 4 <= length <= 16, "an empty program: entry, a zero to return, exit"
    assert abs(executed - ran * length) <= 2 * length, "but for a switch at each edge"
