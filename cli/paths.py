"""Where this clone keeps things."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from cli.problem import Problem

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
BUILD = ROOT / "bpf" / "build"
STATE = ROOT / ".setup"
DATA = ROOT / "data"
SYSTEM_PYTHON = "/usr/bin/python3"


def plan_paths() -> dict[str, str]:
    """The ``paths`` of a plan: what the arms' commands and the runner need to find."""
    return {
        "root": str(ROOT),
        "build": str(BUILD),
        "python": sys.executable,
        "system_python": SYSTEM_PYTHON,
    }


def raw(output: Path, study: str) -> Path:
    """The folder that holds the runs of a study."""
    return output / "raw" / study


def processed(output: Path, study: str, run: str) -> Path:
    """The folder of everything derived from a run."""
    return output / "processed" / study / run


def absent(path: Path) -> list[Path]:
    """The folders of a path that are not there yet, outermost first."""
    return [folder for folder in (*reversed(path.parents), path) if not folder.exists()]


def unwritable(path: Path, error: OSError) -> Problem:
    """The problem of a file or folder that cannot be written."""
    return Problem(
        f"cannot write to {path} ({error.strerror}): choose another output, or run as its owner"
    )


def writable_folder(path: Path) -> Path:
    """Make a folder and prove that a file can be written there. Raises Problem if it cannot."""
    probe = path / f".probetax-{os.getpid()}"
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise unwritable(path, error) from None
    return path


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object. Raises Problem if the file is missing or damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Problem(f"{path} is missing: choose another run, or start a new one") from None
    except (OSError, ValueError) as error:
        raise Problem(f"{path} cannot be read ({error}): restore it, or start a new run") from None
    if not isinstance(content, dict):
        raise Problem(f"{path} holds no JSON object: restore it, or start a new run")
    return content
