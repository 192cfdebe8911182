"""The identity of a plan. Standard library only: the runner writes it, resuming compares it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def portable(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan without ``paths``: where this machine keeps things is not what is measured."""
    return {key: value for key, value in plan.items() if key != "paths"}


def plan_hash(plan: Mapping[str, Any]) -> str:
    """SHA-256 of the plan without its paths, in hexadecimal; equal for its copy in a manifest."""
    text = json.dumps(portable(plan), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
