"""One order of arms for tables and figures, and a slot for each, the same in every run.

A slot is (source, number): it fixes an arm's place, colour and marker. The package's own arms keep
theirs whichever arms a run has; others follow by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SOURCES = ("proc", "ebpf", "none")
# No study has both `processes` and `gauges` arms, so that they can share the first slots.
OWN = {
    "proc_stat": 0,
    "psutil_processes": 1,
    "proc_files": 0,
    "sched_switch_published": 0,
    "sched_switch": 1,
    "bcc_sched_switch": 2,
    "bpf_timer": 0,
    "bpf_on_demand": 1,
    "null_agent": 0,
}
FIRST_FREE = {"proc": 2, "ebpf": 3, "none": 1}


def slots(arms: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, int]]:
    """Slot of every arm, in order: polling (and unknown sources), eBPF, the null agent."""
    taken: dict[tuple[str, int], str] = {}
    for arm in sorted(arms, key=lambda name: (name not in OWN, name)):
        source = arms[arm].get("source") or "none"
        source = source if source in SOURCES else "proc"
        number = OWN.get(arm, FIRST_FREE[source])
        while (source, number) in taken:
            number += 1
        taken[source, number] = arm
    ranked = sorted(taken, key=lambda slot: (SOURCES.index(slot[0]), slot[1]))
    return {taken[slot]: slot for slot in ranked}


def in_order(arms: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Names of the arms in the order of tables and figures."""
    return list(slots(arms))
