"""The clone as a tar: what is tracked or new in it, and nothing that set-up made."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

#: What set-up makes at the host, for a clone that git cannot list.
_MADE = (".git", ".venv", ".setup", "bpf/build", "__pycache__")


def files(root: Path) -> list[str]:
    """Relative paths, sorted: those git tracks and new ones that it would not ignore."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(words, cwd=root, capture_output=True, check=True).stdout
        names = [name for name in listed.decode("utf-8", "surrogateescape").split("\0") if name]
    except (OSError, subprocess.CalledProcessError):  # no git, or no repository
        names = [str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()]
    kept = [name for name in names if not any(_below(name, made) for made in _MADE)]
    return sorted(name for name in set(kept) if (root / name).is_file())


def _below(name: str, folder: str) -> bool:
    parts, wanted = name.split("/"), folder.split("/")
    return parts[: len(wanted)] == wanted or (len(wanted) == 1 and folder in parts)


def write(root: Path, target: Path, prefix: str = "") -> None:
    """Write the tar. Times are kept, so that make builds anew only what has changed."""
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as tar:
        for name in files(root):
            tar.add(root / name, prefix + name, recursive=False, filter=_nobodys)


def _nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member
