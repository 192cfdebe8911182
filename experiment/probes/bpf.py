"""BPF on this machine: rights, type information, loading, attaching, statistics.

Loading is tried with a program of two instructions through bpf(2); closing its file descriptors
unloads it. Refusals are reported in the kernel's words.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import struct
import subprocess

from experiment import kernel
from experiment.probes import Check, missing, number, ok, read, warn
from experiment.probes.machine import initial_namespace

_CAPABILITIES = {"CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38, "CAP_BPF": 39}
_GAIN_RIGHTS = {
    False: "run as root or allow sudo",
    True: "give the container CAP_BPF and CAP_PERFMON in the host's user namespace",
}
_BTF = "/sys/kernel/btf/vmlinux"
_BTF_MAGIC = 0xEB9F

_PROG_LOAD = 5
_RAW_TRACEPOINT_OPEN = 17
_TYPE_RAW_TRACEPOINT = 17
# r0 = 0; exit
_PROGRAM = struct.pack("=BBhi", 0xB7, 0, 0, 0) + struct.pack("=BBhi", 0x95, 0, 0, 0)


def capabilities() -> set[str]:
    """Which of the capabilities that BPF asks for are effective.

    bpf(2) looks at the initial user namespace; those of another one do not count.
    """
    if not initial_namespace("user"):
        return set()
    for line in (read("/proc/self/status") or "").splitlines():
        if line.startswith("CapEff:"):
            effective = int(line.split()[1], 16)
            return {name for name, bit in _CAPABILITIES.items() if effective >> bit & 1}
    return set()


def check_rights() -> Check:
    """Root, or the capabilities in its place, or sudo that asks for no password."""
    held = capabilities()
    if "CAP_SYS_ADMIN" in held:
        return ok("rights", "root" if os.geteuid() == 0 else "CAP_SYS_ADMIN")
    if {"CAP_BPF", "CAP_PERFMON"} <= held:
        return warn(
            "rights",
            "CAP_BPF and CAP_PERFMON without CAP_SYS_ADMIN: no BPF statistics",
            "run as root for trials with statistics on",
        )
    lacking = " and ".join(sorted({"CAP_BPF", "CAP_PERFMON"} - held))
    who = "root" if os.geteuid() == 0 else "not root"
    if os.geteuid() != 0 and _sudo():
        return warn("rights", f"{who}; sudo works", "none needed: the runner is started with sudo")
    return missing(
        "rights",
        f"{who}, without {lacking}: eBPF arms cannot load",
        f"{_GAIN_RIGHTS[os.geteuid() == 0]}; arms that read /proc still run",
    )


def _sudo() -> bool:
    program = shutil.which("sudo")
    if program is None:
        return False
    try:
        done = subprocess.run(
            [program, "-n", "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def check_btf() -> Check:
    """Whether the kernel carries its own type information."""
    try:
        with open(_BTF, "rb") as file:
            head = file.read(2)
    except OSError as error:
        return missing(
            "btf",
            f"the kernel has no BTF ({_BTF}: {error.strerror})",
            "boot a kernel built with CONFIG_DEBUG_INFO_BTF; Debian's and Ubuntu's are",
        )
    if head != struct.pack("=H", _BTF_MAGIC):
        return missing("btf", f"{_BTF} is not BTF", "boot another kernel")
    return ok("btf", f"kernel type information at {_BTF}")


def libbpf() -> ctypes.CDLL | None:
    """The shared library the collectors use, loaded, with its messages off."""
    for name in ("libbpf.so.1", "libbpf.so.0"):
        try:
            library = ctypes.CDLL(name, use_errno=True)
        except OSError:
            continue
        library.libbpf_set_print(None)
        return library
    return None


def check_libbpf() -> Check:
    """Whether libbpf is there and understands this kernel's type information."""
    library = libbpf()
    if library is None:
        return missing("libbpf", "no libbpf.so.1", "apt-get install libbpf1")
    text = libbpf_version(library) or "of unknown version"
    if not os.path.exists(_BTF):
        return ok("libbpf", f"libbpf {text}")
    try:
        parse, free = library.btf__parse, library.btf__free
    except AttributeError:
        return missing("libbpf", f"libbpf {text} is too old", "apt-get install libbpf1")
    parse.restype, parse.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_void_p]
    free.restype, free.argtypes = None, [ctypes.c_void_p]
    types = parse(_BTF.encode(), None)
    code = ctypes.get_errno()
    if not types or types > 2**64 - 4096:  # libbpf below 1.0 returns an error as a pointer
        return missing(
            "libbpf",
            f"libbpf {text} cannot read this kernel's BTF ({os.strerror(code)}): it is too old",
            "install a newer libbpf1",
        )
    free(types)
    return ok("libbpf", f"libbpf {text} reads this kernel's BTF")


