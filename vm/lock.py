"""The lock file: what went into the four guests when the shipped digests were made.

``python3 -m vm.lock`` makes all four and writes it anew. Where a digest does not come out as
shipped, :func:`differences` says in words which inputs are not those of the lock.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vm import image, programs
from vm.image import Image
from vm.problem import Problem
from vm.programs import Programs

PATH = Path(__file__).with_name("images.lock.json")
ROOT = PATH.parents[1]
LAYERS = ("python3-psutil", "sysstat")  # every layer that a plan can ask for
_KERNEL = re.compile(r"linux-image-\d.*")  # its name changes with each release of it


def inputs(guest: Image, built: Programs) -> dict[str, Any]:
    """All that decides a guest's bytes, in the form of the lock."""
    return {
        "image": guest.inputs,
        "compilers": built.inputs["compilers"],
        "programs": built.inputs["programs"],
    }


def read(kernel: str, architecture: str, path: Path = PATH) -> dict[str, Any]:
    """The locked inputs of a guest. Raises ``Problem`` if the file is missing or damaged."""
    try:
        locked: dict[str, Any] = json.loads(path.read_text())[f"{kernel}-{architecture}"]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise Problem(f"{path} is missing or damaged ({problem}): git checkout it") from None
    return locked


def differences(here: Mapping[str, Any], locked: Mapping[str, Any]) -> list[str]:
    """What is not as locked, a line each; empty if every byte of the guest is the same.

    Layers count only where ``here`` has them. Compilers are compared by version, since a host of
    another architecture runs its own build of the same one.
    """
    mine, other = here["image"], locked["image"]
    lines = _packages(mine["packages"], other["packages"])
    for name, packages in sorted(mine["layers"].items()):
        lines += _packages(packages, other["layers"].get(name, []))
    lines += _packages(_versions(here["compilers"]), _versions(locked["compilers"]))
    lines += _packages(mine["sysroot"], other["sysroot"])
    changed = _changed(mine["files"], other["files"])
    if changed and not lines:
        lines.append(f"{', '.join(changed)}: made by other code in vm/ out of the same packages")
    changed = _changed(here["programs"], locked["programs"])
    if changed and not lines:
        lines.append(f"programs built from other sources: {', '.join(changed)}")
    return lines


def _changed(here: Mapping[str, str], locked: Mapping[str, str]) -> list[str]:
    """Names whose hash differs; what only the lock has is a layer that is not used here."""
    return [name for name, sha256 in sorted(here.items()) if locked.get(name) != sha256]


def _versions(packages: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    return [{"name": package["name"], "version": package["version"]} for package in packages]


def _packages(here: Iterable[Mapping[str, str]], locked: Iterable[Mapping[str, str]]) -> list[str]:
    mine, other = _by_name(here), _by_name(locked)
    lines = []
    for name in sorted(mine.keys() | other.keys()):
        ours, theirs = mine.get(name), other.get(name)
        if ours == theirs:
            continue
        if ours is None or theirs is None:
            there = _said(ours or theirs or {})
            here_or_then = ("here, not" if ours else "not here, but") + " when the digest was made"
            lines.append(f"{there} {here_or_then}")
        elif ours["version"] == theirs["version"] and ours["name"] == theirs["name"]:
            lines.append(f"{_said(ours)}: another build of it than when the digest was made")
        else:
            then = theirs["version"] if ours["name"] == theirs["name"] else _said(theirs)
            lines.append(f"{_said(ours)} here, {then} when the digest was made")
    return lines


def _by_name(packages: Iterable[Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    return {
        "linux-image" if _KERNEL.fullmatch(package["name"]) else package["name"]: package
        for package in packages
    }


def _said(package: Mapping[str, str]) -> str:
    return f"{package['name']} {package['version']}"


def main(arguments: list[str]) -> int:
    """Writes the lock out of this machine's images; those missing are made."""
    folder = Path(arguments[0]) if arguments else None
    held = {}
    try:
        for kernel, architecture in image.GUESTS:
            guest = image.build(kernel, architecture, folder, LAYERS, print)
            built = programs.build(guest, ROOT / "bpf", folder, print)
            held[f"{kernel}-{architecture}"] = inputs(guest, built)
    except Problem as problem:
        print(f"probetax: {problem}", file=sys.stderr)
        return 2
    PATH.write_text(json.dumps(held, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
