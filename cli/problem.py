"""What a user can put right: told in one line, with its cure, and no traceback."""

from __future__ import annotations

import difflib
import os
import signal
import sys
from collections.abc import Callable, Iterable


class Problem(Exception):
    """Bad input or a missing condition. The text names the cause and the cure."""

    exit_code = 2

    def _render_traceback_(self) -> list[str]:
        """IPython's hook: a notebook shows these lines instead of a page of traceback."""
        return [f"probetax: {line}" for line in str(self).splitlines()]


class Interrupted(Problem):
    """The run was stopped by the user; what is measured is on the disk."""

    exit_code = 130


class Failed(Problem):
    """Not the user's fault: a process of ours ended badly."""

    exit_code = 1


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for a near miss, else the list of what is known."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean '{near[0]}'?" if near else f"; known: {', '.join(known)}"


def exit_code(work: Callable[[], int]) -> int:
    """What a command returns, or 2 for bad input, 1 for a failure, 130 after Ctrl-C.

    Problems go to stderr. Asked to end in whatever way, it ends as after Ctrl-C.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        return work()
    except Problem as problem:
        print("\n".join(f"probetax: {line}" for line in str(problem).splitlines()), file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:
        print("\nprobetax: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
