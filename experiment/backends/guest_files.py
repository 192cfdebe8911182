"""What the exact machine gets of this project: the runner, the collectors, and its part of a plan.

The parts are archives that the kernel unpacks over the base image. Only what a plan needs goes in,
and nothing that names this machine: the same plan gives the same bytes everywhere.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiment import workloads
from vm import cpio

PATHS = {
    "root": "/probetax",
    "build": "/build",
    "python": "/usr/bin/python3",
    "system_python": "/usr/bin/python3",
}
COMMAND = ("/usr/bin/python3", "-I", "-S", "/probetax/experiment", "/plan.json", "/run/result")
#: Debian's package by a word that the arms' commands hold.
PACKAGES = {"psutil": "python3-psutil", "mpstat": "sysstat"}
#: The window of the trial that a boot begins with and nobody keeps, in s: it fills the caches.
_DISCARDED_S = 1.0
_OF_ARM = ("command", "ready", "needs", "language", "dump", "sleeps_per_scrape")


def plan_of_block(plan: Mapping[str, Any], block: int) -> dict[str, Any]:
    """What one boot runs: a trial to be discarded, then the trials of the block.

    Of the plan only what the runner reads, so that words that nobody there reads change nothing.
    """
    trials = [trial for trial in plan["trials"] if trial["block"] == block]
    declared = [entry for entry in plan["perturbations"] if entry["block"] == block]
    named = {trial["arm"] for trial in trials}
    return {
        "schema": plan["schema"],
        "study": plan["study"],
        "preset": plan["preset"],
        "backend": plan["backend"],
        "paths": PATHS,
        "arms": {
            name: {key: arm[key] for key in _OF_ARM if key in arm}
            for name, arm in sorted(plan["arms"].items())
            if name in named
        },
        "trials": [discarded(plan, trials), *trials],
        "perturbation": declared[0],
    }


def discarded(plan: Mapping[str, Any], trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A short trial like the block's first, with a number beyond the plan's."""
    number = 1 + max(trial["trial"] for trial in plan["trials"])
    interval_s = min(trial["interval_ms"] for trial in trials) / 1000
    window_s = max(1, round(_DISCARDED_S / interval_s)) * interval_s
    arms = sorted({trial["arm"] for trial in trials} & set(plan["arms"]))
    return {
        "kind": "cost",
        "arm": arms[0],
        "replica": 1,
        "statistics": "off",
        "processes": trials[0]["processes"],
        "interval_ms": round(1000 * interval_s),
        "window_s": window_s,
        "trial": number,
        "block": trials[0]["block"],
        "position": 0,
    }


def project(plan: Mapping[str, Any], root: Path, build: Path) -> list[cpio.Entry]:
    """The runner, the schema, and the programs of a plan.

    Args:
        root: the project's folder.
        build: the collectors and generators, made for the guest.

    Raises:
        FileNotFoundError: a program that the plan needs is not in ``build``.
    """
    entries = [
        cpio.file("init", (root / "vm/guest/init").read_bytes(), 0o755),
        cpio.file("command.json", json.dumps(COMMAND).encode()),
        cpio.file("probetax/data/schema.json", (root / "data/schema.json").read_bytes()),
    ]
    for path in runner_files(root / "experiment"):
        name = f"probetax/{path.relative_to(root)}"
        entries.append(cpio.file(name, path.read_bytes()))
    if any("{root}" in word for arm in plan["arms"].values() for word in arm["command"]):
        for path in sorted(root.glob("bpf/*/*.py")):
            entries.append(cpio.file(f"probetax/{path.relative_to(root)}", path.read_bytes()))
    for name in workloads.needed(plan):
        entries.append(cpio.file(f"build/{name}", (build / name).read_bytes(), 0o755))
    return entries


def runner_files(package: Path) -> list[Path]:
    """The modules that the runner's command imports, directly or not, and their packages."""
    found: set[Path] = set()
    waiting = [package / "__main__.py"]
    while waiting:
        path = waiting.pop()
        if path in found or not path.exists():
            continue
        found.add(path)
        waiting.append(path.with_name("__init__.py"))
        waiting += _imported(path, package)
    return sorted(found)


def foreign_modules(root: Path) -> list[str]:
    """Modules of the standard library that the guest's own files import."""
    files = [root / "vm/guest/init", *runner_files(root / "experiment"), *root.glob("bpf/*/*.py")]
    names = {name.split(".")[0] for path in files for name in _names(path)}
    return sorted(names & set(sys.stdlib_module_names) - {"__future__"})


def _names(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return names


def _imported(path: Path, package: Path) -> list[Path]:
    places: list[Path] = []
    for name in _names(path):
        first, *rest = name.split(".")
        if first == package.name:
            place = package.joinpath(*rest)
            places += [place.with_suffix(".py"), place / "__init__.py"]
    return places


def packages(plan: Mapping[str, Any]) -> list[str]:
    """Debian's packages that the plan's arms need beyond the base image."""
    words = [word for arm in plan["arms"].values() for word in arm["command"]]
    return [package for part, package in PACKAGES.items() if any(part in word for word in words)]
