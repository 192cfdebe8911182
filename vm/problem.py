"""What a user can put right: told in one line, with its cause and its cure."""

from __future__ import annotations


class Problem(Exception):
    """Bad input, a missing package, no network, no space. The text names the cause and the cure."""
