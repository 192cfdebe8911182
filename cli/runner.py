"""Starts the runner as a process of its own and hands on what it says.

The runner may need root, Jupyter never does. Three ways, in this order:

- a socket named by ``PROBETAX_RUNNER``: ``./study run`` waits behind it at the terminal, where sudo
  can ask for a password and Ctrl-C arrives;
- directly, when we are root or sudo asks no password;
- directly without root: then arms that need it are ``unavailable``, the others are measured.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from cli import paths
from cli.problem import Failed, Interrupted, Problem
from experiment import backends
from experiment.backends import here

SOCKET = "PROBETAX_RUNNER"
PROGRAM = here.program(paths.ROOT, paths.SYSTEM_PYTHON)
EXACT = (sys.executable, "-I", "-S", "-B", str(paths.ROOT / "experiment" / "backends"))
Event = Mapping[str, Any]
NO_ROOT = (
    "no root: arms that load BPF programs will be unavailable; to measure them use ./study run in a"
    " terminal with sudo, or allow sudo without a password"
)
EXPIRED = (
    "probetax: sudo's ticket has expired, so the runner cannot be told: it stops by itself once the"
    " trial under way is over"
)


def sudo_is_free() -> bool:
    """Whether sudo would run a command now without asking."""
    sudo = shutil.which("sudo")
    if sudo is None:
        return False
    done = subprocess.run([sudo, "-n", "true"], capture_output=True, stdin=subprocess.DEVNULL)
    return done.returncode == 0


def wants_exact(plan: Path) -> bool:
    """Whether a plan's file asks for the virtual machine; the runner refuses what is no plan."""
    try:
        asked = json.loads(plan.read_text(encoding="utf-8")).get("backend")
    except (OSError, ValueError, AttributeError):
        return False
    return bool(asked == backends.EXACT)


class Runner:
    """A running runner process: its events, its end, and how to interrupt it."""

    def __init__(self, plan: Path, out: Path, resume: bool) -> None:
        exact = wants_exact(plan)
        #: Whether all arms can be measured: the virtual machine asks no rights of this one.
        self.root = exact or os.geteuid() == 0 or sudo_is_free()
        self._sudo = not exact and self.root and os.geteuid() != 0
        program = EXACT if exact else PROGRAM
        command = [*(["sudo", "-n"] if self._sudo else []), *program, str(plan), str(out)]
        if resume:
            command.append("--resume")
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        # a process group of its own: Ctrl-C at the terminal reaches it once, from us
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            process_group=0,
            cwd="/",
        )

    @property
    def output(self) -> IO[bytes]:
        """Its standard output: one JSON object per line."""
        assert self.process.stdout is not None
        return self.process.stdout

    def events(self) -> Iterator[Event]:
        """What it says, until it ends or :meth:`interrupt` had to close the pipe."""
        return iter(()) if self.output.closed else parse(self.output)

    def interrupt(self) -> None:
        """Ask it to stop after writing what is finished; sudo hands the signal on.

        Where sudo would ask for a password again the pipe is closed instead: the runner ends at
        its next event.
        """
        if self.process.poll() is not None:
            return
        if not self._sudo:
            self.process.send_signal(signal.SIGINT)
            return
        kill = ["sudo", "-n", "kill", "-INT", str(self.process.pid)]
        told = subprocess.run(kill, capture_output=True, stdin=subprocess.DEVNULL)
        if told.returncode and self.process.poll() is None:
            self.output.close()
            print(EXPIRED, file=sys.stderr, flush=True)

    def finish(self) -> dict[str, Any]:
        """Wait for its end: ``{"event": "exit", "code": …, "error": last line of stderr}``."""
        code = self.process.wait()
        self.output.close()
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        self._errors.close()
        return {"event": "exit", "code": code, "error": said[-1] if said else ""}


def run(plan: Mapping[str, Any], out: Path, resume: bool, tell: Callable[[Event], None]) -> None:
    """Execute a plan into ``out``; every event goes to ``tell``.

    Raises:
        Interrupted: stopped by a signal; what was measured is on the disk.
        Problem: the runner refused the plan or the folder.
        Failed: it ended in any other way.
    """
    with tempfile.TemporaryDirectory(prefix="probetax-plan-") as folder:
        file = Path(folder) / "plan.json"
        file.write_text(json.dumps(plan), encoding="utf-8")
        last: Event = {}
        events = _remote if os.environ.get(SOCKET) else _direct
        with contextlib.closing(events(file, out, resume)) as stream:
            for event in stream:
                if event.get("event") == "exit":
                    last = event
                else:
                    tell(event)
    _judge(last, out)


def _judge(last: Event, out: Path) -> None:
    code, said = last.get("code"), str(last.get("error", "")).removeprefix("probetax: ")
    if code == 0:
        return
    if code in (130, -signal.SIGINT, -signal.SIGTERM):
        raise Interrupted(f"interrupted; what was measured is in {out}")
    if code == 2:
        raise Problem(said or f"the runner refused the plan for {out}")
    raise Failed(
        f"the runner ended with status {code}: {said or 'it said nothing'}; what was measured"
        f" is in {out}"
    )


def _direct(plan: Path, out: Path, resume: bool) -> Generator[Event]:
    runner = Runner(plan, out, resume)
    if not runner.root:
        yield {"event": "warning", "text": NO_ROOT}
    try:
        yield from runner.events()
    except (KeyboardInterrupt, GeneratorExit):
        runner.interrupt()
        list(runner.events())  # it cleans up and stores what is finished
        raise
    finally:
        end = runner.finish()
    yield end


def _remote(plan: Path, out: Path, resume: bool) -> Generator[Event]:
    with socket.socket(socket.AF_UNIX) as line:
        try:
            line.connect(os.environ[SOCKET])
        except OSError as error:
            raise Failed(
                f"./study run is no longer there ({error.strerror}): start it again"
            ) from None
        request = {"plan": str(plan), "out": str(out), "resume": resume}
        line.sendall(json.dumps(request).encode() + b"\n")
        with line.makefile("rb") as answers:
            yield from parse(answers)


def parse(lines: IO[bytes]) -> Iterator[Event]:
    """Events from JSON lines; a torn last line of a killed runner is no event."""
    for line in lines:
        with contextlib.suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict):
                yield event
