"""A tiny suite of real packages, with a mmdebstrap and an apt that know no other.

The hook that image.py hands to mmdebstrap is run as it is; only the archive behind it is small.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.vm.test_kernel_image import arm64, bzimage
from vm import cpio

KERNEL = "linux-image-6.1.0-9-cloud-amd64"
PYTHON = Path("/bin/true").resolve()  # an ELF file that needs libc and the loader
LOADER = next(Path("/").glob("lib*/ld-linux*"))
TRIPLET = "x86_64-linux-gnu"

# Each package: the files that it holds. The oddities are those of Debian 12.
PACKAGES: dict[str, dict[str, bytes | cpio.Entry]] = {
    "python3.11": {
        "usr/bin/python3.11": PYTHON.read_bytes(),
        "usr/lib/python3.11/os.py": b"import sys\n",
        "usr/lib/python3.11/test/test_os.py": b"pass\n",
        "usr/lib/python3.11/lib-dynload/_ssl.so": b"not needed\n",
        "usr/share/doc/python3.11/copyright": b"long\n",
    },
    "libc6": {
        # before Debian 13, still below /lib: an absolute and a relative link
        f"lib/{TRIPLET}/libc.so.6": cpio.symlink("x", "libc-2.36.so"),
        f"lib/{TRIPLET}/libc-2.36.so": b"the C library\n",
        str(LOADER).lstrip("/"): cpio.symlink("x", f"/lib/{TRIPLET}/ld.so"),
        f"lib/{TRIPLET}/ld.so": b"the loader\n",
        f"lib/{TRIPLET}/libspare.so.1": b"nothing asks for it\n",
    },
    "libbpf1": {f"usr/lib/{TRIPLET}/libbpf.so.1": b"libbpf\n"},
    "procps": {"usr/bin/top": b"top\n", "usr/bin/ps": b"ps\n"},
    "busybox": {"bin/busybox": b"busybox\n"},
    "libgcc-s1": {f"lib/{TRIPLET}/libgcc_s.so.1": b"gcc\n"},
    "usr-is-merged": {"usr/share/doc/usr-is-merged/copyright": b"short\n"},
    "base-files": {
        "usr/lib/os-release": b"ID=debian\n",
        "etc/os-release": cpio.symlink("x", "../usr/lib/os-release"),
    },
    "ncurses-base": {"lib/terminfo/d/dumb": b"dumb\n"},
    "python3-psutil": {"usr/lib/python3/dist-packages/psutil/__init__.py": b"x = 1\n"},
    "sysstat": {"usr/bin/mpstat": b"mpstat\n", "usr/bin/sar": b"sar\n"},
    "python3-empty": {"usr/share/doc/python3-empty/copyright": b"nothing else\n"},
    "libc6-dev": {"usr/include/stdio.h": b"int puts(const char *);\n"},
    "linux-libc-dev": {"usr/include/linux/bpf.h": b"\n"},
    "libbpf-dev": {f"usr/lib/{TRIPLET}/libbpf.so": cpio.symlink("x", "libbpf.so.1")},
    "libelf-dev": {f"usr/lib/{TRIPLET}/libelf.a": b"static: left out\n"},
    "zlib1g-dev": {f"usr/lib/{TRIPLET}/libz.so": cpio.symlink("x", f"/lib/{TRIPLET}/libz.so.1")},
    "libyaml-dev": {f"usr/lib/{TRIPLET}/libyaml.a": b"static: linked into the sensor\n"},
    "libgcc-12-dev": {f"usr/lib/gcc/{TRIPLET}/12/crtbegin.o": b"start\n"},
    KERNEL: {
        "boot/vmlinuz-6.1.0-9-cloud-amd64": bzimage(0x1000000, 0x2000000) + arm64(0, 0)[:64],
        "boot/System.map-6.1.0-9-cloud-amd64": b"the real System.map is elsewhere\n",
        "lib/modules/6.1.0-9-cloud-amd64/kernel/a.ko": b"a module: left out\n",
    },
}
DEPENDS = {"python3.11": ["libc6"], "python3-psutil": ["python3.11"]}

MMDEBSTRAP = r"""#!/bin/bash
echo called >>"$FAKE/calls"
[ ! -e "$FAKE/slow" ] || { echo $$ >"$FAKE/pid"; for i in {1..300}; do sleep 0.1; done; }
if [ -e "$FAKE/says" ]; then cat "$FAKE/says"; exit 1; fi
for word in "$@"; do
  case $word in
    --extract-hook=*) MMDEBSTRAP_APT_CONFIG=none sh -c "${word#--extract-hook=}" exec "$FAKE" ;;
  esac
done
"""
APT_GET = r"""#!/bin/bash
names=() action=''
for word in "$@"; do
  case $word in
    -*) ;;
    install | download | indextargets) action=$word ;;
    *) names+=("$word") ;;
  esac
done
for name in "${names[@]}"; do
  case $action in
    install)
      for all in $name $(cat "$FAKE/depends/$name"); do echo "Inst $all (1 fake [amd64])"; done ;;
    download) cp "$FAKE/debs/${name}_"*.deb . || exit 100 ;;
  esac
done
"""
APT_CACHE = f"#!/bin/sh\necho '  Depends: {KERNEL}'\n"


@dataclass
class Suite:
    """The fake's folder: files in it change how it behaves."""

    folder: Path
    cache: Path

    def calls(self) -> int:
        """How often mmdebstrap was started."""
        calls = self.folder / "calls"
        return len(calls.read_text().splitlines()) if calls.exists() else 0

    def release(self, name: str, version: str) -> None:
        """Puts a newer version of a package into the archive."""
        for old in (self.folder / "debs").glob(f"{name}_*"):
            old.unlink()
        _package(self.folder, name, version)


def _package(folder: Path, name: str, version: str = "1.0") -> None:
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: amd64\n"
        "Maintainer: nobody <nobody@example.org>\nDescription: small\n"
    )
    for held, content in PACKAGES[name].items():
        path = tree / held
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, cpio.Entry):
            path.symlink_to(content.data.decode())
        else:
            path.write_bytes(content)
            path.chmod(0o755 if "bin/" in held else 0o644)
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree,
         folder / "debs" / f"{name}_{version}_amd64.deb"],
        check=True, capture_output=True, env={**os.environ, "SOURCE_DATE_EPOCH": "0"},
    )  # fmt: skip


@pytest.fixture(scope="session")
def small_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    (folder / "debs").mkdir()
    (folder / "depends").mkdir()
    for name in PACKAGES:
        _package(folder, name)
        (folder / "depends" / name).write_text(" ".join(DEPENDS.get(name, [])))
    return folder


@pytest.fixture
def suite(small_archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    folder = tmp_path / "fake"
    shutil.copytree(small_archive, folder)
    (folder / "bin").mkdir()
    for name, text in (("mmdebstrap", MMDEBSTRAP), ("apt-get", APT_GET), ("apt-cache", APT_CACHE)):
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    monkeypatch.setenv("FAKE", str(folder))
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    return Suite(folder, tmp_path / "cache")
