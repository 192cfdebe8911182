"""What works on this machine, one line per finding, with the cure.

Features are tried, not inferred from versions. Nothing stays behind, whoever runs it and whatever
is missing. Standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from experiment import needs
from experiment.probes import Check, bpf, build, cgroups, machine, missing


def report(paths: Mapping[str, str]) -> dict[str, Any]:
    """Probe everything.

    Args:
        paths: ``build`` and ``system_python``, both optional: where the collectors are and the
            Python that BCC belongs to.

    Returns:
        ``checks`` (a list of id, status ok | warn | missing, text, cure), ``instrument`` (cgroup2 |
        cgroup1 | systemd | schedstat) and ``arms_possible`` (need -> possible, reason).
    """
    root = paths.get("root") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    output = paths.get("build") or os.path.join(root, "bpf", "build")
    python = paths.get("system_python") or "/usr/bin/python3"
    probes: dict[str, Callable[[], Check]] = {
        "architecture": machine.check_architecture,
        "place": machine.check_place,
        "rights": bpf.check_rights,
        "bpf": bpf.check_loading,
        "bpf_statistics": bpf.check_statistics,
        "bpf_jit": bpf.check_jit,
        "btf": bpf.check_btf,
        "libbpf": bpf.check_libbpf,
        "kallsyms_data": bpf.check_kallsyms,
        "tracefs": build.check_tracefs,
        "headers": build.check_headers,
        "bcc": lambda: build.check_bcc(python),
        "mpstat": build.check_mpstat,
        "tools": lambda: build.check_tools(output),
        "collectors": lambda: build.check_collectors(output),
        "cgroups": cgroups.check_cgroups,
        "systemd": cgroups.check_systemd,
        "instrument": cgroups.check_instrument,
        "pid_namespace": machine.check_pid_namespace,
        "processes": machine.check_processes,
        "memory": machine.check_memory,
        "disk": lambda: machine.check_disk(root),
        "clock": machine.check_clock,
        "steal": machine.check_steal,
        "counters": machine.check_counters,
    }
    checks = [_tried(name, probe) for name, probe in probes.items()]
    return {
        "checks": [check.as_dict() for check in checks],
        "instrument": cgroups.choose()[0],
        "arms_possible": needs.possible(checks),
    }


def _tried(name: str, probe: Callable[[], Check]) -> Check:
    """The probe's finding. A probe that fails itself is a finding too, never a traceback."""
    try:
        return probe()
    except Exception as error:  # whatever it is, the other checks go on
        words = " ".join(str(error).split()) or type(error).__name__
        return missing(name, f"could not be checked: {words}", "report this with ./study doctor")
