"""A guest gets what its programs need, wherever a release of Debian puts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from vm import contents, cpio
from vm.archive import Package
from vm.problem import Problem

NEEDED = ("usr/bin/python3.13", "usr/bin/top", "usr/bin/busybox")


def base(*names: str) -> contents.Files:
    package = Package("all", "1.0", "all", "a" * 64, Path("all.deb"))
    held = {package: {name: cpio.file(name, b"text\n") for name in names}}
    return contents.base(held, "python3.13")


@pytest.mark.parametrize("place", ["lib", "share"])  # Debian 12, Debian 13
def test_top_gets_the_terminal_without_which_it_ends_at_once(place: str) -> None:
    terminals = [f"usr/{place}/terminfo/{name}" for name in ("d/dumb", "x/xterm")]
    kept = base(*NEEDED, *terminals)
    assert terminals[0] in kept and terminals[1] not in kept


@pytest.mark.parametrize("missing", [*NEEDED, "terminfo/d/dumb"])
def test_what_no_package_holds_is_named(missing: str) -> None:
    there = [name for name in (*NEEDED, "usr/share/terminfo/d/dumb") if missing not in name]
    with pytest.raises(Problem, match=f"holds {missing}"):
        base(*there)
