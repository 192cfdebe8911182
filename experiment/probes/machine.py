"""The machine itself: limits, clocks, neighbours, containers and virtual machines."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import shutil
import struct

from experiment.probes import Check, missing, number, ok, read, warn
from experiment.probes.cgroups import hierarchies

PROCESSES_WANTED = 5000
# Inode numbers of include/linux/proc_ns.h; the initial namespaces always have these.
_INITIAL_NAMESPACES = {
    "ipc": 4026531839,
    "uts": 4026531838,
    "user": 4026531837,
    "pid": 4026531836,
}
_GOOD_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
_MEMORY_WANTED_MB = 2500
_DISK_WANTED_MB = 200
_CAP_SYS_RESOURCE = 24

_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}


def check_architecture() -> Check:
    """x86-64 and aarch64 are supported."""
    name = platform.machine()
    if name in ("x86_64", "aarch64"):
        return ok("architecture", f"{name}, Linux {os.uname().release}")
    return missing("architecture", f"{name} is not supported", "use x86-64 or aarch64")


def pids_max() -> int | None:
    """The lowest task limit of this process's cgroups; None without one."""
    found = hierarchies()
    limits: list[int] = []
    for line in (read("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "" and found.v2:
            mount = found.v2
        elif "pids" in controllers.split(","):
            mount = "/sys/fs/cgroup/pids"
        else:
            continue
        parts = [part for part in path.split("/") if part and part != ".."]
        for depth in range(len(parts) + 1):
            limit = number(os.path.join(mount, *parts[:depth], "pids.max"))
            if limit is not None:
                limits.append(limit)
    return min(limits, default=None)


def check_processes() -> Check:
    """Room for 5,000 processes: pid_max, threads-max, RLIMIT_NPROC and pids.max."""
    present = sum(name.isdigit() for name in os.listdir("/proc"))
    wanted = PROCESSES_WANTED + present
    limits = {
        "kernel.pid_max": number("/proc/sys/kernel/pid_max"),
        "kernel.threads-max": number("/proc/sys/kernel/threads-max"),
        "pids.max of this cgroup": pids_max(),
    }
    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if soft != resource.RLIM_INFINITY and not _may_exceed_limits():
        limits["ulimit -u"] = soft
    short = [f"{name} is {limit}" for name, limit in limits.items() if limit and limit < wanted]
    if short:
        return warn(
            "processes",
            f"{PROCESSES_WANTED} processes do not fit: {', '.join(short)}; {present} run now",
            "raise it, or leave the largest process counts out",
        )
    return ok("processes", f"{present} run now; {PROCESSES_WANTED} more fit")


def _may_exceed_limits() -> bool:
    if os.geteuid() == 0:
        return True
    for line in (read("/proc/self/status") or "").splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> _CAP_SYS_RESOURCE & 1)
    return False


def check_pid_namespace() -> Check:
    """BPF programs see the initial namespace's process ids; /proc shows this one's."""
    try:
        name = os.readlink("/proc/self/ns/pid")
    except OSError as error:
        return warn("pid_namespace", f"unknown ({error.strerror})", "mount /proc")
    if initial_namespace("pid"):
        return ok("pid_namespace", "the initial one: BPF and /proc number processes alike")
    return missing(
        "pid_namespace",
        f"{name} is not the initial one: BPF and /proc number processes differently",
        "run on the host, or start the container with --pid=host",
    )


def container() -> str | None:
    """What marks this as a container, or None.

    A virtual machine whose disk was made from a container image has the marks too, but the initial
    namespaces; a container that shares the host's process ids still has some of its own.
    """
    if all(initial_namespace(kind) for kind in _INITIAL_NAMESPACES):
        return None
    for path in ("/.dockerenv", "/run/.containerenv", "/run/systemd/container"):
        if os.path.exists(path):
            return path
    for variable in (read("/proc/1/environ") or "").split("\0"):
        if variable.startswith("container="):
            return variable
    return None


def initial_namespace(kind: str) -> bool:
    """Whether this process is in the kernel's initial namespace of that kind."""
    try:
        return os.readlink(f"/proc/self/ns/{kind}") == f"{kind}:[{_INITIAL_NAMESPACES[kind]}]"
    except OSError:
        return False


def wsl() -> bool:
    """Whether this is the Windows Subsystem for Linux."""
    return "microsoft" in (read("/proc/sys/kernel/osrelease") or "").lower()


def hypervisor() -> str | None:
    """The hypervisor's name, ``yes`` when only its presence shows, None on bare metal."""
    vendor = read("/sys/class/dmi/id/sys_vendor")
    product = read("/sys/class/dmi/id/product_name")
    kind = read("/sys/hypervisor/type")
    tree = read("/sys/firmware/devicetree/base/hypervisor/compatible")
    cpu = read("/proc/cpuinfo") or ""
    if kind or tree:
        return kind or (tree or "").rstrip("\0")
    flags = next((line for line in cpu.splitlines() if line.startswith("flags")), "")
    text = f"{vendor or ''} {product or ''}".strip()
    if "hypervisor" in flags.split():
        return text or _clock_of_hypervisor() or "yes"
    virtual = ("QEMU", "KVM", "VMware", "Virtual", "Amazon", "Google", "Apple Virtualization")
    return text if any(name in text for name in virtual) else None


def _clock_of_hypervisor() -> str | None:
    clocks = (read(f"{_CLOCK}/available_clocksource") or "").split()
    known = {"kvm-clock": "KVM", "xen": "Xen", "hyperv_clocksource_tsc_page": "Hyper-V"}
    return next((name for clock, name in known.items() if clock in clocks), None)


def check_place() -> Check:
    """Bare metal, virtual machine, WSL or container: what the numbers speak for."""
    if wsl():
        return warn(
            "place",
            "WSL: a Microsoft kernel in a utility machine",
            "results hold for WSL only; measure on Linux for others",
        )
    mark = container()
    if mark:
        return warn(
            "place",
            f"marks of a container ({mark}): neighbours may share the kernel",
            "run on the host for results that hold for it",
        )
    machine = hypervisor()
    return ok("place", f"virtual machine ({machine})" if machine else "no hypervisor seen")


_CLOCK = "/sys/devices/system/clocksource/clocksource0"


def check_clock() -> Check:
    """Reading a clock source outside the CPU costs about a microsecond and distorts."""
    name = read(f"{_CLOCK}/current_clocksource")
    if name is None:
        return warn("clock", "unknown clock source", "mount /sys")
    if name in _GOOD_CLOCKS:
        return ok("clock", name)
    return warn("clock", f"{name}: slow to read", f"choose another in {_CLOCK}, if offered")


def steal_percent() -> float | None:
    """Share of CPU time since boot that the hypervisor took away, in percent."""
    line = (read("/proc/stat") or "").split("\n", 1)[0].split()
    try:
        ticks = [int(word) for word in line[1:9]]
    except ValueError:
        return None
    total = sum(ticks)
    return 100 * ticks[7] / total if len(ticks) == 8 and total else None


def check_steal() -> Check:
    """Stolen time makes every measurement of time noisier."""
    share = steal_percent()
    if share is None:
        return warn("steal", "/proc/stat tells no stolen time", "none needed")
    if share > 1:
        return warn("steal", f"{share:.1f} % of CPU time was stolen", "use a quieter host")
    return ok("steal", f"{share:.2f} % of CPU time was stolen since boot")


def memory_mb(field: str) -> int | None:
    """A field of /proc/meminfo in MB (10^6 bytes)."""
    for line in (read("/proc/meminfo") or "").splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] == f"{field}:":
            return int(words[1]) * 1024 // 1_000_000
    return None


