"""The compiler of the guests' programs: one version of it, the same on every host.

It is Debian 12's clang, unpacked rather than installed and started by the C library it was built
for, so that a host with Ubuntu, or with another clang, builds the same bytes. clang compiles for
every architecture and for BPF.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vm import archive, cache, unpacked
from vm.problem import Problem

_SUITE = "bookworm"
_LLVM = "14"
_PACKAGES = [f"clang-{_LLVM}", f"lld-{_LLVM}", f"libllvm{_LLVM}", f"libclang-cpp{_LLVM}",
             f"libclang-common-{_LLVM}-dev", "libz3-4", "libc6", "libgcc-s1", "libstdc++6",
             "libffi8", "libedit2", "libbsd0", "libmd0", "libtinfo6", "libxml2", "libicu72",
             "liblzma5", "libzstd1", "zlib1g"]  # fmt: skip
_KEPT = re.compile(
    rf"usr/lib/llvm-{_LLVM}/(bin/(clang|lld|ld\.lld)(-{_LLVM})?$|lib/clang/[^/]+/include/)"
    r"|usr/lib/[^/]+-linux-gnu/[^/]+\.so[.\d]*$|usr/lib(64)?/ld-linux[^/]*$"
)
# called with $GUEST_TARGET and $GUEST_SYSROOT; paths of this machine stay out of the result
_RUN = """#!/bin/sh
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
run() { exec "$root/usr/LOADER" --library-path "$root/usr/lib/HOST" "$@"; }
"""
_LINK = _RUN + 'run --argv0 ld.lld "$root/usr/lib/llvm-LLVM/bin/lld" "$@"\n'
# to compile and link in one step, clang starts itself: by the name that it was called by
_COMPILE = (
    _RUN
    + """llvm=$root/usr/lib/llvm-LLVM
[ "$1" != -cc1 ] || run --argv0 "$0" "$llvm/bin/clang" "$@"
run --argv0 "$0" "$llvm/bin/clang" -no-canonical-prefixes --sysroot="$GUEST_SYSROOT" \\
  -resource-dir "$llvm/lib/clang/RELEASE" -ffile-prefix-map="$PWD=." \\
  -ffile-prefix-map="$GUEST_SYSROOT=/sysroot" -ffile-prefix-map="$root=/toolchain" OPTIONS "$@"
"""
)
_NATIVE = '-Qunused-arguments --target="$GUEST_TARGET" --ld-path="$root/bin/guest-ld"'
_BPF = '-isystem "$GUEST_SYSROOT/usr/include/$GUEST_TARGET" -isystem "$GUEST_SYSROOT/usr/include"'


def build(
    folder: Path | None = None, say: Callable[[str], None] = lambda line: None
) -> tuple[Path, list[dict[str, Any]]]:
    """A folder with ``guest-cc`` and ``guest-clang``, and the packages that they are made of.

    Made once: 60 MB fetched, 220 MB of disk. Raises ``Problem`` as ``image.build`` does.
    """
    host = platform.machine()
    if host not in archive.DEBIAN:
        raise Problem(f"guests' programs can be built on x86_64 and aarch64, not on {host}")
    key = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    root = (cache.default() if folder is None else folder) / "toolchains"
    place = root / f"clang-{_LLVM}-{host}-{key}"

    def make(work: Path) -> None:
        say(f"fetching the guests' compiler, clang {_LLVM} (once)")
        _make(host, work)

    cache.made(place, make, say)
    return place / "bin", json.loads((place / "packages.json").read_text())


def _make(host: str, work: Path) -> None:
    fetched = work / "fetched"
    fetched.mkdir()
    found = archive.fetch(_SUITE, host, {}, {"toolchain": _PACKAGES}, None, fetched)
    unpacked.unpack(found["toolchain"], work, _KEPT)
    (work / "bin").unlink()  # the usual link; our own folder instead
    (work / "bin").mkdir()
    loader = next((work / "usr").glob("lib*/ld-linux*"))
    release = next((work / f"usr/lib/llvm-{_LLVM}/lib/clang").iterdir())
    scripts = {
        "guest-ld": _LINK,
        "guest-cc": _COMPILE.replace("OPTIONS", _NATIVE),
        "guest-clang": _COMPILE.replace("OPTIONS", _BPF),
    }
    for name, text in scripts.items():
        text = text.replace("LOADER", str(loader.relative_to(work / "usr")))
        text = text.replace("HOST", f"{host}-linux-gnu")
        text = text.replace("LLVM", _LLVM).replace("RELEASE", release.name)
        (work / "bin" / name).write_text(text)
        (work / "bin" / name).chmod(0o755)
    identities = [package.identity() for package in found["toolchain"]]
    (work / "packages.json").write_text(json.dumps(identities, indent=1) + "\n")
    shutil.rmtree(fetched)
