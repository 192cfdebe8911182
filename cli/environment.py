"""The environment of a Jupyter that ``./study`` starts: folders of its own, and the right user.

Under sudo the caller's runtime folder belongs to somebody else, and a kernel named python3 in the
user's own folder may be another environment's; both are kept out.
"""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from cli import paths


@dataclass(frozen=True)
class User:
    """Whom the notebook runs as, when that is not who we are."""

    uid: int
    gid: int
    home: str


def behind_sudo() -> User | None:
    """The user who called sudo, if this clone is theirs; else None: the notebook runs as we do."""
    uid, gid = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
    if os.geteuid() != 0 or not uid.isdigit() or not gid.isdigit() or int(uid) == 0:
        return None
    if paths.ROOT.stat().st_uid != int(uid):
        return None
    return User(int(uid), int(gid), pwd.getpwuid(int(uid)).pw_dir)


def jupyter(folder: Path) -> dict[str, str]:
    """Environment variables that keep Jupyter, IPython and matplotlib inside ``folder``."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER_", "XDG_", "SUDO_"))}
    for name in ("runtime", "data", "config", "ipython", "matplotlib"):
        (folder / name).mkdir(mode=0o700, exist_ok=True)
    return {
        **kept,
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "IPYTHONDIR": str(folder / "ipython"),
        "MPLCONFIGDIR": str(folder / "matplotlib"),
        "MPLBACKEND": "agg",
        # a frozen debugger warning would be the first thing a reader of the notebook sees
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
