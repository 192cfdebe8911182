"""Which version of this package measures: the commit, and whether the files differ from it.

git refuses a folder of another user ("dubious ownership"), and the runner is root where the clone
is not; so every folder is declared safe for the one command. It is only read: no lock, no index
refresh, no hook. Standard library only.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from experiment.probes import build

#: Measurements come and go beside the code; they are no change to it.
_CODE = (".", ":(exclude)data/raw", ":(exclude)data/processed")
_DEADLINE_S = 20


def source(root: Path) -> dict[str, Any] | None:
    """``{"commit": hash, "changed": bool}``; None without git, or where it does not know ``root``.

    ``changed``: a tracked file outside the measurements differs from the commit, or there is one
    that git neither knows nor ignores.
    """
    if not git(root, "ls-files", "--", "data/schema.json"):  # a copy inside somebody's own clone
        return None
    commit = git(root, "rev-parse", "--verify", "HEAD")
    status = git(root, "status", "--porcelain", "--", *_CODE)
    if not commit or status is None:
        return None
    return {"commit": commit, "changed": status != ""}


def git(root: Path, *words: str) -> str | None:
    """What a git command prints of a tree; None without git, or where the command fails."""
    program = build.tool_path("git")
    if program is None:
        return None
    settings = ["safe.directory=*", "core.fsmonitor=false", "core.quotePath=true"]
    options = [word for setting in settings for word in ("-c", setting)]
    try:
        done = subprocess.run(
            [program, "--no-optional-locks", *options, "-C", str(root), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_DEADLINE_S,
            env={"PATH": os.defpath, "LC_ALL": "C", "HOME": "/nonexistent"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None
