"""The machine a measurement was made on: what could explain a difference between two of them.

Everything is read, nothing assumed; what cannot be known here is None. Standard library only.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from experiment.probes import bpf, build, cgroups, machine, number, read

_VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"
_CLOCK = "/sys/devices/system/clocksource/clocksource0"
#: Options that change what is measured or what can be.
_OPTIONS = (
    "HZ",
    "IRQ_TIME_ACCOUNTING",
    "VIRT_CPU_ACCOUNTING_GEN",
    "PARAVIRT_TIME_ACCOUNTING",
    "NO_HZ_FULL",
    "KALLSYMS_ALL",
    "BPF_JIT_ALWAYS_ON",
    "SCHED_CLASS_EXT",
    "CGROUP_CPUACCT",
    "SCHEDSTATS",
)
_PREEMPTION = ("RT", "FULL", "LAZY", "VOLUNTARY", "NONE")


def collect(paths: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Read the fingerprint.

    Args:
        paths: ``python`` and ``system_python`` of the plan: the interpreters of the collectors that
            are written in Python.

    Returns:
        A flat mapping with a few nested ones (``mitigations``, ``kernel_options``, ``versions``),
        fit for JSON. Sizes in MB (10^6 bytes), times in the unit that ends the name.
    """
    config = kernel_config()
    parts: dict[str, Callable[[], Any]] = {
        "kernel": lambda: os.uname().sysname,
        "release": lambda: os.uname().release,
        "version": lambda: os.uname().version,
        "architecture": platform.machine,
        "distribution": lambda: build.distribution().get("PRETTY_NAME"),
        "cpu_model": cpu_model,
        "cpus_possible": lambda: cpu_count("possible"),
        "cpus_online": lambda: cpu_count("online"),
        "cpu_governor": lambda: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "smt": lambda: read("/sys/devices/system/cpu/smt/control"),
        "hypervisor": machine.hypervisor,
        "container": machine.container,
        "wsl": machine.wsl,
        "clock_source": lambda: read(f"{_CLOCK}/current_clocksource"),
        "clock_ticks_hz": lambda: os.sysconf("SC_CLK_TCK"),
        "kernel_hz": lambda: _whole(config.get("HZ")),
        "preemption": lambda: preemption(config),
        "mitigations": mitigations,
        "kernel_options": lambda: {name: config.get(name) for name in _OPTIONS} or None,
        "command_line_mitigations": command_line_mitigations,
        "cgroup_mode": lambda: cgroups.hierarchies().mode,
        "transparent_huge_pages": lambda: _chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
        "bpf_jit": lambda: number("/proc/sys/net/core/bpf_jit_enable"),
        "bpf_jit_harden": lambda: number("/proc/sys/net/core/bpf_jit_harden"),
        "unprivileged_bpf_disabled": lambda: number("/proc/sys/kernel/unprivileged_bpf_disabled"),
        "bpf_statistics_sysctl": lambda: number("/proc/sys/kernel/bpf_stats_enabled"),
        "perf_event_paranoid": lambda: number("/proc/sys/kernel/perf_event_paranoid"),
        "pid_max": lambda: number("/proc/sys/kernel/pid_max"),
        "memory_mb": lambda: machine.memory_mb("MemTotal"),
        "swap_mb": lambda: machine.memory_mb("SwapTotal"),
        "uptime_s": uptime_s,
        "boot": boot,
        "steal_percent": lambda: _rounded(machine.steal_percent()),
        "systemd": cgroups.systemd_runs,
        "versions": lambda: versions(paths or {}),
    }
    return {name: _known(part) for name, part in parts.items()}


def _known(part: Callable[[], Any]) -> Any:
    """The value, None for whatever cannot be read on this machine."""
    try:
        value = part()
    except (OSError, ValueError, IndexError, KeyError, subprocess.SubprocessError):
        return None
    return None if value == "" else value


def _whole(text: str | None) -> int | None:
    return None if text is None else int(text)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _chosen(path: str) -> str | None:
    """The bracketed word of a sysfs choice such as ``always [madvise] never``."""
    found = re.search(r"\[(\S+)\]", read(path) or "")
    return found[1] if found else None


def parse_config(text: str) -> dict[str, str]:
    """Options of a kernel configuration without ``CONFIG_``; ``n`` for those that are not set."""
    options: dict[str, str] = {}
    for line in text.splitlines():
        found = re.fullmatch(r"CONFIG_(\w+)=(.*)", line.strip())
        if found:
            options[found[1]] = found[2].strip('"')
            continue
        found = re.fullmatch(r"# CONFIG_(\w+) is not set", line.strip())
        if found:
            options[found[1]] = "n"
    return options


