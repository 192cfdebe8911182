"""Execute a plan and write rows: the one process that may need root.

Progress goes out as one JSON object per line, between windows and never inside one.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from experiment import (
    estimate,
    fingerprint,
    guard,
    kernel,
    mounts,
    perturbations,
    source,
    switch_load,
    trial,
    workloads,
)
from experiment.accounting import ACCOUNTS, bpf_stats, exact, harness
from experiment.plan_hash import plan_hash, portable
from experiment.probes import cgroups
from experiment.run_folder import RunError, RunFolder, schema_version

SCHEMA = schema_version()


def load_plan(path: Path) -> dict[str, Any]:
    """Read a plan. Raises RunError with one line if the file does not hold one."""
    try:
        plan: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}; give the path of a plan.json") from error
    except ValueError as error:
        raise RunError(f"{path} is not JSON ({error}); make the plan anew") from error
    missing = {"schema", "study", "preset", "paths", "arms", "trials"} - set(plan)
    if missing:
        raise RunError(f"{path} lacks {', '.join(sorted(missing))}; make the plan anew")
    if plan["schema"] != SCHEMA:
        raise RunError(
            f"the plan has schema {plan['schema']}, this version writes {SCHEMA}: finish the run"
            " with the version that began it, or start a new one"
        )
    return plan


class Interrupted(BaseException):
    """A signal asked the run to end; derived like KeyboardInterrupt so that nothing swallows it."""


def execute(plan: dict[str, Any], out: Path, resume: bool = False) -> str:
    """Run what the plan holds and ``out`` does not yet; ``finished`` or ``interrupted``.

    Raises RunError for an unusable folder or plan.
    """
    folder = RunFolder(out)
    guard.repair()
    previous = {number: signal.signal(number, _interrupt) for number in _SIGNALS}
    try:
        with guard.Guard(harness.polling(harness.drivers())) as guardian:
            return _execute(plan, folder, resume, guardian)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _interrupt(number: int, frame: object) -> None:
    del frame
    for other in _SIGNALS:  # a second signal must not tear the cleaning up
        signal.signal(other, signal.SIG_IGN)
    raise Interrupted(signal.Signals(number).name)


def _execute(plan: dict[str, Any], folder: RunFolder, resume: bool, guardian: guard.Guard) -> str:
    with contextlib.suppress(OSError):
        kernel.die_with_parent(signal.SIGTERM)
    warnings = mounts.prepare()
    _need_programs(plan)
    instrument, _ = cgroups.choose()
    account = ACCOUNTS[instrument]()
    if resume:
        folder.resume(plan, fingerprint.collect(_interpreters(plan)), instrument)
    else:
        folder.create(_manifest(plan, folder.path.name, instrument))
    setting = trial.Setting(
        plan["arms"],
        plan["paths"],
        account,
        folder.log,
        workloads.IdleProcesses(plan["paths"]["build"], folder.log / "workload.stderr"),
        switch_load.SwitchLoad(plan["paths"]["build"], folder.log / "load.stderr", account),
        guardian.announce,
        marks=exact.Marks() if plan.get("backend") == "exact" else exact.NoMarks(),
    )
    status = "interrupted"
    try:
        for text in warnings + plan.get("notes", []):
            _tell(event="warning", text=text)
        _run_trials(plan, folder, setting)
        status = "finished"
    except (Interrupted, BrokenPipeError):
        pass
    finally:
        setting.idle.stop()
        setting.load.stop()
        for log in folder.log.glob("*.stderr"):
            if log.stat().st_size == 0:
                log.unlink()
        _hand_over(folder)
    with contextlib.suppress(BrokenPipeError):
        _tell(event="end", status=status)
    return status


def _need_programs(plan: dict[str, Any]) -> None:
    """Raise RunError before anything is measured if a program of the project was not built."""
    build = Path(plan["paths"]["build"])
    absent = [name for name in workloads.needed(plan) if not os.access(build / name, os.X_OK)]
    if absent:
        raise RunError(f"not built: {', '.join(absent)}; run make -C bpf, or ./study doctor")


def _run_trials(plan: dict[str, Any], folder: RunFolder, setting: trial.Setting) -> None:
    left = [t for t in plan["trials"] if t["trial"] not in folder.done]
    total = len(plan["trials"])
    unavailable: dict[tuple[str | None, ...], str] = {}
    _tell(event="start", trials=total, done=total - len(left), eta_s=_eta(left, plan))
    if "perturbation" in plan:
        perturbations.apply(plan["perturbation"])
    gc.disable()  # no collection inside a window; nothing here makes cycles worth one
    for index, planned in enumerate(left):
        key = (planned["arm"], planned["statistics"], *map(planned.get, ("variant", "load")))
        scrapes: list[trial.Row] = []
        if key in unavailable:
            row = trial.skipped(planned, setting, unavailable[key])
        else:
            row, scrapes = trial.run(planned, setting)
            if row["status"] == "unavailable" and planned["kind"] in ("cost", "sensor"):
                unavailable[key] = row["reason"]
        row["study"] = plan["study"]
        folder.append(row, scrapes)
        _tell(
            event="trial",
            trial=planned["trial"],
            done=total - len(left) + index + 1,
            status=row["status"],
            arm=planned["arm"],
            reason=row.get("reason"),
            eta_s=_eta(left[index + 1 :], plan),
        )


def _eta(trials: list[dict[str, Any]], plan: dict[str, Any]) -> float:
    """Seconds that these trials should take."""
    return round(60 * estimate.minutes(trials, plan["arms"]), 1)


def _manifest(plan: dict[str, Any], run: str, instrument: str) -> dict[str, Any]:
    known, loaded = source.source(Path(plan["paths"]["root"])), bpf_stats.loaded()
    return {
        "schema": SCHEMA,
        "run": run,
        "study": plan["study"],
        "preset": plan["preset"],
        "plan": portable(plan),
        "plan_hash": plan_hash(plan),
        "fingerprint": fingerprint.collect(_interpreters(plan)),
        "instrument": instrument,
        "started_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **({} if loaded is None else {"programs_loaded_before": loaded}),
        **({} if known is None else {"source": known}),
    }


def _interpreters(plan: dict[str, Any]) -> dict[str, str]:
    """Paths of the interpreters that the plan's arms are run by."""
    words = [word for arm in plan["arms"].values() for word in arm["command"]]
    used = {name for name in ("python", "system_python") if f"{{{name}}}" in words}
    return {name: path for name, path in plan["paths"].items() if name in used}


def _tell(**event: Any) -> None:
    # Unbuffered: a reader that went away shows here, and nothing is left to flush at exit.
    os.write(1, json.dumps(event).encode() + b"\n")


def _hand_over(folder: RunFolder) -> None:
    user, group = os.environ.get("SUDO_UID"), os.environ.get("SUDO_GID")
    if os.geteuid() == 0 and user and group:
        folder.hand_over(int(user), int(group))
