"""Start a collector in an account of its own, wait until it is attached, end it.

The protocol of the project's own collectors: ``ready`` on descriptor 3 once attached, one record
per scrape on descriptor 4 with ``--dump``, SIGTERM ends, a closing line of counters on
descriptor 3, exit 3 = unavailable here with the reason on stderr. A command that knows nothing of
it gives its settling time instead (``ready: {after_s: N}``).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiment import kernel
from experiment.accounting import Group

READY_DEADLINE_S = 60.0
STOP_DEADLINE_S = 10.0
_UNAVAILABLE = 3
_NO_COMMAND = 127
_SAFE_DESCRIPTOR = 10


class Unavailable(Exception):
    """The arm cannot run on this machine; the text is the reason."""


class Failed(Exception):
    """The arm should have run and did not; the text says what happened."""


def command_line(
    template: list[str], paths: dict[str, str], interval_ms: int, dump: bool
) -> list[str]:
    """Fill the placeholders of an arm's command."""
    words = [word.format(interval_ms=interval_ms, **paths) for word in template]
    return [*words, "--dump"] if dump else words


class Collector:
    """One running collector. Always end it with :meth:`stop` or :meth:`kill`."""

    def __init__(
        self,
        command: list[str],
        ready: str | dict[str, float],
        group: Group,
        log: Path,
        dump: Path | None = None,
        *,
        output: bool = False,
        before_exec: Callable[[], None] | None = None,
    ) -> None:
        """Start it.

        Args:
            output: keep what it prints, to be read from the descriptor ``output``.
            before_exec: called in its process just before it executes the command.
        """
        self._ready_rule = ready
        self._group = group
        self._log = log
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        high_end = fcntl.fcntl(write_end, fcntl.F_DUPFD_CLOEXEC, _SAFE_DESCRIPTOR)
        os.close(write_end)
        self._status = read_end
        self._text = b""
        self._exit: int | None = None
        self._killed = False
        self.usage: resource.struct_rusage | None = None
        """What it has used, once it has ended: by the kernel's account, with what it waited for."""
        self.output: int | None = None
        screen: int | None = None
        if output:
            self.output, screen = os.pipe2(os.O_CLOEXEC)
        words = [*group.launch_prefix(), *command]
        try:
            self.pid = spawn(words, log, high_end, dump, group.join, screen, before_exec)
        finally:
            os.close(high_end)
            if screen is not None:
                os.close(screen)
        group.started(self.pid)

    def wait_ready(self, deadline_s: float = READY_DEADLINE_S) -> None:
        """Return once the collector is attached. Raises Unavailable or Failed."""
        if isinstance(self._ready_rule, dict):
            time.sleep(float(self._ready_rule["after_s"]))
            self._raise_if_ended()
            return
        until = time.monotonic() + deadline_s
        while b"ready\n" not in self._text:
            left = until - time.monotonic()
            if left <= 0:
                raise Failed(f"not ready after {deadline_s:.0f} s")
            if not self._receive(left):
                self._wait_exit(STOP_DEADLINE_S)
                self._raise_if_ended()
                raise Failed("closed its status pipe without becoming ready")

    def check_started(self) -> None:
        """Raise Unavailable or Failed if it has ended instead of starting."""
        self._raise_if_ended()

    def check_alive(self) -> None:
        """Raise Failed if the collector has ended by itself."""
        if self._wait_exit(0):
            raise Failed(f"ended inside the window: {self._describe_exit()}")

    def stop(self) -> dict[str, Any]:
        """End it politely; the counters of its closing line, or {} if it gave none.

        Raises Failed if it does not end by itself in time or ends with an error.
        """
        if self._exit is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
        until = time.monotonic() + STOP_DEADLINE_S
        while (left := until - time.monotonic()) > 0 and self._receive(left):
            pass
        ended = self._wait_exit(max(0.0, until - time.monotonic()))
        own = not isinstance(self._ready_rule, dict)
        if not ended:
            self.kill()
            raise Failed(f"did not end within {STOP_DEADLINE_S:.0f} s of SIGTERM")
        if own and self._exit != 0:
            raise Failed(self._describe_exit())
        return closing_line(self._text)

    def facts(self) -> dict[str, dict[str, Any]]:
        """What else its closing line says, by name: each an object of names and values."""
        return {k: v for k, v in _last_object(self._text).items() if isinstance(v, dict)}

    def kill(self) -> None:
        """End it now, with everything it started. Safe to call at any time, also twice.

        It leads a process group of its own, which lasts as long as any member does.
        """
        if not self._killed:
            self._killed = True
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._wait_exit(STOP_DEADLINE_S)
        with contextlib.suppress(OSError):
            os.close(self._status)
        self._status = -1
        if self.output is not None:
            os.close(self.output)
            self.output = None
        with contextlib.suppress(OSError):
            if self._log.stat().st_size == 0:
                self._log.unlink()

    def _receive(self, timeout_s: float) -> bool:
        """Take what the status pipe has, waiting at most so long; False at its end."""
        if not select.select([self._status], [], [], timeout_s)[0]:
            return True
        data = os.read(self._status, 1 << 20)
        self._text += data
        return bool(data)

    def _wait_exit(self, timeout_s: float) -> bool:
        until = time.monotonic() + timeout_s
        while self._exit is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.usage = usage
                self._exit = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= until:
                return False
            else:
                time.sleep(0.002)
        return True

    def _raise_if_ended(self) -> None:
        if not self._wait_exit(0):
            return
        if self._exit == _UNAVAILABLE:
            raise Unavailable(self._first_words() or "no reason given")
        if self._exit == _NO_COMMAND and isinstance(self._ready_rule, dict):
            raise Unavailable(f"not installed here: {self._first_words()}")
        raise Failed(self._describe_exit())

    def _describe_exit(self) -> str:
        code = self._exit or 0
        how = f"exit {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
        words = self._first_words()
        return f"{how}: {words}" if words else how

    def _first_words(self) -> str:
        try:
            with open(self._log, encoding="utf-8", errors="replace") as file:
                return next((line.strip() for line in file if line.strip()), "")[:400]
        except OSError:
            return ""


