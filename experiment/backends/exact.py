"""The instruction-exact virtual machine: each block of a plan is a boot of its own.

As many boots as there are cores run side by side; they share nothing, so that how fast each one is
changes no digit. Their rows are written in the order of the plan, into one ordinary run folder,
once those of all boots before are on the disk.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from experiment import estimate, source
from experiment.backends import guest_files, guests, merge
from experiment.plan_hash import plan_hash, portable
from experiment.run_folder import RunError, RunFolder, schema_version
from vm import machine
from vm.machine import Machine
from vm.result import GuestFailed

Tell = Callable[..., None]
PREFIX = "probetax-exact-"
SEED = 1
#: A boot that takes longer than this, and than so much for each second of the guest, has stalled.
_DEADLINE_S, _DEADLINE_FACTOR = 180.0, 5.0
_GLANCE_S = 2.0


def run(plan: Mapping[str, Any], out: Path, resume: bool, tell: Tell) -> None:
    """Execute a plan into ``out``; progress goes to ``tell``.

    Raises:
        RunError: the folder or the plan cannot be used.
        vm.problem.Problem: something that the machine needs is missing.
        GuestFailed: a boot went wrong. What boots before it measured is on the disk.
    """
    root = Path(plan["paths"]["root"])
    repair()
    with scratch() as folder:
        guest = guests.prepare(plan, root, folder, tell)
        run_folder = RunFolder(out)
        _take_up(run_folder, plan, guest, resume)
        _Run(plan, run_folder, guest, folder, tell).execute()


def _take_up(folder: RunFolder, plan: Mapping[str, Any], guest: guests.Guest, resume: bool) -> None:
    """Make sure that the folder is empty, or holds a part of this very run."""
    if not resume:
        if folder.path.exists() and any(folder.path.iterdir()):
            raise RunError(f"{folder.path} is not empty; resume it or choose another folder")
        return
    try:
        manifest = json.loads((folder.path / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{folder.path} holds no run to resume ({error})") from None
    if manifest.get("exact") != guest.inputs:
        raise RunError(f"{folder.path} was made by another image or QEMU; start a new run")
    folder.resume(dict(plan), {}, manifest["instrument"])


class _Run:
    """The boots of one run, some under way, some done and waiting for those before them."""

    def __init__(
        self,
        plan: Mapping[str, Any],
        out: RunFolder,
        guest: guests.Guest,
        folder: Path,
        tell: Tell,
    ) -> None:
        self._plan, self._out, self._guest = plan, out, guest
        self._folder, self._tell = folder, tell
        self._trials: dict[int, list[dict[str, Any]]] = {}
        for trial in plan["trials"]:
            self._trials.setdefault(trial["block"], []).append(trial)
        self._waiting = [
            block
            for block, trials in self._trials.items()
            if any(trial["trial"] not in out.done for trial in trials)
        ]
        self._under_way: dict[Machine, int] = {}
        self._ended: dict[int, merge.Block] = {}
        self._order = list(self._waiting)
        self._told = len(out.done)

    def execute(self) -> None:
        """Boot every block that is not on the disk yet."""
        side_by_side = min(len(os.sched_getaffinity(0)), machine.room(machine.MEMORY_MB))
        total = len(self._plan["trials"])
        self._tell(event="start", trials=total, done=len(self._out.done), eta_s=self._eta())
        with contextlib.ExitStack() as boots:
            while self._waiting or self._under_way:
                while self._waiting and len(self._under_way) < side_by_side:
                    block = self._waiting.pop(0)
                    self._under_way[boots.enter_context(self._boot(block))] = block
                self._look()
        self._tell(event="end", status="finished")

    def _boot(self, block: int) -> Machine:
        folder = self._folder / f"block-{block}"
        folder.mkdir()
        plan = guest_files.plan_of_block(self._plan, block)
        guests.write_segment(folder / "plan.cpio", {"plan.json": json.dumps(plan).encode()})
        guest_s = 60 * estimate.minutes(plan["trials"], self._plan["arms"])
        return Machine(
            self._guest.image,
            [*self._guest.segments, folder / "plan.cpio"],
            memory_mb=machine.MEMORY_MB,
            seed=SEED,
            deadline_s=_DEADLINE_S + _DEADLINE_FACTOR * guest_s,
            folder=folder,
        )

    def _look(self) -> None:
        """Wait a moment, take in what has ended, and tell how far the others are."""
        left_s = min(boot.left_s for boot in self._under_way)
        ready, _, _ = select.select([*self._under_way], [], [], max(0.0, min(_GLANCE_S, left_s)))
        late = [boot for boot in self._under_way if boot.left_s <= 0]
        for boot in dict.fromkeys([*ready, *late]):
            self._take_in(boot)
        begun = sum(max(0, boot.marks_so_far() // 2 - 1) for boot in self._under_way)
        done = len(self._out.done) + sum(len(b.rows) for b in self._ended.values()) + begun
        if done > self._told:
            self._told = done
            self._tell(event="trial", done=done, status="ok", eta_s=self._eta(done))

    def _take_in(self, boot: Machine) -> None:
        block = self._under_way.pop(boot)
        try:
            outcome = boot.finish()
            self._ended[block] = merge.block(outcome.files, outcome.marks, self._trials[block])
        except merge.MergeError as error:
            raise GuestFailed(f"block {block}: {error}") from None
        shutil.rmtree(boot.folder, ignore_errors=True)
        while self._order and self._order[0] in self._ended:
            self._store(self._ended.pop(self._order.pop(0)))

    def _store(self, block: merge.Block) -> None:
        if not (self._out.path / "manifest.json").exists():
            self._out.create(self._manifest(block.manifest))
        for name, text in block.logs.items():
            (self._out.log / name).write_bytes(text)
        for row in block.rows:
            number = int(row["trial"])
            if number in self._out.done:
                continue
            self._out.append(row, block.scrapes.get(number, []))
            if row["status"] != "ok":
                self._tell(
                    event="trial",
                    trial=number,
                    done=len(self._out.done),
                    status=row["status"],
                    arm=row["arm"],
                    reason=row["reason"],
                    eta_s=self._eta(),
                )

    def _manifest(self, of_guest: Mapping[str, Any]) -> dict[str, Any]:
        known = source.source(Path(self._plan["paths"]["root"]))
        plan = dict(self._plan)
        return {
            **of_guest,
            "schema": schema_version(),
            "run": self._out.path.name,
            "plan": portable(plan),
            "plan_hash": plan_hash(plan),
            "started_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "exact": self._guest.inputs,
            **({} if known is None else {"source": known}),
        }

    def _eta(self, done: int | None = None) -> float:
        total = len(self._plan["trials"])
        minutes = estimate.minutes(self._plan["trials"], self._plan["arms"], exact=True)
        done = len(self._out.done) if done is None else done
        return round(60 * minutes * (total - done) / total, 1)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder for what goes into machines and comes out; its name says whose it is."""
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def repair() -> None:
    """Remove the folders of runs that were killed. Their machines have died with them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        owner = folder.name.removeprefix(PREFIX).split("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(folder, ignore_errors=True)
