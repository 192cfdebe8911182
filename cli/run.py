"""``./study run``: executes notebooks/run.ipynb and says at the end what was found."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cli import environment, parameters, paths, results, runs, session
from cli.broker import Broker
from cli.problem import Failed, Interrupted, Problem
from cli.progress import Progress
from cli.runner import Event

#: What a cell may take beyond three times the planned minutes, in seconds.
GRACE_S = 900


class Terminal:
    """Shows the events of each study's runner as they pass through."""

    def __init__(self, plans: Mapping[str, Mapping[str, Any]]) -> None:
        self._plans = plans
        self._study = ""
        self._progress: Progress | None = None

    def __call__(self, study: str, event: Event) -> None:
        if study != self._study or self._progress is None:
            self.close()
            told = self._plans[study].get("notes", [])
            self._study, self._progress = study, Progress(study, told=told)
        self._progress(event)

    def close(self) -> None:
        """Leave the last bar as it stands."""
        if self._progress is not None:
            self._progress.close()
            self._progress = None


def command(asked: Mapping[str, Any]) -> int:
    """Measure, analyse, and print the findings. Raises Problem, Interrupted or Failed."""
    folder = parameters.resolve(asked)["output"] / "processed"
    user = environment.behind_sudo()
    new = paths.absent(folder) if user else []
    current = session.open_session(asked)
    paths.writable_folder(folder)
    if user:
        _give(new, user)
    made = session.plan(current)
    minutes = sum(_minutes_left(current, study, plan) for study, plan in made.items())
    print(f"probetax: measuring about {minutes:.1f} minutes; keep the machine quiet", flush=True)
    executed = folder / f"run-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.executed.ipynb"
    try:
        _execute(current, Terminal(made), executed, deadline_s=round(180 * minutes) + GRACE_S)
    except (Interrupted, Failed) as problem:
        if isinstance(problem, Interrupted):
            executed.unlink(missing_ok=True)  # it shows nothing that the raw folder does not hold
        how = "" if "--resume" in str(problem) else f"; {session.how_to_resume(current)}"
        raise type(problem)(f"{problem}{how}") from None
    _report(current, executed)
    return 0


def _minutes_left(current: session.Session, study: str, plan: Mapping[str, Any]) -> float:
    """The planned minutes, or what a run that was begun has left of them."""
    minutes = float(plan["estimate"]["minutes"])
    if study not in current.runs or not (current.raw(study) / "manifest.json").exists():
        return minutes
    left, planned = runs.trials_left(current.raw(study))
    return minutes * left / planned


def _execute(current: session.Session, terminal: Terminal, executed: Path, deadline_s: int) -> None:
    values = {**parameters.plain(current.values), "study": ",".join(current.studies)}
    if current.values["resume"] is True:  # what is in force comes from the session itself
        values = {"resume": True, "output": values["output"]}
    user = environment.behind_sudo()
    with (
        tempfile.TemporaryDirectory(prefix="probetax-") as private,
        Broker(Path(private), terminal) as broker,
    ):
        variables = {**environment.jupyter(Path(private)), **broker.environment}
        who: dict[str, Any] = {}
        if user is not None:
            _give([Path(private), *Path(private).iterdir()], user)
            broker.hand_to(user.uid, user.gid)
            variables |= {"HOME": user.home}
            who = {"user": user.uid, "group": user.gid, "extra_groups": []}
        notebook = subprocess.Popen(
            [
                *(sys.executable, "-m", "cli.execute", str(paths.NOTEBOOKS / "run.ipynb")),
                *(str(executed), json.dumps(values), str(deadline_s)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=variables,
            cwd=paths.ROOT,
            start_new_session=True,  # Ctrl-C is ours to handle
            **who,
        )
        with notebook:
            status = broker.serve(notebook)
            terminal.close()
            assert notebook.stderr is not None
            said = notebook.stderr.read().decode("utf-8", "replace").strip().splitlines()
    if broker.interrupted:
        raise Interrupted("interrupted; what was measured is on the disk")
    if status:
        ours = [line.removeprefix("probetax: ") for line in said if line.startswith("probetax: ")]
        text = "\n".join(ours or said[-1:] or [f"the notebook ended with status {status}"])
        kinds: dict[int, type[Problem]] = {2: Problem, 130: Interrupted}
        raise kinds.get(status, Failed)(text)


def _give(made: Iterable[Path], user: environment.User) -> None:
    """Make the user's what we, as root, have just created on the user's behalf."""
    for path in made:
        with contextlib.suppress(OSError):
            os.chown(path, user.uid, user.gid, follow_symlinks=False)


def _report(current: session.Session, executed: Path) -> None:
    """Print what was measured. The files decide whether the run is done, not the exit code."""
    if not current.named:  # else the notebook's process chose the names
        _, begun = runs.last_session(current.output)
        current.runs = {**begun, **current.runs}
    session.finish(current)
    kept = current.processed(current.studies[0]) / "run.executed.ipynb"
    executed.replace(kept)
    for study in current.studies:
        print()
        print(results.findings(current.processed(study)))
    print(f"\nprobetax: the notebook as it ran is {kept}")
