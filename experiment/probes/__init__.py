"""Probes: what works on this machine, found out by trying it, never from a version number.

Standard library only. Every probe undoes what it does before it returns.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Check:
    """One finding. ``status``: ok; warn (works, with a limit); missing (does not work)."""

    id: str
    status: str
    text: str
    cure: str = ""

    @property
    def works(self) -> bool:
        """Whether what was looked for can be used."""
        return self.status != "missing"

    def as_dict(self) -> dict[str, str]:
        """The four fields, for JSON."""
        return asdict(self)


def ok(name: str, text: str) -> Check:
    """A finding without a limit."""
    return Check(name, "ok", text)


def warn(name: str, text: str, cure: str) -> Check:
    """A finding that limits what can be measured or how exactly."""
    return Check(name, "warn", text, cure)


def missing(name: str, text: str, cure: str) -> Check:
    """A finding that rules something out."""
    return Check(name, "missing", text, cure)


def read(path: str) -> str | None:
    """The file's text without surrounding blanks; None when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None


def number(path: str) -> int | None:
    """The whole number in a file; None when there is none."""
    text = read(path)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
