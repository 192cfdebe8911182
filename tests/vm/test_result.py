"""A result is whole or refused, whatever happened to its bytes."""

import hashlib
import io
import tarfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vm.result import GuestFailed, Mark, marks, unpack

NAMES = st.from_regex(r"[a-z]{1,8}(/[a-z0-9.-]{1,12})?", fullmatch=True)


def stream(files):
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    data = zlib.compress(held.getvalue())
    return f"probetax {len(data)} {hashlib.sha256(data).hexdigest()}\n".encode() + data


@given(st.dictionaries(NAMES, st.binary(max_size=300), max_size=5))
def test_what_was_packed_comes_out(files):
    assert unpack(stream(files)) == files


@given(st.dictionaries(NAMES, st.binary(max_size=300), min_size=1, max_size=3), st.data())
def test_a_result_with_a_missing_a_further_or_a_changed_byte_is_refused(files, data):
    whole = stream(files)
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:at] + bytes([whole[at] ^ 1 << data.draw(st.integers(0, 7))]) + whole[at + 1 :]
    for torn in (whole[:at], whole + b"x", changed):
        with pytest.raises(GuestFailed, match="guest's result"):
            unpack(torn)


@given(st.binary(max_size=100))
def test_anything_else_is_refused(data):
    with pytest.raises(GuestFailed):
        unpack(data)


@given(st.lists(st.tuples(*[st.integers(0, 2**63)] * 4)))
def test_marks_are_read_in_order_and_a_torn_line_is_refused(tmp_path_factory, numbers):
    path = tmp_path_factory.mktemp("marks") / "marks"
    path.write_text("".join(f"{a} {b} {c} {d}\n" for a, b, c, d in numbers))
    assert marks(path) == [Mark(*four) for four in numbers]
    path.write_text(path.read_text() + "1 2 3")
    with pytest.raises(GuestFailed, match="damaged"):
        marks(path)


def test_of_a_long_console_the_last_lines_are_kept():
    shown = GuestFailed("it stalled", "\n".join(map(str, range(100))) + "\n\n").console
    assert shown[-1] == "99" and len(shown) == 12
