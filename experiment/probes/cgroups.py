"""Which control groups can count an agent's CPU time here.

Mounts are found through ``/proc/self/mountinfo`` (proc(5)); a hierarchy counts only if its files
are really there and can be written, since a mount may be hidden by another or be read-only.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass

from experiment.probes import Check, missing, ok, read, warn


@dataclass(frozen=True)
class Hierarchies:
    """Usable mount points, None where there is none. ``mode``: unified, hybrid, legacy or none."""

    mode: str
    v2: str | None
    cpuacct: str | None


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def hierarchies(mountinfo: str | None = None) -> Hierarchies:
    """Cgroup mounts whose files can be seen. ``mountinfo`` is the text of the file, for tests."""
    text = read("/proc/self/mountinfo") if mountinfo is None else mountinfo
    v2 = cpuacct = None
    version_1 = False
    for line in (text or "").splitlines():
        left, dash, right = line.partition(" - ")
        fields, kinds = left.split(" "), right.split(" ")
        if not dash or len(fields) < 6 or len(kinds) < 3:
            continue
        target = _unescape(fields[4])
        if not os.path.exists(os.path.join(target, "cgroup.procs")):
            continue
        if kinds[0] == "cgroup2":
            v2 = target
        elif kinds[0] == "cgroup":
            version_1 = True
            options = kinds[2].split(",")
            if "cpuacct" in options and os.path.exists(os.path.join(target, "cpuacct.usage")):
                cpuacct = target
    if v2:
        mode = "hybrid" if version_1 else "unified"
    else:
        mode = "legacy" if version_1 else "none"
    return Hierarchies(mode, v2, cpuacct)


def writable(folder: str | None) -> bool:
    """Whether this process may make a group in that folder."""
    return folder is not None and os.access(folder, os.W_OK | os.X_OK)


def _counts_cpu(folder: str | None) -> bool:
    """Whether groups of this version 2 hierarchy have ``cpu.stat`` with a total."""
    if folder is None:
        return False
    if "usage_usec" in (read(os.path.join(folder, "cpu.stat")) or ""):
        return True
    return any(
        "usage_usec" in (read(os.path.join(folder, name, "cpu.stat")) or "")
        for name in os.listdir(folder)
    )


def systemd_runs() -> bool:
    """Whether systemd manages this machine: sd_booted(3)."""
    return os.path.isdir("/run/systemd/system") and shutil.which("systemd-run") is not None


def systemd_scopes() -> bool:
    """Whether this process may ask systemd for a scope: as root, or from a user manager."""
    if not systemd_runs():
        return False
    if os.geteuid() == 0:
        return True
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.geteuid()}")
    return os.path.exists(os.path.join(runtime, "systemd", "private"))


def choose() -> tuple[str, str]:
    """The instrument of a run, and why that one.

    In order: a cgroup of version 2, of version 1, a systemd scope, and last schedstat, which sums
    over the processes it can see and misses those that come and go between two readings.
    """
    found = hierarchies()
    if writable(found.v2) and _counts_cpu(found.v2):
        return "cgroup2", f"cgroup version 2 at {found.v2}"
    if writable(found.cpuacct):
        return "cgroup1", f"cpuacct controller of cgroup version 1 at {found.cpuacct}"
    if systemd_scopes():
        return "systemd", "a systemd scope"
    return "schedstat", "no cgroup can be made: /proc/<pid>/schedstat of the agent's processes"


def check_cgroups() -> Check:
    """The cgroup mode and whether groups can be made."""
    found = hierarchies()
    places = ", ".join(place for place in (found.v2, found.cpuacct) if place)
    if found.mode == "none" or not places:
        return missing(
            "cgroups",
            "no cgroup mount that counts CPU time",
            "mount -t cgroup2 none /sys/fs/cgroup; until then schedstat is used",
        )
    if not writable(found.v2) and not writable(found.cpuacct):
        return warn(
            "cgroups",
            f"{found.mode} ({places}), not writable by this user",
            "run as root, or from a systemd session",
        )
    return ok("cgroups", f"{found.mode}: {places}")


def check_systemd() -> Check:
    """Whether a systemd scope could serve as the instrument."""
    if systemd_runs():
        return ok("systemd", "systemd is PID 1")
    return warn(
        "systemd",
        "systemd is not PID 1: no systemd scopes",
        "none needed while cgroups can be made",
    )


def check_instrument() -> Check:
    """The instrument that a run on this machine would use."""
    name, why = choose()
    if name == "schedstat":
        return warn("instrument", f"schedstat ({why})", "run as root for an exact account")
    return ok("instrument", f"{name} ({why})")
