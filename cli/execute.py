"""Executes a notebook with papermill as a library, in a process that need not be root.

``python -m cli.execute INPUT OUTPUT PARAMETERS DEADLINE_S […]``, for one notebook after another;
exit codes as in :mod:`cli.problem`.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from typing import Any

import nbclient.exceptions
import papermill
from jupyter_client.kernelspec import NoSuchKernel

from cli.problem import Failed, Interrupted, Problem
from experiment import kernel

KERNEL = "python3"


def execute(source: str, target: str, values: dict[str, Any], deadline_s: int) -> None:
    """Run a notebook to its end. Raises Problem, Interrupted or Failed with one line."""
    try:
        papermill.execute_notebook(
            source,
            target,
            parameters=values,
            kernel_name=KERNEL,
            progress_bar=False,
            log_output=False,
            start_timeout=180,
            execution_timeout=deadline_s,  # of one cell; the default would be none at all
            coalesce_streams=True,  # one bar, not each of its states
            autosave_cell_every=0,  # no writing while a window is measured
        )
    except papermill.exceptions.PapermillExecutionError as error:
        kinds = {kind.__name__: kind for kind in (Problem, Interrupted, Failed)}
        if error.ename in kinds:
            raise kinds[error.ename](error.evalue) from None
        raise Failed(f"{error.ename}: {error.evalue}; the whole traceback is in {target}") from None
    except NoSuchKernel:
        raise Failed(f"Jupyter knows no kernel {KERNEL}: ./study remove, then run again") from None
    except nbclient.exceptions.CellTimeoutError:
        raise Failed(f"a cell took longer than {deadline_s} s") from None
    except nbclient.exceptions.DeadKernelError:
        raise Failed("the notebook's kernel died") from None
    except OSError as error:
        raise Problem(f"cannot write {target} ({error.strerror}): choose another output") from None


def main() -> int:
    """Run as a process: one line on stderr when it fails."""
    with contextlib.suppress(OSError):
        kernel.die_with_parent(signal.SIGTERM)
    words = iter(sys.argv[1:])
    try:
        for source, target, values, deadline in zip(words, words, words, words, strict=True):
            execute(source, target, json.loads(values), int(deadline))
    except Problem as problem:
        print("\n".join(f"probetax: {line}" for line in str(problem).splitlines()), file=sys.stderr)
        return problem.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