def check_memory() -> Check:
    """Room for the largest workload."""
    free = memory_mb("MemAvailable")
    if free is None:
        return warn("memory", "/proc/meminfo tells no MemAvailable", "mount /proc")
    if free < _MEMORY_WANTED_MB:
        return warn(
            "memory",
            f"{free} MB available; 5,000 processes take up to 2,000",
            "leave the largest process counts out",
        )
    return ok("memory", f"{free} MB available")


def check_disk(folder: str) -> Check:
    """Room for the raw data."""
    try:
        free = shutil.disk_usage(folder).free // 1_000_000
    except OSError as error:
        return missing("disk", f"{folder}: {error.strerror}", "give a folder that exists")
    if free < _DISK_WANTED_MB:
        return warn("disk", f"{free} MB free at {folder}", f"free {_DISK_WANTED_MB} MB")
    return ok("disk", f"{free} MB free at {folder}")


def check_counters() -> Check:
    """Hardware counters: tried by counting this process's own instructions."""
    call = _PERF_EVENT_OPEN.get(platform.machine())
    if call is None:
        return warn("counters", "hardware counters not tried here", "none needed")
    # struct perf_event_attr, first version: PERF_TYPE_HARDWARE, 64 bytes, INSTRUCTIONS;
    # flags exclude_kernel and exclude_hv.
    wanted = struct.pack("=IIQ", 0, 64, 1).ljust(40, b"\0") + struct.pack("=Q", 1 << 5 | 1 << 6)
    buffer = ctypes.create_string_buffer(wanted.ljust(64, b"\0"), 64)
    library = ctypes.CDLL(None, use_errno=True)
    descriptor = library.syscall(call, buffer, 0, -1, -1, ctypes.c_ulong(0))
    if descriptor < 0:
        reason = os.strerror(ctypes.get_errno())
        return warn(
            "counters", f"no hardware counters ({reason})", "none needed: nothing uses them"
        )
    os.close(descriptor)
    return ok("counters", "hardware counters work")
