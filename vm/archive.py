"""Takes packages out of a Debian suite, for any architecture, without installing anything.

mmdebstrap brings what belongs to a suite: its mirrors, its keys, and an apt of its own that knows
nothing of the host's packages. In one run of it, apt works out each wanted set with all that it
depends on and downloads it, signatures and hashes checked. No maintainer script runs, so that
another architecture needs no emulation; mode "chrootless" needs no root and no name spaces.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shlex
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from vm import command
from vm.problem import Problem

DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}  # our name of an architecture: Debian's
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# of the host's apt settings, those that say how a mirror is reached
_TRANSPORT = re.compile(r"^Acquire::(http|https|ftp|Check-|Max-Valid|Min-Valid|Retries|Force)")
_OFFLINE = re.compile(
    r"resolv|Could not connect|Cannot initiate|Unable to connect|unreachable|timed out|Connection"
)


@dataclass(frozen=True, order=True)
class Package:
    """A downloaded .deb file: ``architecture`` is Debian's name or "all"."""

    name: str
    version: str
    architecture: str
    sha256: str
    path: Path

    def identity(self) -> dict[str, str]:
        """What a lock file holds of it."""
        keys = ("name", "version", "architecture", "sha256")
        return {key: str(getattr(self, key)) for key in keys}


def fetch(
    suite: str,
    architecture: str,
    sets: Mapping[str, Sequence[str]],
    alone: Mapping[str, Sequence[str]],
    kernel: str | None,
    folder: Path,
) -> dict[str, list[Package]]:
    """Downloads each of ``sets`` with its dependencies, each of ``alone`` and the kernel without.

    ``kernel`` is a metapackage: what it points to is taken. The .deb files are below ``folder``,
    which must exist; the answer holds all sets and "kernel", each sorted by name. Raises
    ``Problem`` where mmdebstrap is missing, no mirror answers, the disk is full or a name unknown.
    """
    mmdebstrap = command.need("mmdebstrap", "mmdebstrap")
    debs, temporary, log = folder / "debs", folder / "tmp", folder / "log"
    for made in (debs, temporary):
        made.mkdir()
    options = folder / "apt.conf"
    options.write_text(transport())
    arguments = ["--variant=extract", "--mode=chrootless", "--format=null", f"--aptopt={options}",
                 f"--architectures={DEBIAN[architecture]}", "--skip=output/mknod",
                 f"--extract-hook={_script(sets, alone, kernel, debs)}"]  # fmt: skip
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": str(temporary)}
    sources = mirrors(suite)
    if not sources and _KEYRING.exists():  # the host's apt trusts another distribution's keys
        arguments.append(f"--keyring={_KEYRING}")
    words = [mmdebstrap, *arguments, suite, "/dev/null", *sources]
    status = command.run(words, log, environment)
    if status != 0:
        raise Problem(_why(suite, log.read_text(errors="replace")))
    by_name = {package.name: package for package in map(_package, sorted(debs.glob("*.deb")))}
    return {
        path.stem: [by_name[name] for name in sorted(set(path.read_text().split()))]
        for path in debs.glob("*.set")
    }


def _script(
    sets: Mapping[str, Sequence[str]],
    alone: Mapping[str, Sequence[str]],
    kernel: str | None,
    debs: Path,
) -> str:
    """The hook: lists each set as apt would install it, then downloads all of them at once."""
    lines = [f"set -eu; cd {shlex.quote(str(debs))}", 'export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"']
    for name, packages in sets.items():
        lines += [
            f"apt-get -qq -s install {shlex.join(packages)} >plan",
            rf"sed -n 's/^Inst \([^ ]*\) .*/\1/p' plan >{name}.set",
        ]
    for name, packages in alone.items():
        lines.append(f"printf '%s\\n' {shlex.join(packages)} >{name}.set")
    if kernel is not None:
        lines += [
            f"apt-cache depends {shlex.quote(kernel)} >plan",
            r"sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' plan >kernel.set",
            "[ -s kernel.set ]",
        ]
    return "\n".join([*lines, "sort -u ./*.set | xargs apt-get -qq download"])


def transport() -> str:
    """Proxies, time-outs and checks of the host's apt, to be those of the suite's apt too."""
    dump = _said("apt-config", "dump")
    return "".join(f"{line}\n" for line in dump.splitlines() if _TRANSPORT.match(line))


def mirrors(suite: str) -> list[str]:
    """Lines for sources.list: the host's mirrors where it is a Debian, else none (the default)."""
    # quotes matter to neither of the two fields read
    here = dict(line.split("=", 1) for line in _os_release().splitlines() if "=" in line)
    if here.get("ID") != "debian":
        return []
    code = here.get("VERSION_CODENAME", "")
    fields = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    listed = _said("apt-get", "indextargets", "--no-release-info", f"--format={fields}",
                   "Created-By: Packages")  # fmt: skip
    signed = f"[signed-by={_KEYRING}] " if _KEYRING.exists() else ""
    lines: dict[str, str] = {}
    for line in listed.splitlines():
        uri, release, component = line.split()[:3]
        part = release.removeprefix(code) if release.startswith(code) else "another release"
        if component == "main" and part in ("", "-updates", "-security"):
            lines.setdefault(part, f"deb {signed}{uri} {suite}{part} main")
    return list(lines.values()) if "" in lines else []


def _said(*words: str) -> str:
    return subprocess.run(
        words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    ).stdout


def _os_release() -> str:
    try:
        return Path("/etc/os-release").read_text()
    except OSError:
        return ""


def _why(suite: str, log: str) -> str:
    """One line out of mmdebstrap's."""
    if "No space left on device" in log:
        return "no space left on the disk while fetching packages: free 1 GB, then start again"
    reasons = [line.removeprefix("E: ") for line in log.splitlines() if line.startswith("E: ")]
    offline = next((reason for reason in reasons if _OFFLINE.search(reason)), None)
    if offline:
        return f"no network: {suite}'s packages cannot be fetched; apt says: {offline}"
    said = reasons[0] if reasons else " ".join(log.split())[-200:]
    return f"{suite}'s packages cannot be fetched; apt says: {said}"


def _package(path: Path) -> Package:
    name, version, architecture = unquote(path.stem).split("_")
    with path.open("rb") as deb:
        digest = hashlib.file_digest(deb, "sha256").hexdigest()
    return Package(name, version, architecture, digest, path)


def members(package: Package) -> Iterator[tuple[str, tarfile.TarInfo, bytes]]:
    """What the package would install: name without "./", entry, content (of links to files too)."""
    unpacked = subprocess.run(
        ["dpkg-deb", "--fsys-tarfile", str(package.path)],
        capture_output=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if unpacked.returncode != 0:
        raise Problem(f"{package.path.name} is damaged: {unpacked.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(unpacked.stdout)) as tar:
        for member in tar:
            held = tar.extractfile(member) if member.isreg() or member.islnk() else None
            name = member.name.removeprefix(".").strip("/")
            if name:
                yield name, member, held.read() if held else b""
