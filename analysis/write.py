"""Files that are complete or absent: written beside, synced, then moved into place."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

DIGITS = 10


def put(path: Path, data: bytes | str) -> Path:
    """Write a file atomically; what was there stays until the new content is on disk.

    Raises OSError if the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data.encode("utf-8") if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return path


def put_json(path: Path, value: Any) -> Path:
    """Write JSON, rounded; a NaN in it is an error of ours, never data (ValueError)."""
    made = json.dumps(rounded(value), indent=1, ensure_ascii=False, allow_nan=False)
    return put(path, made + "\n")


def rounded(value: Any) -> Any:
    """The same with every float to DIGITS digits: what JSON files hold.

    Libraries add in another order on another processor, and the last digits are of that order.
    """
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return value


def listed(summary: Path) -> list[str]:
    """The files that an earlier summary names; none if there is no such summary."""
    try:
        found = json.loads(summary.read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def drop_stale(folder: Path, before: Iterable[str], now: Iterable[str]) -> None:
    """Remove files that an earlier run of ours wrote here and this one did not (relative names)."""
    for name in set(before) - set(now):
        target = (folder / name).resolve()
        if folder.resolve() in target.parents:
            target.unlink(missing_ok=True)