def libbpf_version(library: ctypes.CDLL | None = None) -> str | None:
    """The version libbpf gives of itself, such as v1.1."""
    library = library or libbpf()
    try:
        ask = library.libbpf_version_string  # type: ignore[union-attr]
    except AttributeError:
        return None
    ask.restype = ctypes.c_char_p
    answer: bytes | None = ask()
    return answer.decode("ascii", "replace") if answer else None


def _call(command: int, attributes: bytes) -> int:
    """bpf(2) with a command that returns a file descriptor. Raises OSError."""
    return kernel._bpf(command, attributes)[0]


def check_loading() -> Check:
    """Load a program and attach it to a raw tracepoint, then let both go."""
    code = ctypes.create_string_buffer(_PROGRAM, len(_PROGRAM))
    licence = ctypes.create_string_buffer(b"GPL")
    load = struct.pack(
        "=IIQQIIQII16s",
        _TYPE_RAW_TRACEPOINT,
        len(_PROGRAM) // 8,
        ctypes.addressof(code),
        ctypes.addressof(licence),
        0,
        0,
        0,
        0,
        0,
        b"probetax",
    )
    try:
        program = _call(_PROG_LOAD, load)
    except OSError as error:
        return missing("bpf", f"BPF programs do not load: {_words(error)}", _cure(error))
    try:
        name = ctypes.create_string_buffer(b"sched_switch")
        link = _call(_RAW_TRACEPOINT_OPEN, struct.pack("=QI4x", ctypes.addressof(name), program))
        os.close(link)
    except OSError as error:
        return missing("bpf", f"BPF programs load, not attach: {_words(error)}", _cure(error))
    finally:
        os.close(program)
    return ok("bpf", "BPF programs load and attach")


def _words(error: OSError) -> str:
    return os.strerror(error.errno or 0)


def _cure(error: OSError) -> str:
    """What to do about the errno of bpf(2)."""
    if isinstance(error, PermissionError):
        if not capabilities() & {"CAP_SYS_ADMIN", "CAP_BPF"}:
            return _GAIN_RIGHTS[os.geteuid() == 0]
        soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        if 0 <= soft < 64 << 20:
            return f"ulimit -l unlimited (now {soft >> 10} KiB), or lockdown/seccomp forbids it"
        return "lockdown, seccomp or a container forbids bpf(2); run on the host"
    if error.errno == 38:
        return "boot a kernel with CONFIG_BPF_SYSCALL"
    return "see the kernel's log"


def check_statistics() -> Check:
    """Whether program statistics can be switched on by file descriptor (since Linux 5.8)."""
    try:
        os.close(kernel.enable_bpf_stats())
    except OSError as error:
        return missing(
            "bpf_statistics",
            f"BPF statistics cannot be switched on: {_words(error)}",
            "run as root; trials with statistics on fail until then",
        )
    return ok("bpf_statistics", "BPF statistics can be switched on")


def check_jit() -> Check:
    """Interpreted programs cost many times more than compiled ones."""
    path = "/proc/sys/net/core/bpf_jit_enable"
    value = number(path)
    if value is None:
        return warn("bpf_jit", f"{path} cannot be read", "run as root to see it")
    if value == 0:
        return warn(
            "bpf_jit",
            "the BPF compiler is off: programs are interpreted",
            "sysctl net.core.bpf_jit_enable=1",
        )
    return ok("bpf_jit", "the BPF compiler is on")


def symbol_address(name: str, path: str = "/proc/kallsyms") -> int | None:
    """Address of a kernel symbol; 0 when the kernel hides it, None when it has none."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            for line in file:
                words = line.split()
                if len(words) >= 3 and words[2] == name:
                    return int(words[0], 16)
    except OSError:
        return None
    return None


def check_kallsyms() -> Check:
    """Whether data symbols resolve, which programs that read kernel variables need."""
    address = symbol_address("kernel_cpustat")
    if address:
        return ok("kallsyms_data", "kernel data symbols resolve (kernel_cpustat)")
    if address == 0:
        if os.geteuid() != 0:
            return warn(
                "kallsyms_data", "kernel data symbols exist; only root sees where", "run as root"
            )
        return missing(
            "kallsyms_data",
            "kernel data symbols exist, their addresses are hidden (kernel.kptr_restrict)",
            "sysctl kernel.kptr_restrict=1",
        )
    return missing(
        "kallsyms_data",
        "kernel data symbols do not resolve (no kernel_cpustat: CONFIG_KALLSYMS_ALL is off)",
        "boot a kernel with CONFIG_KALLSYMS_ALL; Debian's and Ubuntu's have it",
    )
