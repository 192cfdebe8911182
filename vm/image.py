"""The guests' images: a kernel and a root file system, made out of a Debian suite's packages.

An image holds nothing of this project: programs and plan come as further segments at boot. What
went into it is written down (``inputs``), and ``digest`` is the hash of that.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vm import archive, cache, contents, cpio, kernel_image, unpacked
from vm.problem import Problem


@dataclass(frozen=True)
class Suite:
    """A Debian release, by the kernel it has."""

    name: str
    python: str
    gcc: str  # the release whose start-up files and libgcc a program is linked with


SUITES = {"6.1": Suite("bookworm", "python3.11", "12"), "6.12": Suite("trixie", "python3.13", "14")}
GUESTS = [(kernel, architecture) for kernel in SUITES for architecture in archive.DEBIAN]

_RECIPE = ("archive.py", "contents.py", "cpio.py", "elf.py", "image.py", "kernel_image.py",
           "unpacked.py")  # fmt: skip
_SYSROOT = re.compile(
    r"usr/(include|lib/linux/uapi/(x86|arm64))/"
    r"|usr/lib/(gcc/)?[^/]+-linux-gnu/.*"
    r"(\.so(\.\d+)*|crt\w*\.o|lib(c_nonshared|pthread|gcc|gcc_eh|yaml)\.a)$"
    r"|usr/lib(64)?/ld-linux"
)


@dataclass(frozen=True)
class Image:
    """One guest's files. Further segments may be appended to ``initrd`` as they are.

    ``layers`` are segments too: extra packages by name. ``system_map`` holds the bounds of the
    kernel's own code, ``sysroot`` what programs for this guest are compiled against.
    """

    kernel: Path
    initrd: Path
    layers: Mapping[str, Path]
    system_map: Path
    sysroot: Path
    inputs: Mapping[str, Any]
    digest: str


def cached(
    kernel: str, architecture: str, folder: Path | None = None, packages: Iterable[str] = ()
) -> Image | None:
    """The image if it has been made before, in milliseconds; it needs no network."""
    place = _place(kernel, architecture, folder, packages)
    return _read(place) if cache.whole(place) else None


def build(
    kernel: str,
    architecture: str,
    folder: Path | None = None,
    packages: Iterable[str] = (),
    say: Callable[[str], None] = lambda line: None,
) -> Image:
    """The image, made if it was not there: half a minute, 60 MB fetched, 120 MB of disk.

    ``kernel`` is "6.1" or "6.12", ``architecture`` "x86_64" or "aarch64", ``packages`` are Python
    modules of the suite, each a layer of its own. ``say`` gets a line where this takes time. Raises
    ``Problem`` in one line: an unknown guest, no mmdebstrap, no network, no space, no permission.
    """
    place = _place(kernel, architecture, folder, packages)

    def make(work: Path) -> None:
        say(f"making the image of kernel {kernel}, {architecture} (once; about half a minute)")
        _make(kernel, architecture, sorted(set(packages)), work)

    return _read(cache.made(place, make, say))


def _place(kernel: str, architecture: str, folder: Path | None, packages: Iterable[str]) -> Path:
    """Where the image lies: named by a hash of the request and of the code that carries it out."""
    if kernel not in SUITES:
        raise Problem(f"no image has kernel '{kernel}'; known: {', '.join(SUITES)}")
    if architecture not in archive.DEBIAN:
        raise Problem(f"no image is for '{architecture}'; known: {', '.join(archive.DEBIAN)}")
    key = hashlib.sha256(repr(sorted(set(packages))).encode())
    for name in _RECIPE:
        key.update(Path(__file__).with_name(name).read_bytes())
    root = (cache.default() if folder is None else folder) / "images"
    return root / f"{kernel}-{architecture}-{key.hexdigest()[:12]}"


def _read(place: Path) -> Image:
    inputs = json.loads((place / "inputs.json").read_text())
    layers = {name: place / f"{name}.cpio" for name in inputs["layers"]}
    return Image(place / "vmlinuz", place / "initrd.cpio", layers, place / "System.map",
                 place / "sysroot", inputs, digest(inputs))  # fmt: skip


def digest(inputs: Mapping[str, Any]) -> str:
    """SHA-256 of inputs in one fixed form."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def _make(kernel: str, architecture: str, layers: list[str], work: Path) -> None:
    suite = SUITES[kernel]
    fetched = work / "fetched"
    fetched.mkdir()
    # usr-is-merged: else apt would choose usrmerge, and with it the whole of Perl
    sets = {"base": [suite.python, "libbpf1", "procps", "busybox", "libgcc-s1", "usr-is-merged"]}
    sets |= {f"layer-{name}": [name, suite.python, "usr-is-merged"] for name in layers}
    sysroot = ["libc6-dev", "linux-libc-dev", "libbpf-dev", "libelf-dev", "zlib1g-dev",
               "libyaml-dev", f"libgcc-{suite.gcc}-dev"]  # fmt: skip
    found = archive.fetch(
        suite.name,
        architecture,
        sets,
        {"more": ["base-files", "ncurses-base"], "sysroot": sysroot},
        f"linux-image-cloud-{archive.DEBIAN[architecture]}",
        fetched,
    )
    release = _kernel(found["kernel"][0], work)
    held = {package: contents.files(package) for name, packages in found.items()
            if name not in ("kernel", "sysroot") for package in packages}  # fmt: skip
    base = {package: held[package] for package in sorted([*found["base"], *found["more"]])}
    files = contents.base(base, suite.python)
    written = {"initrd.cpio": _segment(work / "initrd.cpio", files)}
    extra: dict[str, list[dict[str, str]]] = {}
    for name in layers:
        packages = {package: held[package] for package in found[f"layer-{name}"]}
        kept = contents.layer(packages, files)
        if not kept:
            raise Problem(f"package {name} of {suite.name} holds nothing for a layer")
        written[f"{name}.cpio"] = _segment(work / f"{name}.cpio", kept)
        extra[name] = [package.identity() for package in contents.used(packages, kept)]
    written["vmlinuz"] = _hash(work / "vmlinuz")
    unpacked.unpack([*found["sysroot"], *found["base"]], work / "sysroot", _SYSROOT)
    inputs = {
        "kernel": kernel,
        "architecture": architecture,
        "suite": suite.name,
        "kernel_release": release,
        "packages": [
            package.identity() for package in [*contents.used(base, files), found["kernel"][0]]
        ],
        "layers": extra,
        "sysroot": [package.identity() for package in found["sysroot"]],
        "files": written,
    }
    (work / "inputs.json").write_text(json.dumps(inputs, indent=1, sort_keys=True) + "\n")
    shutil.rmtree(fetched)


def _kernel(package: archive.Package, work: Path) -> str:
    """Writes the boot file and the bounds of its code; returns the kernel's release."""
    for name, _, data in archive.members(package):
        if name.startswith("boot/vmlinuz-"):
            (work / "vmlinuz").write_bytes(data)
            (work / "System.map").write_text(kernel_image.system_map(data))
            return name.removeprefix("boot/vmlinuz-")
    raise Problem(f"package {package.name} holds no kernel")


def _segment(path: Path, files: contents.Files) -> str:
    with path.open("wb") as out:
        cpio.write(out, files.values())
    return _hash(path)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
