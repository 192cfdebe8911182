"""What collectors expect to find mounted, in mounts that belong to the runner alone.

tracefs and debugfs are often not mounted; BCC wants kernel headers under ``/lib/modules``. All of
it is set up in a private mount namespace, which the kernel drops with the last process in it:
the machine's own mounts never change.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from experiment import kernel

_FILE_SYSTEMS = (("tracefs", "/sys/kernel/tracing"), ("debugfs", "/sys/kernel/debug"))


def prepare() -> list[str]:
    """Enter a private mount namespace and mount what is missing.

    Returns one line per thing that could not be had. Without the right to do so nothing changes:
    collectors that need it will report the kernel's reason themselves.
    """
    try:
        kernel.private_mounts()
    except OSError as error:
        return [f"no private mounts ({error.strerror}); tracefs must be mounted already"]
    warnings: list[str] = []
    for kind, target in _FILE_SYSTEMS:
        if not _mounted(target):
            try:
                kernel.mount(kind, target, kind)
            except OSError as error:
                warnings.append(str(error.strerror))
    try:
        _offer_headers()
    except OSError as error:
        warnings.append(f"kernel headers could not be offered to BCC: {error.strerror}")
    return warnings


def _mounted(target: str) -> bool:
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        return any(line.split(" ", 5)[4] == target for line in file)


def other_kernel_headers() -> tuple[Path, Path] | None:
    """(build, source) folders of any installed Debian headers of this architecture, or None.

    Debian splits headers into an architecture folder and a ``-common`` one; Ubuntu's generic
    folder holds both.
    """
    suffix = {"x86_64": ("-amd64", "-generic"), "aarch64": ("-arm64", "-generic")}
    root = Path("/usr/src")
    for build in sorted(root.glob("linux-headers-*"), reverse=True):
        if not build.name.endswith(suffix.get(platform.machine(), ())):
            continue
        common = build.with_name(build.name.rsplit("-", 1)[0] + "-common")
        return build, common if common.is_dir() else build
    return None


def _offer_headers() -> None:
    """Point ``/lib/modules/<this kernel>`` at headers when the kernel has none of its own."""
    release = os.uname().release
    modules = Path("/lib/modules")
    if (modules / release / "build").exists():
        return
    found = other_kernel_headers()
    if found is None or not modules.is_dir():
        return
    kernel.mount("tmpfs", str(modules), "tmpfs")
    (modules / release).mkdir()
    (modules / release / "build").symlink_to(found[0])
    (modules / release / "source").symlink_to(found[1])
