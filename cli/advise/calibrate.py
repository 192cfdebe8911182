"""``--calibrate``: measures this machine's coefficients. The only part that needs packages."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Mapping
from typing import Any

from cli import environment, parameters, paths, results, run, runs
from cli.advise import calibrated
from cli.problem import Problem

STUDY, PRESET = "crossover", "quick"


def measure() -> None:
    """Run the study on this machine and keep its model as this machine's.

    Raises:
        Problem: not root, no such study, or too little could be measured.
        Interrupted, Failed: as a run does.
    """
    if os.geteuid() != 0:
        raise Problem("--calibrate attaches collectors, which takes root: run it with sudo")
    asked = {"study": STUDY, "preset": PRESET}
    output = parameters.resolve(asked)["output"]
    run.command(asked)
    keep(results.summary(paths.processed(output, STUDY, runs.newest(output, STUDY))))


def keep(summary: Mapping[str, Any]) -> None:
    """Store the model of a processed run. Raises Problem if it has none."""
    advice = importlib.import_module("analysis.crossover.advice")  # pandas
    user, new = environment.behind_sudo(), paths.absent(calibrated.FILE)
    file = calibrated.store(advice.text([summary]))
    if user is not None:
        for place in {*new, file}:
            with contextlib.suppress(OSError):
                os.chown(place, user.uid, user.gid, follow_symlinks=False)
    print(f"probetax: this machine's costs are in {file}")
