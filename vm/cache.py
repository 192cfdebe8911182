"""A folder of things that are slow to make: each is there whole or not at all.

A thing is made in a folder beside its final place and renamed. Who makes it holds a lock; a second
one waits and finds it there. What a killed maker left behind is removed by the next one. A power
cut may cost the contents of files not yet on the disk: the sizes of all are kept to tell.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from vm.problem import Problem

_SIZES = "sizes.json"


def default() -> Path:
    """Where these things lie unless told otherwise."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if os.path.isabs(home) else Path.home() / ".cache") / "probetax"


def whole(folder: Path) -> bool:
    """Is it there, and has each of its files the size that it was made with?"""
    try:
        sizes: dict[str, int] = json.loads((folder / _SIZES).read_text())
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False


def made(folder: Path, make: Callable[[Path], None], say: Callable[[str], None]) -> Path:
    """``folder``, after ``make(temporary folder)`` has filled it if it was not there.

    Raises ``Problem`` where the disk is full or the place cannot be written to.
    """
    if whole(folder):
        return folder
    with _problems(folder), _lock(folder, say):
        if whole(folder):
            return folder
        for left in [*folder.parent.glob(f".{folder.name}.*"), folder]:
            _remove(left)
        work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            make(work)
            _write_through(work)
            work.chmod(0o755)
            work.rename(folder)
        except BaseException:
            _remove(work)
            raise
    return folder


@contextlib.contextmanager
def _lock(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another process is making {folder.name}; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _problems(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Problem(
                f"no space left below {folder.parent}: free 1 GB there, or set XDG_CACHE_HOME to"
                " another disk"
            ) from None
        if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR):
            raise Problem(
                f"cannot write below {folder.parent} ({problem.strerror}): set XDG_CACHE_HOME to a"
                " folder of your own"
            ) from None
        raise


def _write_through(work: Path) -> None:
    """Records the sizes; what lies in the folder itself is on the disk before it is renamed."""
    files = sorted(path for path in work.rglob("*") if path.is_file() and not path.is_symlink())
    sizes = {str(path.relative_to(work)): path.stat().st_size for path in files}
    (work / _SIZES).write_text(json.dumps(sizes))
    for path in work.iterdir():
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
