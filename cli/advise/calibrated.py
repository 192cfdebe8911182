"""Coefficients that were measured on this machine, and whether this still is that machine."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from cli import paths
from cli.advise.coefficients import Model, load
from cli.problem import Problem

#: Made from a run of this machine's own, as everything in data/processed.
FILE = paths.DATA / "processed" / "advice.json"


def host() -> dict[str, Any]:
    """What makes coefficients this machine's: its name, kernel, CPUs and their model."""
    return {
        "name": platform.node(),
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "cpu": _cpu(),
    }


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor()
    found = re.search(r"^(?:model name|CPU part)\s*:\s*(.+)$", text, re.M)
    return found[1].strip() if found else platform.machine()


def models(note: Callable[[str], None], file: Path | None = None) -> list[Model]:
    """This machine's models, or none: not calibrated, or on what is another machine by now.

    Raises Problem for a damaged file.
    """
    file = FILE if file is None else file
    if not file.exists():
        return []
    found = load(file)
    measured = json.loads(file.read_text(encoding="utf-8")).get("host")
    if measured != host():
        differs = sorted(
            name for name, value in host().items() if dict(measured or {}).get(name) != value
        )
        note(
            f"{file} was calibrated on another machine ({', '.join(differs)} differ): not used;"
            " --calibrate measures this one"
        )
        return []
    return [replace(model, here=True) for model in found]


def store(text: str, file: Path | None = None) -> Path:
    """Keep a file of coefficients as this machine's. Raises Problem if it holds no model."""
    file = FILE if file is None else file
    content = json.loads(text)
    if not content.get("models"):
        raise Problem(
            "the calibration gave no model: too little could be measured; ./study doctor says why"
        )
    made = json.dumps({**content, "host": host()}, indent=1, ensure_ascii=False) + "\n"
    temporary = file.with_name(f".{file.name}-{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(made, encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        raise paths.unwritable(file, error) from None
    return file