def kernel_config() -> dict[str, str]:
    """The running kernel's configuration; empty where it does not tell."""
    try:
        with gzip.open("/proc/config.gz", "rt", encoding="utf-8", errors="replace") as file:
            return parse_config(file.read())
    except (OSError, EOFError):
        return parse_config(read(f"/boot/config-{os.uname().release}") or "")


def preemption(config: dict[str, str]) -> str | None:
    """The preemption model in force: rt, full, lazy, voluntary or none."""
    if "PREEMPT_RT" in os.uname().version.replace(" ", "_"):
        return "rt"
    dynamic = re.search(r"\((\w+)\)", read("/sys/kernel/debug/sched/preempt") or "")
    if dynamic:
        return dynamic[1]
    asked = re.search(r"\bpreempt=(\w+)", read("/proc/cmdline") or "")
    if asked and config.get("PREEMPT_DYNAMIC") != "n":
        return asked[1]
    for name in _PREEMPTION:
        option = "PREEMPT" if name == "FULL" else f"PREEMPT_{name}"
        if config.get(option) == "y":
            return name.lower()
    return None


def cpu_model() -> str | None:
    """The processor's name; on aarch64 its implementer and part numbers, which is all it tells."""
    text = read("/proc/cpuinfo") or ""
    fields = dict(re.findall(r"^([^\t\n:]+?)\s*: (.*)$", text, re.MULTILINE))
    if "model name" in fields:
        return str(fields["model name"])
    words = [
        f"{label} {fields[key]}"
        for label, key in (("implementer", "CPU implementer"), ("part", "CPU part"))
        if key in fields
    ]
    return ", ".join(words) or None


def cpu_count(which: str) -> int | None:
    """CPUs in a list such as ``0-3,8``; numbers may have holes."""
    text = read(f"/sys/devices/system/cpu/{which}")
    if not text:
        return None
    count = 0
    for part in text.split(","):
        first, _, last = part.partition("-")
        count += int(last or first) - int(first) + 1
    return count


def mitigations() -> dict[str, str] | None:
    """What the kernel does against each flaw of the processor that affects it."""
    found = {
        name: read(f"{_VULNERABILITIES}/{name}") for name in sorted(os.listdir(_VULNERABILITIES))
    }
    return {name: text for name, text in found.items() if text and text != "Not affected"}


def command_line_mitigations() -> str | None:
    """The ``mitigations=`` of the kernel's command line."""
    found = re.search(r"\bmitigations=(\S+)", read("/proc/cmdline") or "")
    return found[1] if found else None


def uptime_s() -> int:
    """Seconds since boot."""
    return int(float((read("/proc/uptime") or "").split()[0]))


def boot() -> str | None:
    """Eight digits that tell two boots apart and identify neither."""
    text = read("/proc/sys/kernel/random/boot_id")
    return hashlib.sha256(text.encode()).hexdigest()[:8] if text else None


def versions(paths: Mapping[str, str]) -> dict[str, str | None]:
    """Versions of what measures and of what compiled the programs."""
    name, number_text = platform.libc_ver()
    return {
        "python": platform.python_version(),
        "python_implementation": sys.implementation.name,
        "libc": f"{name} {number_text}".strip() or None,
        "libbpf": bpf.libbpf_version(),
        "clang": _first_line("clang", "--version"),
        "gcc": _first_line("gcc", "--version"),
        "bpftool": _first_line("bpftool", "version"),
        "systemd": _first_line("systemctl", "--version") if cgroups.systemd_runs() else None,
        "procps": _first_line("top", "-V"),
        "sysstat": _first_line("mpstat", "-V"),
        "psutil": _package(paths.get("python"), "psutil"),
        "bcc": _package(paths.get("system_python"), "bcc"),
    }


def _package(python: str | None, name: str) -> str | None:
    """The version of a package, asked of the interpreter that will import it, without importing."""
    if python is None:
        return None
    return _said(
        [python, "-c", f"from importlib.metadata import version; print(version('{name}'))"]
    )


def _first_line(tool: str, argument: str) -> str | None:
    path = build.tool_path(tool)
    return None if path is None else _said([path, argument])


def _said(words: list[str]) -> str | None:
    """The first line that a command prints; None if it cannot be run or fails."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            env={"PATH": os.defpath, "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.decode(errors="replace").splitlines()
    return lines[0].strip() if lines and done.returncode == 0 else None
