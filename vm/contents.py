"""What of a suite's packages goes into a guest: Python, top, a shell, and the libraries they need.

A layer adds a package's Python modules, or mpstat.

All else is left out: guests unpack the image into memory, and smaller is sooner. Libraries are
found by following what each kept program asks for, so no list of them has to be kept up to date.
"""

from __future__ import annotations

import posixpath
import re
import stat
from collections.abc import Iterable, Mapping

from vm import archive, cpio, elf
from vm.archive import Package
from vm.problem import Problem

_MERGED = ("bin", "sbin", "lib", "lib64")  # links to the folders of that name in usr/
_KEPT = re.compile(
    r"usr/bin/(python3(\.\d+)?|top|busybox)$"
    r"|usr/lib/python3\.\d+/"
    r"|usr/(lib|share)/terminfo/d/dumb$"  # without it top ends at once and says nothing
    r"|usr/lib/os-release$|etc/(os-release|debian_version)$"
)
_LAYER_KEPT = re.compile(r"usr/lib/python3/dist-packages/\w+/|usr/bin/mpstat$")
# of Python's library: what no runner imports, or what would draw in large libraries
_SPARED = re.compile(
    r"/(__pycache__|tests?|idlelib|lib2to3|tkinter|ensurepip|distutils|venv|pydoc_data|turtledemo"
    r"|config-[^/]*|EXTERNALLY-MANAGED|LICENSE\.txt|sitecustomize\.py)(/|$)"
    r"|/lib-dynload/(_bz2|_codecs_\w+|_crypt|_ctypes_test|_curses\w*|_dbm|_decimal|_gdbm|_hashlib"
    r"|_lzma|_sqlite3|_ssl|_test\w*|_tkinter|_uuid|_xx\w*|_zstd|nis|readline|xx\w*)\."
)
# what the project's own programs are linked to, and what glibc loads when a thread is cancelled
_LIBRARIES = ("libbpf.so.1", "libelf.so.1", "libz.so.1", "libgcc_s.so.1")
_EMPTY = ("dev", "proc", "root", "run", "sys", "tmp", "usr/lib64", "usr/sbin")

Files = dict[str, cpio.Entry]


def files(package: Package) -> Files:
    """Its files and links, by the name that each gets in the guest; folders come by themselves."""
    found: Files = {}
    for name, member, data in archive.members(package):
        to = merged(name)
        if member.issym() and name not in _MERGED:
            found[to] = cpio.symlink(to, link_target(name, member.linkname))
        elif member.isreg() or member.islnk():
            found[to] = cpio.file(to, data, member.mode & 0o777)
    return found


def base(held: Mapping[Package, Files], python: str) -> Files:
    """The entries of the first segment, by name. ``python`` is the interpreter's file name."""
    found = _all(held)
    kept = {name: entry for name, entry in found.items() if _KEPT.match(name)}
    kept = {name: entry for name, entry in kept.items() if not _SPARED.search(name)}
    kept |= {name: cpio.symlink(name, f"usr/{name}") for name in _MERGED}
    kept |= {name: cpio.directory(name) for name in _EMPTY}
    own = [
        cpio.symlink("usr/bin/python3", python),
        cpio.symlink("usr/bin/sh", "busybox"),
        cpio.character_device("dev/console", 5, 1),
        cpio.character_device("dev/null", 1, 3, 0o666),
        cpio.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n"),
        cpio.file("etc/group", b"root:x:0:\n"),
    ]
    kept |= {entry.name: entry for entry in own}
    for needs in (f"usr/bin/{python}", "usr/bin/top", "usr/bin/busybox", "terminfo/d/dumb"):
        if not any(name.endswith(needs) for name in kept):
            raise Problem(f"none of the suite's packages holds {needs}")
    return kept | _libraries(kept, found, _LIBRARIES)


def layer(held: Mapping[Package, Files], below: Files) -> Files:
    """Python modules and programs of packages, with the libraries not ``below`` already."""
    found = _all(held)
    kept = {
        name: entry
        for name, entry in found.items()
        if _LAYER_KEPT.match(name) and not _SPARED.search(name)
    }
    kept |= _libraries(kept, found, ())
    return {name: entry for name, entry in kept.items() if name not in below}


def used(held: Mapping[Package, Files], kept: Files) -> list[Package]:
    """Those packages that something ``kept`` comes from: newer ones of the rest change nothing."""
    return [package for package, found in held.items() if not found.keys().isdisjoint(kept)]


def merged(name: str) -> str:
    """The name below usr/ of what an older package still puts below /bin or /lib."""
    return f"usr/{name}" if name.split("/")[0] in _MERGED else name


def link_target(name: str, target: str) -> str:
    """The target of a symbolic link that has moved along with what it points to."""
    to = merged(posixpath.normpath(posixpath.join("/", posixpath.dirname(name), target)).strip("/"))
    here, there = posixpath.dirname(merged(name)), posixpath.dirname(to)
    return posixpath.basename(to) if here == there else f"/{to}"


def _all(held: Mapping[Package, Files]) -> Files:
    return {name: entry for found in held.values() for name, entry in found.items()}


def _libraries(kept: Files, found: Files, wanted: Iterable[str]) -> Files:
    """All that ``kept`` and ``wanted`` need, and what that needs in turn."""
    folders = sorted({posixpath.dirname(name) for name in found if ".so" in name})
    folders = [name for name in folders if re.fullmatch(r"usr/lib(64|/[\w]+-linux-gnu)?", name)]
    libraries: Files = {}
    asked = set(wanted)
    looked_at: set[str] = set()
    fresh = list(kept.values())
    while fresh or asked:
        for entry in fresh:
            asked |= set(elf.needed(entry.data))
        fresh = []
        for name in sorted(asked - looked_at):  # a loader is asked for by its path
            within = [""] if "/" in name else [f"{folder}/" for folder in folders]
            fresh += _chain([folder + name.strip("/") for folder in within], found)
        looked_at |= asked
        asked = set()
        libraries |= {entry.name: entry for entry in fresh}
    return libraries


def _chain(places: Iterable[str], found: Files) -> list[cpio.Entry]:
    """The first of ``places`` that exists, by way of the links that lead to it."""
    name = next((merged(place) for place in places if merged(place) in found), "")
    chain: list[cpio.Entry] = []
    while name in found and len(chain) < 10:
        chain.append(found[name])
        if not stat.S_ISLNK(found[name].mode):
            break
        name = merged(posixpath.join(posixpath.dirname(name), found[name].data.decode()).strip("/"))
    return chain
