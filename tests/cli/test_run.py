"""``./study run`` as a process: interrupted, its kernel killed, resumed; nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from cli import __main__, run, runs
from cli.environment import User
from cli.problem import Problem


def start(output: Path, *words: str) -> subprocess.Popen[str]:
    # another user's runtime folder, as sudo leaves it in the environment
    foreign = dict.fromkeys(
        ("XDG_RUNTIME_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"), "/proc/1"
    )
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "cli", "run", *words, "--output", str(output)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **foreign},
        # whoever runs the tests in the background has SIGINT ignored, and children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )


def wait_for(
    what: Callable[[], object], process: subprocess.Popen[str], seconds: float = 60
) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline and process.poll() is None, process.communicate()
        time.sleep(0.05)


def rows(output: Path) -> int:
    tables = list(output.glob("raw/gauges/*/trials.csv"))
    return tables[0].read_text().count("\n") - 1 if tables else 0


def descendants(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def gone(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=15)
    return not alive


def test_a_run_survives_ctrl_c_and_a_dead_kernel(tmp_path: Path) -> None:
    first = start(tmp_path, "gauges", "--preset", "smoke")
    wait_for(lambda: rows(tmp_path) >= 2, first)
    family = descendants(first)
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=60)
    assert first.returncode == 130
    assert "--resume true" in said and len(said.splitlines()) == 1
    assert gone(family)
    kept = next(tmp_path.glob("raw/gauges/*/trials.csv")).read_text()

    second = start(tmp_path, "--resume", "true")
    before = rows(tmp_path)
    wait_for(lambda: rows(tmp_path) > before, second)
    family = descendants(second)
    (kernel,) = (p for p in family if "ipykernel_launcher" in " ".join(p.cmdline()))
    kernel.kill()
    _, said = second.communicate(timeout=60)
    assert second.returncode == 1
    assert "kernel died" in said and "--resume true" in said
    assert gone(family), "the runner does not outlive the notebook"

    # by name, and as if on another clone: a session is not needed for it, and none is begun
    (tmp_path / "session.json").unlink()
    (folder,) = tmp_path.glob("raw/gauges/*")
    third = start(tmp_path, "--resume", folder.name)
    told, said = third.communicate(timeout=120)
    assert third.returncode == 0, said
    assert not (tmp_path / "session.json").exists()
    assert runs.trials_left(folder)[0] == 0
    table = (folder / "trials.csv").read_text()
    assert table.startswith(kept), "what was measured stays as it was"
    numbers = [line.split(",")[0] for line in table.splitlines()[1:]]
    assert numbers == [str(number) for number in range(len(numbers))]
    summary = json.loads(next(tmp_path.glob("processed/gauges/*/summary.json")).read_text())
    assert summary["sentence"] in told
    assert next(tmp_path.glob("processed/gauges/*/run.executed.ipynb")).stat().st_size
    assert not list(tmp_path.glob("processed/*.ipynb"))[1:], (
        "only the killed kernel's is kept apart"
    )


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (["--resume", "true"], "no session was started"),
        (["--resume", "20240101T000000Z-host-0123abcd"], "no run '20240101T000000Z-host-0123abcd'"),
        (["processes", "--arms", "proc_stta"], "unknown arm 'proc_stta'"),
        (["processes", "--preset", "smoke", "--window-s", "0.25"], "window_s"),
        (["gauges", "--preset", "scaling"], "unknown preset 'scaling'"),
    ],
)
def test_what_cannot_be_run_is_one_line_and_writes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    cause: str,
) -> None:
    monkeypatch.setattr(sys, "argv", ["cli", "run", *words, "--output", str(tmp_path)])
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # pytest's own stay
    assert __main__.main() == 2
    said = capsys.readouterr().err
    assert cause in said and len(said.splitlines()) == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_only_what_this_run_made_is_given_to_the_user_behind_sudo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "others").mkdir()
    given: list[Path] = []
    monkeypatch.setattr(os, "chown", lambda path, *_, **__: given.append(Path(path)))
    monkeypatch.setattr(run.environment, "behind_sudo", lambda: User(12345, 12345, "/"))
    monkeypatch.setattr(run.session, "plan", lambda _: {})
    monkeypatch.setattr(run, "_execute", lambda *_, **__: None)
    monkeypatch.setattr(run, "_report", lambda *_: None)
    run.command({"output": str(tmp_path / "new" / "deep")})
    assert given == [tmp_path / "new", tmp_path / "new/deep", tmp_path / "new/deep/processed"]
    run.command({"output": str(tmp_path / "new" / "deep")})
    assert len(given) == 3


def test_an_output_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("precious")
    process = start(place, "processes", "--preset", "smoke")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "cannot write to" in said and len(said.splitlines()) == 1
    assert place.read_text() == "precious"


def test_resuming_keeps_to_the_parameters_of_the_session(tmp_path: Path) -> None:
    from cli import session

    values = session.parameters.resolve({"preset": "smoke", "output": str(tmp_path)})
    runs.note_session(tmp_path, session.parameters.plain(values), {"processes": "x"})
    again = session.open_session({"resume": True, "output": str(tmp_path)})
    assert again.values["preset"] == "smoke" and again.runs == {"processes": "x"}
    with pytest.raises(Problem, match="resuming goes on with preset smoke, not paper"):
        session.open_session({"resume": True, "preset": "paper", "output": str(tmp_path)})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"parameters": 3, "runs": {}}'])
def test_a_damaged_session_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "session.json").write_text(text)
    with pytest.raises(Problem, match="session.json"):
        runs.last_session(tmp_path)


def test_a_torn_last_row_counts_as_not_measured(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    plan = {"trials": [{"trial": number} for number in range(4)], "estimate": {"minutes": 1}}
    manifest = {"plan": plan}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert runs.trials_left(folder) == (4, 4)
    (folder / "trials.csv").write_text("trial,block\n0,0\n1,0\n2")
    assert runs.trials_left(folder) == (2, 4)


@pytest.mark.parametrize("trials", [[{}], [3], [], None, [{"trial": "x"}]])
def test_a_damaged_plan_is_one_line(tmp_path: Path, trials: object) -> None:
    manifest = {"plan": {"trials": trials, "estimate": {"minutes": 1}}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(Problem, match="manifest.json holds no plan"):
        runs.trials_left(tmp_path)
