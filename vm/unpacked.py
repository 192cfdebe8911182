"""Packages as a folder to compile against, or to run a compiler out of; nothing is installed."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

from vm import archive, contents
from vm.archive import Package


def unpack(packages: Iterable[Package], root: Path, kept: re.Pattern[str]) -> None:
    """Writes the files whose name, merged into usr/, matches ``kept``; links lead inside root."""
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    for package in packages:
        for name, member, data in archive.members(package):
            to = contents.merged(name)
            if not kept.match(to) or not (member.isreg() or member.islnk() or member.issym()):
                continue
            path = root / to
            path.parent.mkdir(parents=True, exist_ok=True)
            if member.issym():
                target = contents.link_target(name, member.linkname)
                if target.startswith("/"):
                    target = posixpath.relpath(target[1:], posixpath.dirname(to))
                path.unlink(missing_ok=True)
                path.symlink_to(target)
            else:
                path.write_bytes(data)
                os.chmod(path, 0o755 if member.mode & 0o100 else 0o644)
