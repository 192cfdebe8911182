"""Builds the disk image: Debian packages, then ``vm/provision.sh`` in the new system, then ext4.

Neither root nor loop devices nor mounts are needed: mmdebstrap makes the tree (as another user's
root in a user namespace where we are not root), mke2fs fills a file with it. The kernel is booted
directly, so there is no boot loader and no partition. Everything is installed here: the machine
itself needs no network.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vm.disk import DiskError, clone
from vm.disk.child import dies_with_us

ROOT = Path(__file__).resolve().parents[2]
GUEST = Path(__file__).parent / "guest"
SUITE = "bookworm"
#: The suite's Python and libc: which wheels its pip can install.
PYTHON, GLIBC_MINOR = "3.11", 36
DEBIAN_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
SIZE_GB = 8  # sparse: what is not written takes no room
_FREE_GB = 9
#: A whole machine with a kernel, its headers and sudo; everything else is provision.sh's to install.
_SYSTEM = (
    "systemd-sysv", "udev", "dbus", "libpam-systemd", "kmod", "initramfs-tools", "sudo",
    "ca-certificates",
)  # fmt: skip
_TOOLS = {"mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs"}

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Disk:
    """A built image and what boots it."""

    file: Path
    kernel: Path
    initrd: Path
    architecture: str


def packages(architecture: str) -> list[str]:
    """What mmdebstrap installs, for the guest's architecture."""
    cloud = f"cloud-{DEBIAN_ARCHITECTURES[architecture]}"
    return [*_SYSTEM, f"linux-image-{cloud}", f"linux-headers-{cloud}"]


def key(architecture: str) -> str:
    """Names an image by what it is made from. The clone itself comes in anew at each boot."""
    parts = [SUITE, architecture, *packages(architecture), str(SIZE_GB)]
    digest = hashlib.sha256("\n".join(parts).encode())
    made_by = [ROOT / "vm" / "packages.sh", ROOT / "requirements.lock", Path(__file__)]
    for file in [*made_by, *sorted(GUEST.iterdir())]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Where images are kept: ``$XDG_CACHE_HOME/probetax``, else ``~/.cache/probetax``."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "probetax"


def find(cache: Path, architecture: str | None = None) -> Disk | None:
    """The image if it has been built from the present inputs."""
    architecture = architecture or platform.machine()
    folder = cache / f"disk-{key(architecture)}"
    disk = Disk(folder / "disk.img", folder / "vmlinuz", folder / "initrd", architecture)
    return disk if disk.file.exists() else None


def build(cache: Path, tell: Tell = print) -> Disk:
    """The image of this machine's architecture, built unless the cache has it.

    Raises DiskError: a tool is missing, the disk is full, or a step failed, with its last words.
    """
    architecture = platform.machine()
    if architecture not in DEBIAN_ARCHITECTURES:
        raise DiskError(f"{architecture} is not supported: use x86-64 or aarch64")
    _need_tools()
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiskError(f"cannot write to {cache} ({error.strerror}): set XDG_CACHE_HOME") from None
    with _locked(cache / "disk.lock", tell):
        found = find(cache, architecture)
        if found:
            return found
        _remove_old(cache)
        if shutil.disk_usage(cache).free < _FREE_GB * 10**9:
            raise DiskError(f"{cache} has less than {_FREE_GB} GB free: free some, or set XDG_CACHE_HOME")
        work = Path(tempfile.mkdtemp(prefix="disk-making-", dir=cache))
        try:
            work.chmod(0o755)  # mmdebstrap's other user passes through
            _make(work, architecture, tell)
            (work / "made").rename(cache / f"disk-{key(architecture)}")
        finally:
            _remove_tree(work)
    made = find(cache, architecture)
    assert made is not None
    return made


def _need_tools() -> None:
    for tool, package in _TOOLS.items():
        if which(tool) is None:
            raise DiskError(f"{tool} is missing: apt-get install {package}")


