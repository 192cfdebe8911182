"""Whether this machine gives an arm what its ``needs`` name.

Reported before measuring, never worked round: an arm whose needs are not met is run all the same
and says ``unavailable`` in the kernel's words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from experiment.probes import Check

#: Checks that must all work for a need to be met; the first that does not is the reason.
NEEDS = {
    "bpf": ("bpf",),
    "btf": ("btf", "libbpf"),
    "tracefs": ("tracefs",),
    "bcc": ("bcc",),
    "headers": ("headers",),
    "kallsyms_data": ("kallsyms_data",),
    "mpstat": ("mpstat",),
}


def possible(checks: Iterable[Check]) -> dict[str, dict[str, Any]]:
    """For each need ``{"possible": bool, "reason": text}``; the reason is empty when met."""
    found = {check.id: check for check in checks}
    answer: dict[str, dict[str, Any]] = {}
    for need, names in NEEDS.items():
        failed = [found[name].text for name in names if not found[name].works]
        answer[need] = {"possible": not failed, "reason": failed[0] if failed else ""}
    return answer


def unmet(arm: Mapping[str, Any], arms_possible: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Why each need of the arm that is not met here is not."""
    return [
        arms_possible[need]["reason"]
        for need in arm["needs"]
        if not arms_possible[need]["possible"]
    ]
