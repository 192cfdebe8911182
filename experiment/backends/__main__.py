"""The exact machine's command line: ``python3 -I -S experiment/backends PLAN OUT [--resume]``.

Isolated mode leaves the project's folder out of the import path, hence the line below.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from experiment import kernel  # noqa: E402
from experiment.backends import exact  # noqa: E402
from experiment.run_folder import RunError  # noqa: E402
from experiment.runner import load_plan  # noqa: E402
from vm.problem import Problem  # noqa: E402
from vm.result import GuestFailed  # noqa: E402


class _Interrupted(BaseException):
    """A signal asked the run to end."""


def _interrupt(number: int, frame: object) -> None:
    del frame
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise _Interrupted(signal.Signals(number).name)


def _tell(**event: Any) -> None:
    os.write(1, json.dumps(event).encode() + b"\n")


def main() -> int:
    """0 finished, 130 interrupted, 2 bad input, 1 a guest that failed."""
    parser = argparse.ArgumentParser(prog="exact", description="Execute a plan in exact machines.")
    parser.add_argument("plan", type=Path, help="plan.json")
    parser.add_argument("out", type=Path, help="the run's folder")
    parser.add_argument("--resume", action="store_true", help="go on with an unfinished run")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    with contextlib.suppress(OSError):
        kernel.die_with_parent(signal.SIGTERM)
    try:
        exact.run(load_plan(options.plan), options.out, options.resume, _tell)
    except (RunError, Problem) as error:
        print(f"probetax: {error}", file=sys.stderr)
        return 2
    except GuestFailed as error:
        for line in error.console:
            _tell(event="warning", text=f"the guest's console: {line}")
        print(f"probetax: {error}", file=sys.stderr)
        return 1
    except (_Interrupted, BrokenPipeError):
        with contextlib.suppress(BrokenPipeError):
            _tell(event="end", status="interrupted")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
