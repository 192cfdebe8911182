"""What collectors are built with and lean on: tools, headers, BCC, tracefs."""

from __future__ import annotations

import os
import platform
import re
import shutil
import signal
import subprocess

from experiment import kernel, mounts
from experiment.probes import Check, missing, ok, read, warn

_TRACEFS = "/sys/kernel/tracing"
_TOOLS = {"clang": "clang", "gcc": "gcc", "make": "make", "bpftool": "bpftool"}


def distribution() -> dict[str, str]:
    """os-release(5): ID, VERSION_ID, PRETTY_NAME and the rest; empty when there is no file."""
    values: dict[str, str] = {}
    for line in (read("/etc/os-release") or read("/usr/lib/os-release") or "").splitlines():
        key, equals, value = line.partition("=")
        if equals:
            values[key] = value.strip("\"'")
    return values


def headers_package(release: str | None = None) -> str:
    """The package that holds this kernel's headers, or the nearest one for a foreign kernel."""
    release = release or os.uname().release
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    if distribution().get("ID") == "ubuntu":
        if re.fullmatch(r"\d+\.\d+\.\d+-\d+-[a-z0-9-]+", release):
            return f"linux-headers-{release}"
        return "linux-headers-generic"
    if re.search(rf"-{machine}$", release):
        return f"linux-headers-{release}"
    return f"linux-headers-{machine}"


def check_headers() -> Check:
    """Headers of this kernel, of another one that can stand in, or none."""
    release = os.uname().release
    if os.path.exists("/sys/kernel/kheaders.tar.xz"):
        return ok("headers", "the kernel carries its own headers")
    build = f"/lib/modules/{release}/build"
    package = headers_package(release)
    if os.path.exists(build):
        folder = os.path.realpath(build)
        if release in folder or release.rsplit("-", 1)[0] in folder:
            return ok("headers", f"kernel headers of {release}")
        return warn("headers", f"headers of another kernel at {build}: {folder}", _install(package))
    other = mounts.other_kernel_headers()
    if other is not None:
        return warn(
            "headers",
            f"no headers of {release}; BCC is given those of {other[0].name}",
            _install(package),
        )
    return missing("headers", f"no kernel headers of {release}", _install(package))


def _install(package: str) -> str:
    return f"apt-get install {package}"


def check_bcc(system_python: str) -> Check:
    """Whether the system's Python can import BCC; it is no PyPI package."""
    if not os.access(system_python, os.X_OK):
        return missing("bcc", f"no {system_python}", "apt-get install python3 python3-bpfcc")
    words = [system_python, "-I", "-c", "import bcc; print(bcc.__version__)"]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            env={"PATH": os.defpath, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        return missing("bcc", f"{system_python} takes over 30 s to import bcc", "try again")
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else f"exit {done.returncode}"
        return missing(
            "bcc", f"{system_python} cannot import bcc ({reason})", _install("python3-bpfcc")
        )
    version = done.stdout.decode(errors="replace").strip()
    return ok("bcc", f"BCC {version} in {system_python}")


def check_mpstat() -> Check:
    """sysstat's mpstat, a rival of the per-core collectors."""
    found = shutil.which("mpstat")
    if found:
        return ok("mpstat", f"mpstat is {found}")
    return missing("mpstat", "mpstat is not installed", _install("sysstat"))


def check_tools(build: str | None) -> Check:
    """The compilers; once the collectors are built nothing needs them."""
    absent = [tool for tool in _TOOLS if tool_path(tool) is None]
    if not absent:
        return ok("tools", ", ".join(_TOOLS))
    words = f"not installed: {', '.join(absent)}"
    if build is not None and _built(build):
        return warn("tools", f"{words}; the collectors are built already", "none needed")
    packages = " ".join(_TOOLS[tool] for tool in absent)
    return missing("tools", words, f"{_install(packages)} (./study does it)")


def tool_path(name: str) -> str | None:
    """Where a tool is, sbin included; None when it is not installed."""
    return shutil.which(name, path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")


def _built(folder: str) -> list[str]:
    try:
        return [
            entry.name
            for entry in os.scandir(folder)
            if entry.is_file() and os.access(entry.path, os.X_OK)
        ]
    except OSError:
        return []


def check_collectors(build: str) -> Check:
    """Whether the collectors have been built."""
    programs = _built(build)
    if programs:
        return ok("collectors", f"{len(programs)} programs in {build}")
    return missing("collectors", f"no collectors in {build}", "make -C bpf (./study does it)")


def check_tracefs() -> Check:
    """Whether tracefs is mounted, or could be: tried in a child with mounts of its own."""
    if os.path.exists(f"{_TRACEFS}/events"):
        return ok("tracefs", f"mounted at {_TRACEFS}")
    try:
        os.listdir(_TRACEFS)
    except PermissionError:
        return warn("tracefs", f"{_TRACEFS} may not be read by this user", "run as root")
    except OSError as error:
        return missing("tracefs", f"{_TRACEFS}: {error.strerror}", "boot a kernel with tracefs")
    code = _mount_in_child()
    if code == 0:
        return ok("tracefs", "not mounted, can be: the runner mounts it for itself alone")
    return missing(
        "tracefs",
        f"not mounted at {_TRACEFS} and cannot be: {os.strerror(code)}",
        f"mount -t tracefs tracefs {_TRACEFS} (as root)",
    )


def _mount_in_child() -> int:
    """errno of mounting tracefs in a child; its mount namespace ends with it."""
    pid = os.fork()
    if pid == 0:
        code = 255
        try:
            signal.alarm(10)
            kernel.private_mounts()
            kernel.mount("tracefs", _TRACEFS, "tracefs")
            code = 0 if os.path.exists(f"{_TRACEFS}/events") else 2
        except OSError as error:
            code = error.errno or 255
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