def which(tool: str) -> str | None:
    """Where a tool is; sbin is on no ordinary user's path."""
    return shutil.which(tool, path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")


@contextlib.contextmanager
def _locked(path: Path, tell: Tell) -> Iterator[None]:
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("another build is under way: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_old(cache: Path) -> None:
    """What a killed build left, and images of earlier inputs: they are some 3 GB each."""
    for folder in cache.glob("disk-*"):
        if folder.is_dir():
            _remove_tree(folder)


def _make(work: Path, architecture: str, tell: Tell) -> None:
    made = work / "made"
    made.mkdir()
    tell("fetching the locked Python packages …")
    wheels = work / "wheels"
    _step(pip_command(wheels, architecture), work / "log", "pip download")
    project = work / "clone.tar"
    clone.write(ROOT, project)
    tell(f"installing Debian {SUITE} and setting it up by vm/provision.sh …")
    _step(mmdebstrap_command(work, architecture), work / "log", "mmdebstrap")
    tell("filling the disk image …")
    tree = work / "root"
    for name, pattern in (("vmlinuz", "vmlinuz-*"), ("initrd", "initrd.img-*")):
        (found,) = (tree / "boot").glob(pattern)
        _step([*_helper(), "cp", str(found), str(work / name)], work / "log", "cp")
        shutil.copyfile(work / name, made / name)
    words = [which("mke2fs") or "mke2fs", "-q", "-t", "ext4", "-L", "probetax", "-d", str(tree)]
    image = work / "disk.img"
    with open(image, "wb") as file:
        file.truncate(SIZE_GB * 10**9 // 4096 * 4096)
    image.chmod(0o666)  # written by mmdebstrap's other user
    _step([*_helper(), *words, str(image)], work / "log", "mke2fs")
    image.chmod(0o644)
    image.rename(made / "disk.img")


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


def mmdebstrap_command(work: Path, architecture: str) -> list[str]:
    """Make the tree below ``work/root``; hooks set it up from inside."""
    home = "/home/probetax/probetax"
    hooks = [
        f'mkdir -p "$1{home}" "$1/var/cache/probetax"',
        f"tar-in '{work / 'clone.tar'}' {home}",
        f"sync-in '{work / 'wheels'}' /var/cache/probetax",
        f'chroot "$1" /bin/bash {home}/vm/disk/guest/set-up',
    ]
    return [
        *("mmdebstrap", "--variant=minbase", f"--architectures={DEBIAN_ARCHITECTURES[architecture]}"),
        *(f"--include={','.join(packages(architecture))}", "--format=directory"),
        *("--aptopt=APT::Install-Recommends false", "--dpkgopt=path-exclude=/usr/share/doc/*"),
        *(f"--mode={'root' if os.geteuid() == 0 else 'unshare'}",),
        *(f"--customize-hook={hook}" for hook in hooks),
        *(SUITE, str(work / "root"), *_mirror()),
    ]


def _mirror() -> list[str]:
    """The host's own sources where they are of the same suite; else mmdebstrap's default."""
    for place in ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"):
        with contextlib.suppress(OSError):
            words = Path(place).read_text(encoding="utf-8").split()
            if SUITE in words and any("debian" in word for word in words):
                return [place]
    return []


def _helper() -> list[str]:
    """What lets somebody who is not root read the tree that mmdebstrap made."""
    return [] if os.geteuid() == 0 else ["mmdebstrap", "--unshare-helper"]


def _step(words: Sequence[str], log: Path, name: str) -> None:
    """Run to the end; its output goes to the log. Raises DiskError with its last words."""
    with open(log, "ab") as file:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=file, stderr=file, preexec_fn=dies_with_us
        )
    if done.returncode:
        said = log.read_text(errors="replace").strip().splitlines()[-12:]
        raise DiskError("\n".join([*said, f"{name} failed (exit {done.returncode})"]))


def _remove_tree(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=os.geteuid() != 0)
    if folder.exists():
        subprocess.run([*_helper(), "rm", "-rf", str(folder / "root")], stdin=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)
