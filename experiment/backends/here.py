"""This machine: the runner as a process of its own, as root where that can be had."""

from __future__ import annotations

from pathlib import Path


def program(root: Path, python: str) -> tuple[str, ...]:
    """The command, to be followed by ``PLAN OUT [--resume]``.

    -B: run by sudo, it would leave files of root in somebody's clone.
    """
    return (python, "-I", "-S", "-B", str(root / "experiment"))
