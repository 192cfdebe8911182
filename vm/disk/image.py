"""Builds the disk image: Debian packages, then ``vm/provision.sh`` in the new system, then ext4.

Neither loop devices nor mounts of ours are needed: mmdebstrap makes the tree (where we are not
root, as root of a user namespace), mke2fs fills a file with it. The kernel is booted directly, so
there is no boot loader and no partition. Everything is installed here: the machine itself needs no
network.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vm import archive, cache, command
from vm.disk import clone
from vm.problem import Problem

ROOT = Path(__file__).resolve().parents[2]
GUEST = Path(__file__).parent / "guest"
HOME = "/home/probetax/probetax"
SUITE = "bookworm"
#: The suite's Python and libc: which wheels its pip can install.
PYTHON, GLIBC_MINOR = "3.11", 36
SIZE_GB = 8  # sparse: what is not written takes no room
_FREE_GB = 9
#: A machine with a kernel, its headers and sudo; everything else is provision.sh's to install.
_SYSTEM = (
    "systemd-sysv", "udev", "dbus", "libpam-systemd", "kmod", "initramfs-tools", "sudo",
    "ca-certificates",
)  # fmt: skip

Say = Callable[[str], None]


@dataclass(frozen=True)
class Disk:
    """A built image and what boots it."""

    file: Path
    kernel: Path
    initrd: Path
    architecture: str


def packages(architecture: str) -> list[str]:
    """What mmdebstrap installs, for the guest's architecture."""
    cloud = f"cloud-{archive.DEBIAN[architecture]}"
    return [*_SYSTEM, f"linux-image-{cloud}", f"linux-headers-{cloud}"]


def key(architecture: str) -> str:
    """Names an image by what it is made from. The clone itself comes in anew at each boot."""
    parts = [SUITE, architecture, *packages(architecture), str(SIZE_GB)]
    digest = hashlib.sha256("\n".join(parts).encode())
    made_by = [ROOT / "vm" / "packages.sh", ROOT / "requirements.lock", Path(__file__)]
    for file in [*made_by, GUEST / "set-up", GUEST / "run-job", GUEST / "probetax-job.service"]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def build(folder: Path | None = None, say: Say = print) -> Disk:
    """The image of this machine's architecture, made unless it is there: minutes, 2 GB.

    Raises Problem: a tool is missing, the disk is full, or a step failed, with its last words.
    """
    architecture = platform.machine()
    if architecture not in archive.DEBIAN:
        raise Problem(f"{architecture} is not supported: use x86-64 or aarch64")
    disks = (cache.default() if folder is None else folder) / "disks"
    place = disks / f"{SUITE}-{architecture}-{key(architecture)}"
    cache.made(place, lambda work: _make(work, architecture, say), say)
    for other in disks.iterdir():  # of earlier inputs, 2 GB each
        if other.is_dir() and other != place:
            shutil.rmtree(other, ignore_errors=True)
    return Disk(place / "disk.img", place / "vmlinuz", place / "initrd", architecture)


def _make(work: Path, architecture: str, say: Say) -> None:
    mkfs = command.need("mke2fs", "e2fsprogs")
    mmdebstrap = command.need("mmdebstrap", "mmdebstrap")
    if shutil.disk_usage(work).free < _FREE_GB * 10**9:
        raise Problem(
            f"{work.parent} has less than {_FREE_GB} GB free: free some, or set XDG_CACHE_HOME"
        )
    work.chmod(0o755)  # in a user namespace, mmdebstrap is somebody else
    log, tree, image = work / "log", work / "tree", work / "disk.img"
    try:
        say("fetching the locked Python packages …")
        (work / "wheels").mkdir()
        _step(pip_command(work / "wheels", architecture), log, "pip download")
        clone.write(ROOT, work / "clone.tar")
        (work / "apt.conf").write_text(archive.transport())
        say(f"installing Debian {SUITE} and setting it up by vm/provision.sh …")
        _step([mmdebstrap, *mmdebstrap_arguments(work, architecture)], log, "mmdebstrap")
        say("filling the disk image …")
        for name, pattern in (("vmlinuz", "vmlinuz-*"), ("initrd", "initrd.img-*")):
            (found,) = (tree / "boot").glob(pattern)
            shutil.copyfile(found, work / name)
        with open(image, "wb") as file:
            file.truncate(SIZE_GB * 10**9 // 4096 * 4096)
        image.chmod(0o666)
        fill = [mkfs, "-q", "-t", "ext4", "-L", "probetax", "-d", str(tree), str(image)]
        _step([*_helper(), *fill], log, "mke2fs")
        image.chmod(0o644)
    finally:
        _remove_tree(tree)
    shutil.rmtree(work / "wheels")
    for left in ("clone.tar", "apt.conf", "log"):
        (work / left).unlink()


def pip_command(target: Path, architecture: str) -> list[str]:
    """Fetch every locked wheel for the guest's Python, by the host's own mirror settings."""
    tags = [f"manylinux_2_{minor}_{architecture}" for minor in range(GLIBC_MINOR, 4, -1)]
    tags += [f"manylinux{year}_{architecture}" for year in ("2014", "2010", "1")]
    platforms = [word for tag in tags for word in ("--platform", tag)]
    return [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps"),
        *("--only-binary=:all:", "--implementation", "cp", "--python-version", PYTHON, *platforms),
        *("--dest", str(target), "--requirement", str(ROOT / "requirements.lock")),
    ]


def mmdebstrap_arguments(work: Path, architecture: str) -> list[str]:
    """Make the tree below ``work/tree``; hooks set it up from inside."""
    hooks = [
        f'mkdir -p "$1{HOME}" "$1/var/cache/probetax"',
        f"tar-in {shlex.quote(str(work / 'clone.tar'))} {HOME}",
        f"sync-in {shlex.quote(str(work / 'wheels'))} /var/cache/probetax",
        f'chroot "$1" /bin/bash {HOME}/vm/disk/guest/set-up',
    ]
    return [
        *("--variant=minbase", f"--architectures={archive.DEBIAN[architecture]}"),
        *(f"--include={','.join(packages(architecture))}", "--format=directory"),
        *(f"--aptopt={work / 'apt.conf'}", "--aptopt=APT::Install-Recommends false"),
        *("--dpkgopt=path-exclude=/usr/share/doc/*",),
        *(f"--mode={'root' if os.geteuid() == 0 else 'unshare'}",),
        *(f"--customize-hook={hook}" for hook in hooks),
        *(SUITE, str(work / "tree"), *archive.mirrors(SUITE)),
    ]


def _helper() -> list[str]:
    """What lets somebody who is not root read and remove the tree that mmdebstrap made."""
    return [] if os.geteuid() == 0 else ["mmdebstrap", "--unshare-helper"]


def _step(words: Sequence[str], log: Path, name: str) -> None:
    """Run to the end; its output goes to the log. Raises Problem with its last words."""
    status = command.run(words, log)
    if status:
        said = log.read_text(errors="replace").strip().splitlines()[-12:]
        raise Problem("\n".join([*(f"  | {line}" for line in said), f"{name} failed ({status})"]))


def _remove_tree(tree: Path) -> None:
    if tree.exists() and os.geteuid() != 0:
        subprocess.run([*_helper(), "rm", "-rf", str(tree)], stdin=subprocess.DEVNULL)
    shutil.rmtree(tree, ignore_errors=True)
