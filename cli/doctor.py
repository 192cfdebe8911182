"""``./study doctor``: what this machine can measure, and what to do about the rest."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from cli import paths
from cli.problem import Failed, Problem
from cli.runner import PROGRAM, sudo_is_free
from experiment import arms, needs

MARKS = {"ok": "ok     ", "warn": "note   ", "missing": "missing"}


def report() -> dict[str, Any]:
    """The runner's own report, made by the process that would measure. Raises Failed."""
    command = [*PROGRAM, "--doctor"]
    if os.geteuid() != 0 and sudo_is_free():
        command = ["sudo", "-n", *command]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, cwd="/"
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise Failed("the doctor did not answer within two minutes: is the machine busy?") from None
    except OSError as error:
        raise Failed(f"cannot start {command[0]} ({error.strerror}): install python3") from None
    except ValueError:
        said = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise Failed(f"the doctor failed: {said[0]}") from None
    return answer


def lines(answer: Mapping[str, Any]) -> list[str]:
    """The report for a reader: one line for each check, then one for each arm."""
    width = max((len(check["id"]) for check in answer["checks"]), default=0)
    text = []
    for check in answer["checks"]:
        name = check["id"].replace("_", " ")
        text.append(f"{MARKS[check['status']]}  {name:<{width}}  {check['text']}")
        if check["status"] != "ok" and check.get("cure"):
            text.append(f"{'':{width + 11}}cure: {check['cure']}")
    for name, arm in arms.load_all(paths.ROOT).items():
        reasons = needs.unmet(arm, answer["arms_possible"])
        state = f"unavailable here: {'; '.join(reasons)}" if reasons else "can be measured"
        text.append(f"{arm['study']:<9}  {name:<{width + 9}}  {state}")
    return text


def command(words: Sequence[str]) -> int:
    """Print the report. Missing things are told, not failed: /proc arms work almost anywhere."""
    if words:
        raise Problem(f"doctor takes no '{words[0]}'")
    try:
        print("\n".join(lines(report())))
    except arms.ArmError as error:
        raise Problem(str(error)) from None
    return 0
