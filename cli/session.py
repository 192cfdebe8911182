"""What the notebooks call: check the parameters, plan, measure, analyse, and prove it is done."""

from __future__ import annotations

import ast
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli import parameters, paths, results, runner, runs
from cli import plan as plans
from cli.problem import Failed, Interrupted, Problem
from cli.progress import Progress
from experiment.backends import HERE
from experiment.run_folder import run_name


@dataclass
class Session:
    """A notebook's work: its parameters in force, and one run per study."""

    values: dict[str, Any]
    runs: dict[str, str] = field(default_factory=dict)

    @property
    def output(self) -> Path:
        """The folder that holds raw/ and processed/."""
        output: Path = self.values["output"]
        return output

    @property
    def studies(self) -> list[str]:
        """The studies of this session, in order."""
        studies: list[str] = self.values["study"]
        return studies

    @property
    def named(self) -> str | None:
        """The run that is gone on with by its name, whatever the last session was."""
        resume = self.values["resume"]
        return resume if isinstance(resume, str) else None

    def raw(self, study: str) -> Path:
        """The raw folder of a study's run."""
        return paths.raw(self.output, study) / self.runs[study]

    def processed(self, study: str) -> Path:
        """The folder of what is derived from it."""
        return paths.processed(self.output, study, self.runs[study])


def begin(namespace: Mapping[str, Any]) -> Session:
    """Check every parameter of a notebook and print what is in force.

    Args:
        namespace: the notebook's ``globals()``.

    Raises:
        Problem: an unknown name, a wrong type or a value out of range.
    """
    session = open_session(given(namespace))
    _show(session.values)
    return session


def _show(values: Mapping[str, Any]) -> None:
    """Print what is in force, and that a kernel started by sudo is more than anything needs."""
    print("\n".join(parameters.lines(values)))
    if os.geteuid() == 0 and "SUDO_UID" in os.environ:
        print(
            "note: Jupyter should not run as root: run papermill without sudo; only the runner asks"
            " for it"
        )


def given(namespace: Mapping[str, Any], *more: str) -> dict[str, Any]:
    """The names assigned in the parameters cell and in papermill's injected one, with their values.

    Both cells begin with ``# Parameters``; nothing else that a notebook holds is a parameter.
    """
    names = [*parameters.declared(), *more]
    for source in namespace.get("In", []):
        if source.lstrip().startswith("# Parameters"):
            names += _assigned(source)
    return {name: namespace[name] for name in dict.fromkeys(names) if name in namespace}


