"""The archive holds what went in, in one order, and says nothing of this machine."""

from __future__ import annotations

import io
import random
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vm import cpio_reader
from vm import cpio

NAMES = st.lists(
    st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1).filter(
        lambda part: part not in (".", "..", "TRAILER!!!")
    ),
    min_size=1,
    max_size=3,
).map("/".join)


def written(entries: list[cpio.Entry]) -> bytes:
    out = io.BytesIO()
    assert cpio.write(out, entries) == len(out.getvalue())
    return out.getvalue()


@given(st.dictionaries(NAMES, st.binary(max_size=9), max_size=8), st.randoms())
def test_what_went_in_comes_out_in_one_order(
    contents: dict[str, bytes], shuffled: random.Random
) -> None:
    files = {name: data for name, data in contents.items()
             if not any(other.startswith(f"{name}/") for other in contents)}  # fmt: skip
    entries = [cpio.file(name, data) for name, data in files.items()]
    archive = written(entries)
    found = cpio_reader.members(archive)
    assert {name: data for name, head, data in found if stat.S_ISREG(head["mode"])} == files
    seen = set()
    for name, _, _ in found:
        parent = name.rpartition("/")[0]
        assert not parent or parent in seen, "the kernel makes no missing folder"
        seen.add(name)
    shuffled.shuffle(entries)
    assert written(entries) == archive


def test_nothing_tells_who_wrote_it_and_when() -> None:
    entries = [
        cpio.file("bin/init", b"#!", 0o755),
        cpio.symlink("sbin", "bin"),
        cpio.directory("tmp", 0o1777),
        cpio.character_device("dev/console", 5, 1),
    ]
    found = {name: (head, data) for name, head, data in cpio_reader.members(written(entries))}
    assert list(found) == ["bin", "bin/init", "dev", "dev/console", "sbin", "tmp"]
    for head, _ in found.values():
        assert head["uid"] == head["gid"] == head["mtime"] == head["devmajor"] == 0
    assert len({head["ino"] for head, _ in found.values()}) == len(found), "no hard links by chance"
    assert found["bin/init"][0]["mode"] == stat.S_IFREG | 0o755
    assert found["sbin"][1] == b"bin" and stat.S_ISLNK(found["sbin"][0]["mode"])
    assert found["tmp"][0]["mode"] == stat.S_IFDIR | 0o1777
    console = found["dev/console"][0]
    assert stat.S_ISCHR(console["mode"])
    assert (console["rdevmajor"], console["rdevminor"]) == (5, 1)


@pytest.mark.parametrize("name", ["", "/init", "a//b", "../a", "a/./b", "a/", "a\0b"])
def test_a_name_that_would_land_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="names are relative"):
        written([cpio.file(name, b"")])


def test_a_name_twice_or_below_a_file_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        written([cpio.file("a", b""), cpio.symlink("a", "b")])
    with pytest.raises(ValueError, match="ends an archive"):
        written([cpio.file("TRAILER!!!", b"")])
    with pytest.raises(ValueError, match="is no folder"):
        written([cpio.file("a", b""), cpio.file("a/b/c", b"")])