def closing_line(text: bytes) -> dict[str, Any]:
    """The JSON object that ends a collector's status text; {} if there is none.

    Counters that are not whole numbers above or equal to 0, and stamps that are not lists of them,
    are None: unknown.
    """
    return {name: item for name, item in _last_object(text).items() if _is_counter(item)}


def _last_object(text: bytes) -> dict[str, Any]:
    for line in reversed(text.splitlines()):
        if line.startswith(b"{"):
            with contextlib.suppress(ValueError):
                value: dict[str, Any] = json.loads(line)
                return value
    return {}


def _is_counter(value: object) -> bool:
    if isinstance(value, list):
        return all(_is_counter(item) and not isinstance(item, list) for item in value)
    return type(value) is int and 0 <= value < 2**63


def spawn(
    words: list[str],
    log: Path,
    status: int | None = None,
    dump: Path | None = None,
    join: Callable[[], None] | None = None,
    output: int | None = None,
    before_exec: Callable[[], None] | None = None,
) -> int:
    """Fork and execute with the protocol's descriptors; returns the pid.

    The child gets a session of its own (so that a Ctrl-C at the terminal reaches only the
    runner), dies with the runner, and joins its account before it executes, so that nothing it
    does is missed. What it prints goes to ``output``, or nowhere. A command that cannot be
    executed exits 127 with the reason in the log.
    """
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        kernel.die_with_parent(signal.SIGKILL)
        error = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        nothing = os.open(os.devnull, os.O_RDWR)
        record = os.open(dump, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644) if dump else None
        # Out of the way first, or one dup2 could close the source of the next.
        high = [
            fcntl.fcntl(fd, fcntl.F_DUPFD, _SAFE_DESCRIPTOR)
            for fd in (nothing, nothing if output is None else output, error)
        ]
        record = fcntl.fcntl(record, fcntl.F_DUPFD, _SAFE_DESCRIPTOR) if record else None
        if join:
            join()
        for source, target in (*zip(high, range(3), strict=True), (status, 3), (record, 4)):
            if source is None:
                with contextlib.suppress(OSError):
                    os.close(target)
            else:
                os.dup2(source, target)
        if before_exec:
            before_exec()
        os.closerange(5, 4096)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.environ.update(LC_ALL="C", PYTHONDONTWRITEBYTECODE="1")
        os.execvp(words[0], words)
    except OSError as problem:
        os.write(2, f"{words[0]}: {problem.strerror}\n".encode())
    except BaseException as problem:
        os.write(2, f"{words[0]}: {problem}\n".encode())
    finally:
        os._exit(127)
