"""The terminal's side of ``./study run``: starts runners for the notebook, which has no terminal.

Single-threaded and blocking, so that nothing here wakes up while a window is measured.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from cli.runner import NO_ROOT, SOCKET, Event, Runner, sudo_is_free, wants_exact


class Broker:
    """Listens at a socket in a private folder until the notebook's process has ended."""

    def __init__(self, folder: Path, tell: Callable[[str, Event], None]) -> None:
        self._path = folder / "runner.socket"
        self._tell = tell
        self.interrupted = False
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(self._path))
        self._socket.listen(1)

    def __enter__(self) -> Broker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        """What tells the notebook's kernel where we listen."""
        return {SOCKET: str(self._path)}

    def hand_to(self, user: int, group: int) -> None:
        """Let another user connect, when the notebook runs as that user."""
        os.chown(self._path, user, group)

    def serve(self, notebook: subprocess.Popen[Any]) -> int:
        """Answer requests until ``notebook`` ends; its exit status."""
        ended = os.pidfd_open(notebook.pid)
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(ended, selectors.EVENT_READ)
                selector.register(self._socket, selectors.EVENT_READ)
                while True:
                    try:
                        ready = {key.fileobj for key, _ in selector.select()}
                        if self._socket in ready:
                            self._answer()
                        elif ended in ready:
                            return notebook.wait()
                    except KeyboardInterrupt:
                        self.interrupted = True
                        notebook.terminate()
        finally:
            os.close(ended)

    def _answer(self) -> None:
        line, _ = self._socket.accept()
        with line, line.makefile("rb") as asked:
            request = json.loads(asked.readline())
            out = Path(request["out"])
            study = out.parent.name
            if not wants_exact(Path(request["plan"])):
                ask_for_root()
            runner = Runner(Path(request["plan"]), out, bool(request["resume"]))
            try:
                if not runner.root:
                    self._relay(line, study, {"event": "warning", "text": NO_ROOT})
                self._relay_all(line, study, runner)
            except OSError:  # the notebook is gone: nobody reads on
                runner.interrupt()
                list(runner.events())
            end = runner.finish()
            with contextlib.suppress(OSError):
                self._relay(line, study, end)

    def _relay_all(self, line: socket.socket, study: str, runner: Runner) -> None:
        events = runner.events()
        while True:
            try:
                for event in events:
                    self._relay(line, study, event)
                return
            except KeyboardInterrupt:
                self.interrupted = True
                runner.interrupt()
                events = runner.events()

    def _relay(self, line: socket.socket, study: str, event: Event) -> None:
        self._tell(study, event)
        line.sendall(json.dumps(event).encode() + b"\n")


def ask_for_root() -> None:
    """Let sudo ask for its password where somebody can type it."""
    if os.geteuid() == 0 or sudo_is_free() or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    with contextlib.suppress(OSError):
        subprocess.run(["sudo", "-v"], check=False)