def _assigned(source: str) -> list[str]:
    try:
        body = ast.parse(source).body
    except SyntaxError:  # such a cell has already failed
        return []
    targets = [target for s in body if isinstance(s, ast.Assign) for target in s.targets]
    targets += [s.target for s in body if isinstance(s, ast.AnnAssign)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def open_session(asked: Mapping[str, Any]) -> Session:
    """A session from parameters, new or resumed. Raises Problem."""
    values = parameters.resolve(asked)
    paths.writable_folder(values["output"])
    if values["resume"] is False:
        return Session(values)
    output, run = values["output"], values["resume"]
    if isinstance(run, str):
        study = runs.study_of(output, run)
        plan = runs.stored_plan(paths.raw(output, study) / run)
        stored, begun = {"study": study, "preset": plan.get("preset")}, {study: run}
    else:
        stored, begun = runs.last_session(output)
    in_force = parameters.resolve({**stored, "resume": run, "output": output})
    defaults = parameters.resolve({})
    for name, value in values.items():
        if name not in ("resume", "output") and value not in (defaults[name], in_force[name]):
            raise Problem(
                f"resuming goes on with {name} {in_force[name]}, not {value}: leave {name} out, or"
                " start anew without resume"
            )
    return Session(in_force, dict(begun))


def plan(session: Session) -> dict[str, dict[str, Any]]:
    """Plan every study and print minutes, disk and what the plan can tell apart. Raises Problem."""
    made = {}
    for study in session.studies:
        begun = study in session.runs and (session.raw(study) / "manifest.json").exists()
        made[study] = (
            runs.stored_plan(session.raw(study)) if begun else plans.build(study, session.values)
        )
        if begun:
            left, planned = runs.trials_left(session.raw(study))
            print(f"{study}: {session.runs[study]}, {left} of {planned} trials left to measure")
        else:
            print("\n".join(plans.lines(made[study])))
    return made


def measure(session: Session, made: Mapping[str, Mapping[str, Any]]) -> None:
    """Run every plan; progress appears between trials.

    Raises:
        Interrupted, Problem, Failed: with what is on the disk and how to go on.
    """
    for study in session.studies:
        session.runs.setdefault(study, run_name(dict(made[study])))
        out = session.raw(study)
        begun = (out / "manifest.json").exists()
        if begun and runs.trials_left(out)[0] == 0:
            continue
        if not session.named:
            runs.note_session(session.output, parameters.plain(session.values), session.runs)
        paths.writable_folder(out.parent)
        progress = Progress(study, sys.stdout, notebook=True, told=made[study].get("notes", []))
        try:
            runner.run(made[study], out, begun, progress)
        except (Interrupted, Failed) as problem:
            raise type(problem)(f"{problem}; {how_to_resume(session)}") from None
        finally:
            progress.close()


def how_to_resume(session: Session) -> str:
    """The command that goes on with this session."""
    elsewhere = session.output != parameters.resolve({})["output"]
    return f"go on with ./study run --resume {session.named or 'true'}" + (
        f" --output '{session.output}'" if elsewhere else ""
    )


def of_study(namespace: Mapping[str, Any], study: str) -> Session:
    """The session of a study's own notebook: ``run`` is ``newest``, a run's name, or ``new``.

    Raises Problem, as :func:`begin` does, and when there is no such run.
    """
    asked = given(namespace, "run")
    run = asked.pop("run", "newest")
    if not isinstance(run, str):
        raise Problem(f"parameter run is {run!r}; it must be newest, new or the name of a run")
    session = open_session({**asked, "study": study})
    defaults = dict.fromkeys(asked) | {"preset": "quick", "backend": HERE}
    if run != "new":
        name = runs.newest(session.output, study) if run == "newest" else run
        if runs.study_of(session.output, name) != study:
            raise Problem(f"parameter run is {name}, which is not a run of {study}")
        left, planned = runs.trials_left(session.output / "raw" / study / name)
        if left:
            raise Problem(
                f"{name} is unfinished, {left} of {planned} trials are missing: go on with"
                f" ./study run --resume {name}, or choose another run"
            )
        session.runs[study] = name
        idle = [name for name in asked if name != "output" and asked[name] != defaults[name]]
        if idle:
            raise Problem(f"{idle[0]} is for run = 'new'; a run that is measured keeps its plan")
    shown = session.values if run == "new" else {"output": session.output}
    _show({"run": run, **shown})
    return session


def analyse(session: Session) -> None:
    """Derive tables, tests and figures from each run.

    Raises Problem for a damaged run, and for one that has no cost: with the reason for that.
    """
    for study in session.studies:
        _measured(study, runs.rows(session.raw(study)))
        if not results.current(session.raw(study), session.processed(study)):
            results.process(session.raw(study), session.processed(study))
        print(f"{study}: {session.processed(study)}")


def finish(session: Session) -> None:
    """Prove by the files on the disk that the work is done.

    Raises:
        Failed: something is missing; it is named.
        Problem: no cost could be measured here; the first trial's reason.
    """
    for study in session.studies:
        left, planned = runs.trials_left(session.raw(study))
        if left:
            raise Failed(
                f"{study}: {left} of {planned} trials have no row; {how_to_resume(session)}"
            )
        measured = _measured(study, runs.rows(session.raw(study)))
        missing = results.missing(session.processed(study))
        if missing:
            raise Failed(f"{study}: {', '.join(missing)} not in {session.processed(study)}")
        print(f"{study}: {measured}, results in {session.processed(study)}")


def _measured(study: str, rows: Sequence[Mapping[str, str]]) -> str:
    """``40 trials measured, 2 unavailable``. Raises Problem if no cost is among them."""
    costs = [row for row in rows if row.get("kind") == "cost"]
    if costs and all(row["status"] != "ok" for row in costs):
        first = costs[0]
        raise Problem(
            f"{study}: nothing was measured: {first['arm']} is {first['status']}: {first['reason']}"
            "; ./study doctor says what works here"
        )
    counted = Counter(row["status"] for row in rows)
    told = [f"{counted.pop('ok', 0)} trials measured"]
    return ", ".join(told + [f"{number} {status}" for status, number in counted.items()])
