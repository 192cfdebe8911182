"""Runs a program to its end: nothing of it is left behind, whatever ends this process.

Killed by SIGKILL we cannot clean up, so the kernel sends a signal (PR_SET_PDEATHSIG) to a shell
that keeps the program, and the shell ends the whole process group: mmdebstrap and apt outlive
their parents otherwise. Ended in any other way, we do that ourselves.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from vm.problem import Problem

_PR_SET_PDEATHSIG = 1
_KEEPER = 'trap "kill -KILL 0" TERM; "$@" & wait "$!"'
_libc = ctypes.CDLL(None, use_errno=True)


def run(
    command: Sequence[str],
    log: Path,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> int:
    """Runs ``command`` without input, output appended to ``log``; returns its exit status."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _KEEPER, "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=None if environment is None else dict(environment),
            cwd=folder,
            start_new_session=True,
            preexec_fn=tied(),
        )
    try:
        return process.wait()
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def tied(number: int = signal.SIGTERM) -> Callable[[], None]:
    """For ``preexec_fn``: the child gets this signal once the thread that started it has ended."""
    parent = os.getpid()

    def tie() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:  # it died before the call
            os._exit(1)

    return tie


def need(program: str, package: str) -> str:
    """The program's path. Raises ``Problem`` naming the Debian package that has it."""
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    found = shutil.which(program, path=path)
    if found is None:
        raise Problem(f"no {program} here: apt-get install --no-install-recommends {package}")
    return found
