"""One order of arms for tables and figures, and a slot for each, the same in every run.

A slot is (source, number): it fixes an arm's place, colour and marker. The package's own arms keep
theirs whichever arms a run has; others follow by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SOURCES = ("proc", "ebpf", "none")
OWN = {
    "proc": ("proc_stat", "psutil_processes", "proc_files"),
    "ebpf": (
        "sched_switch_published",
        "sched_switch",
        "bcc_sched_switch",
        "bpf_timer",
        "bpf_on_demand",
    ),
    "none": ("null_agent",),
}


def slots(arms: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, int]]:
    """Slot of every arm, in order: polling, eBPF, the null agent."""
    made: dict[str, tuple[str, int]] = {}
    for source in SOURCES:
        own = OWN[source]
        mine = [a for a in arms if (arms[a].get("source") or "none") == source]
        if source == SOURCES[0]:
            mine += [a for a in arms if (arms[a].get("source") or "none") not in SOURCES]
        others = sorted(a for a in mine if a not in own)
        found = {a: own.index(a) for a in mine if a in own}
        found |= {a: len(own) + n for n, a in enumerate(others)}
        for arm in sorted(found, key=found.__getitem__):
            made[arm] = (source, found[arm])
    return made


def in_order(arms: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Names of the arms in the order of tables and figures."""
    return list(slots(arms))
