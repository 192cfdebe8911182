"""The command as a process under ``python3 -I -S``, as the launcher starts it."""

from __future__ import annotations

import ast
import csv
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.advise import arguments, command, text
from cli.advise.forms import Interval
from cli.problem import Problem

ROOT = Path(__file__).resolve().parents[3]
GIVEN = ("--processes", "600", "--switches", "3000")
MODULES = [
    *sorted((ROOT / "cli/advise").glob("*.py")),
    *(ROOT / "cli" / f"{name}.py" for name in ("arguments", "paths", "problem")),
]
#: They measure, and run where everything is set up.
SET_UP = {"calibrate.py"}


def advise(*words: object, cwd: str = "/") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/usr/bin/python3", "-B", "-I", "-S", str(ROOT / "cli" / "advise"), *map(str, words)],
        capture_output=True, text=True, cwd=cwd, stdin=subprocess.DEVNULL, timeout=60,
        env={"LC_ALL": "C.UTF-8"},
    )  # fmt: skip


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_it_is_python_3_9_and_imports_nothing_that_is_installed(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in calls:
        names = {keyword.arg for keyword in call.keywords}
        assert not names & {"strict", "slots", "kw_only"}, f"{path}:{call.lineno}: newer than 3.9"
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported |= {f"{node.module}.{alias.name}" for alias in node.names}
    if path.name in SET_UP:
        return
    ours = re.compile(r"cli\.(advise\b|arguments|paths|problem)|cli\.paths$")
    for name in imported:
        if not ours.match(name):
            assert name.split(".")[0] in {*sys.stdlib_module_names, "__future__"}, (path, name)


def test_given_numbers_are_answered_without_any_set_up(file: Path) -> None:
    done = advise("--coefficients", file, *GIVEN, "--threads", 900, "--active", 30)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "another machine: 2 CPUs, made for a test" in done.stdout
    for every in ("every 1 s", "every 15 s", "every 60 s"):
        assert done.stdout.count(every) == 2, "in the table's head, and in words"
    assert "cores per 1,000 nodes" in done.stdout and "becomes cheaper" in done.stdout
    for arm in ("/proc polling", "eBPF, corrected", "eBPF iterator"):
        assert arm in done.stdout
    assert "sleeping only" not in done.stdout and "cpu.stat" not in done.stdout


def test_outside_of_the_region_it_says_so_and_prints_no_cost(file: Path) -> None:
    done = advise("--coefficients", file, "--processes", 6000, "--switches", 3000)
    assert done.returncode == 0
    said = "6,000 processes (measured: 60 to 5,000)"
    assert done.stdout.count(f"not measured, so no number: {said}") == 3
    assert "%" not in done.stdout and "cores" not in done.stdout


def test_a_small_cost_is_not_rounded_out_of_its_interval() -> None:
    shown = text.interval(Interval(0.000962, 0.000941, 0.000983))
    assert shown == "0.00096 [0.00094, 0.00098]"


def test_fewer_threads_than_were_measured_are_said(file: Path, tmp_path: Path) -> None:
    given = advise("--coefficients", file, *GIVEN, "--threads", 610).stdout
    assert "threads are fewer than were measured: taken as 40 beyond the first" in given
    assert "threads" not in advise("--coefficients", file, *GIVEN, "--threads", 900).stdout
    fleet = tmp_path / "fleet.csv"
    fleet.write_text("node,processes,switches/s,threads\na,600,3000,610\n")
    said = advise("--coefficients", file, "--fleet", fleet).stdout
    assert "with fewer than were measured: taken as the fewest measured" in said


def test_a_collector_that_was_not_measured_at_an_interval_is_named(
    content: Any, tmp_path: Path
) -> None:
    made = content()
    made["models"][0]["arms"]["task_iter"]["interval_s"] = [0.1, 10]
    path, fleet = tmp_path / "advice.json", tmp_path / "fleet.csv"
    path.write_text(json.dumps(made))
    fleet.write_text("node,processes,switches/s\na,600,3000\n")
    said = "eBPF iterator was measured every 0.100 to 10 s: every 15, 60 s its cost is the model's"
    for words in (GIVEN, ("--fleet", fleet)):
        assert said in advise("--coefficients", path, *words).stdout
    answers = json.loads(advise("--coefficients", path, *GIVEN, "--json").stdout)["answers"]
    alone = [
        {c["arm"] for c in answer["collectors"] if not c["interval_measured"]} for answer in answers
    ]
    assert alone == [set(), {"task_iter"}, {"task_iter"}]


def test_a_model_that_failed_its_test_is_said(content: Any, tmp_path: Path, file: Path) -> None:
    made = content()
    made["models"][0]["arms"]["sched_switch"]["held_out_median_error"] = 0.61
    path = tmp_path / "off.json"
    path.write_text(json.dumps(made))
    said = advise("--coefficients", path, *GIVEN).stdout
    assert "the model is off by 61 % for eBPF, corrected (median" in said
    assert "less sure" not in advise("--coefficients", file, *GIVEN).stdout
    answers = json.loads(advise("--coefficients", path, *GIVEN, "--json").stdout)["answers"]
    errors = {c["arm"]: c["held_out_median_error"] for c in answers[0]["collectors"]}
    assert errors["sched_switch"] == 0.61 and errors["task_iter"] == 0.04


def test_json_says_the_same(file: Path) -> None:
    words = ("--coefficients", file, *GIVEN, "--interval", "15,120", "--threads", 900)
    made = json.loads(advise(*words, "--json").stdout)
    assert made["model"]["unit"] == "percent_core" and made["model"]["this_machine"] is False
    inside, outside = made["answers"]
    assert inside["least"] == "task_iter" and inside["collectors"][0]["arm"] == "task_iter"
    cost = inside["collectors"][0]["cost"]
    assert cost["low"] < cost["estimate"] < cost["high"]
    per_thousand = inside["collectors"][0]["cores_per_1000_nodes"]["estimate"]
    assert per_thousand == pytest.approx(cost["estimate"] / 100 * 1000)
    assert outside["least"] is None and outside["collectors"] == []
    assert outside["outside"] == [{"factor": "interval_s", "value": 120, "measured": [0.1, 60]}]


def test_instructions_rank_and_are_called_no_time(content: Any, tmp_path: Path) -> None:
    path = tmp_path / "exact.json"
    path.write_text(json.dumps(content(unit="instructions")))
    said = advise("--coefficients", path, *GIVEN).stdout
    assert "are no time" in said and "million instructions a second" in said
    assert "% of one core" not in said and "cores per" not in said


def test_this_machine_is_watched_and_its_own_reading_told(file: Path) -> None:
    done = advise("--coefficients", file, "--seconds", 2, "--interval", 1)
    assert done.returncode == 0, done.stderr
    said = r"this machine, watched for 2 s: [\d.,]+ processes, [\d.,]+ threads, "
    assert re.match(said, done.stdout)
    assert "the reading took" in done.stdout
    assert "nothing is attached" in done.stderr
    seen = json.loads(advise("--coefficients", file, "--seconds", 1, "--json").stdout)["observed"]
    assert seen["processes"] > 1 and seen["active"]["60.0"] is None


def test_a_fleet_is_summed_and_every_node_written(file: Path, tmp_path: Path) -> None:
    fleet, out = tmp_path / "fleet.csv", tmp_path / "out.csv"
    fleet.write_text("node,processes,switches/s,threads\na,600,3000,900\nb,10,3000,20\n")
    done = advise("--coefficients", file, "--fleet", fleet, "--output", out)
    assert done.returncode == 0, done.stderr
    assert "/proc polling (taken to run now)" in done.stdout
    assert "1 more lie outside" in done.stdout and "band of a break-even line" in done.stdout
    with open(out, newline="") as text:
        rows = list(csv.DictReader(text))
    assert len(rows) == 6 and {row["interval_s"] for row in rows} == {"1", "15", "60"}
    (one,) = json.loads(
        advise("--coefficients", file, "--fleet", fleet, "--json", "--interval", 15).stdout
    )["fleets"]
    assert one["inside"] == 1 and one["unit"] == "cores" and one["saving"]["estimate"] > 0
    words = ["--coefficients", str(file), "--fleet", str(fleet)]
    for more, said in (
        (["--output", str(fleet)], "would overwrite"),
        (["--output", str(tmp_path / "no" / "x.csv")], "cannot write"),
        (["--now", "proc_stats"], "did you mean 'proc_stat'"),
    ):
        with pytest.raises(Problem, match=said):
            command.command([*words, *more])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--processes", "5"), "--processes and --switches are given together"),
        (("--switches", "5"), "--processes and --switches are given together"),
        (("--threads", "5"), "--threads goes with --processes"),
        (("--active", "5"), "--active goes with --processes"),
        ((*GIVEN, "--seconds", "5"), "--seconds is for watching"),
        ((*GIVEN, "--fleet", "x"), "--fleet brings its own numbers"),
        ((*GIVEN, "--threads", "5"), "not fewer than --processes"),
        ((*GIVEN, "--output", "x"), "--output goes with --fleet"),
        ((*GIVEN, "--now", "x"), "--now goes with --fleet"),
        (("--calibrate", "--coefficients", "x"), "choose one"),
        (("--processes", "0", "--switches", "5"), "--processes is '0': give a number from 1"),
        (("--processes", "1,000", "--switches", "5"), r"no commas"),
        (("--processes", "nan", "--switches", "5"), "--processes is 'nan'"),
        (("--processes", "5", "--switches", "1e99"), "--switches is '1e99'"),
        (("--interval", "1,x"), "--interval is 'x'"),
        (("--interval", "0"), "--interval is '0'"),
        (("--interval", ""), "--interval is ''"),
        (("--seconds", "0"), "--seconds is '0'"),
        (("--fleet", ""), "--fleet is empty"),
        (("--proces", "5"), "unrecognized arguments"),
        (("here",), "unrecognized arguments: here"),
    ],
)
def test_a_wrong_command_line_is_one_line(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(Problem, match=said) as found:
        arguments.parse(words)
    assert "\n" not in str(found.value)


def test_problems_are_one_line_with_status_2(tmp_path: Path) -> None:
    done = advise("--coefficients", tmp_path / "none", *GIVEN)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("probetax: ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_watch_ends_at_once(file: Path, number: signal.Signals) -> None:
    watch = subprocess.Popen(
        ["/usr/bin/python3", "-B", "-I", "-S", ROOT / "cli" / "advise", "--coefficients", file],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # whoever runs the tests in the background has SIGINT ignored, and children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )  # fmt: skip
    assert watch.stderr is not None
    assert "watching" in watch.stderr.readline()
    time.sleep(0.2)
    watch.send_signal(number)
    out, said = watch.communicate(timeout=10)
    assert watch.returncode == 130 and out == "" and said.strip() == "probetax: interrupted"


def test_a_reader_that_leaves_is_no_traceback(file: Path) -> None:
    shell = f"/usr/bin/python3 -B -I -S {ROOT}/cli/advise --coefficients {file} {' '.join(GIVEN)}"
    done = subprocess.run(
        ["bash", "-c", f"{shell} | true"], capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in done.stderr


def test_the_calibrated_model_comes_before_the_shipped_one(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    content: Callable[..., dict[str, Any]],
) -> None:  # fmt: skip
    from cli.advise import calibrated

    monkeypatch.setattr(command, "SHIPPED", file)
    monkeypatch.setattr(calibrated, "FILE", tmp_path / "deep" / "own.json")
    assert command.command(GIVEN) == 0
    assert "on another machine" in capsys.readouterr().out
    own = content()
    own["models"][0]["run"] = "crossover/own"
    calibrated.store(json.dumps(own))
    assert command.command(GIVEN) == 0
    assert "as calibrated on this machine" in capsys.readouterr().out
    own["models"][0]["region"]["interval_s"] = [0.1, 1]
    calibrated.store(json.dumps(own))
    assert command.command(GIVEN) == 0
    out = capsys.readouterr().out
    assert "every 15 s: not measured" in out and "every 60 s: not measured" in out
    assert out.count("every 1 s") == 2, "answered"
    assert "every 15, 60 s was measured on 2 CPUs, made for a test" in out
    assert "--model crossover/made-for-a-test" in out
    assert command.command([*GIVEN, "--model", "crossover/made-for-a-test"]) == 0
    assert "on another machine" in capsys.readouterr().out
    monkeypatch.setattr(calibrated, "host", lambda: {"name": "a", "kernel": "b"})
    assert command.command(GIVEN) == 0
    out, said = capsys.readouterr()
    assert "on another machine" in out and "calibrated on another machine (kernel, name" in said
    with pytest.raises(Problem, match="gave no model"):
        calibrated.store('{"schema": 1, "models": []}')
