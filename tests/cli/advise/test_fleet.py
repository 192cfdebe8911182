"""A fleet's CSV: whatever spreadsheets and exports make of it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from cli.advise import fleet
from cli.advise.fleet import Node
from cli.problem import Problem

HEADER = "node,processes,switches/s"
#: Names as anybody may write them; csv takes NUL from Python 3.11 on only.
names = some.text(
    some.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=20
).filter(lambda name: name.strip() == name and name)
numbers = some.floats(0, 1e9, allow_nan=False) | some.integers(0, 10**9)
rows = some.lists(
    some.tuples(names, numbers, numbers), min_size=1, max_size=20, unique_by=lambda row: row[0]
)


@settings(max_examples=30)
@given(rows, some.sampled_from(",;\t"), some.sampled_from(["\n", "\r\n"]), some.booleans())
def test_what_a_spreadsheet_writes_is_what_is_read(
    written: list[tuple[str, float, float]], delimiter: str, end: str, mark: bool
) -> None:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, lineterminator=end)
    writer.writerow(["Switches/s", " node ", "Processes", "note"])
    writer.writerows([rate, name, count, ""] for name, count, rate in written)
    data = (b"\xef\xbb\xbf" if mark else b"") + file.getvalue().encode()
    nodes = fleet.parse(fleet._text(data, "made"))
    assert nodes == [Node(name, float(count), float(rate)) for name, count, rate in written]


@given(some.binary(max_size=300) | some.text('ab1,;"\n\r\t.e-', max_size=300).map(str.encode))
@settings(max_examples=50)
def test_any_bytes_are_nodes_or_a_problem(data: bytes) -> None:
    for head in (b"", HEADER.encode() + b"\n"):
        try:
            nodes = fleet.parse(fleet._text(head + data, "made"), "made")
        except Problem as problem:
            assert str(problem).strip()
            assert all(line.startswith("made") for line in str(problem).splitlines())
        else:
            assert nodes and len({node.name for node in nodes}) == len(nodes)


def test_optional_columns_may_have_gaps() -> None:
    text = f"{HEADER},threads,interval,active\na,10,5,20,15,3\n\nb,10,5,,,\n"
    assert fleet.parse(text) == [Node("a", 10, 5, 20, 3, 15), Node("b", 10, 5)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        (" \r\n\n", "is empty"),
        (HEADER + "\n", "names no node"),
        ("node,processes\na,1\n", "line 1: no column switches/s among"),
        ("a,1,2\n", "line 1: no column node and no processes and no switches/s"),
        ("node,node,processes,switches\n", "line 1: column node stands there twice"),
        ("instance,node,processes,switches\n", "line 1: column instance stands there twice"),
        (f"{HEADER}\na,1,2\nb,x,2\n", "line 3: processes is 'x': give a number"),
        (f"{HEADER}\na,-1,2\n", "line 2: processes is '-1'"),
        (f"{HEADER}\na,nan,2\n", "line 2: processes is 'nan'"),
        (f"{HEADER}\na,1_000,2\n", "line 2: processes is '1_000'"),
        (f"{HEADER}\na,1e999,2\n", "line 2: processes is '1e999'"),
        (f"{HEADER}\na,,2\n", "line 2: processes is empty"),
        (f"{HEADER}\n,1,2\n", "line 2: the node has no name"),
        (f"{HEADER}\na,1,2,3\n", "line 2: 4 cells, but the header has 3"),
        (f"{HEADER}\na,1\n", "line 2: 2 cells"),
        ("node;processes;switches/s\na;10;1,5\n", "line 2: switches/s is '1,5': .*decimal point"),
        (f'{HEADER}\na,"1,000",2\n', "line 2: processes is '1,000': .*thousands"),
        ("node;processes;switches/s\na;10;1.234,5\n", "line 2: switches/s is '1.234,5': .*decimal"),
        (f"{HEADER}\r\na,1,2\r\n\r\na,1,2\r\n", "line 4: node a stands in line 2 already"),
        (f"{HEADER},threads\na,10,2,9\n", "line 2: 9 threads are fewer than 10 processes"),
        (f"{HEADER},interval\na,10,2,0\n", "line 2: an interval of 0"),
    ],
)
def test_a_wrong_line_is_named_with_its_number_and_the_cure(text: str, said: str) -> None:
    with pytest.raises(Problem, match=said) as found:
        fleet.parse(text)
    assert "\n" not in str(found.value)


def test_of_many_wrong_lines_the_first_are_told_and_the_others_counted() -> None:
    text = HEADER + "\n" + "".join(f"n{number},x,1\n" for number in range(100))
    with pytest.raises(Problem) as found:
        fleet.parse(text)
    told = str(found.value).splitlines()
    assert len(told) == 6 and "line 2:" in told[0]
    assert told[-1] == "the file: 95 more lines are wrong"


def test_what_is_no_text_or_no_file_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "fleet.csv"
    for data, said in (
        (f"{HEADER}\na,1,2\n".encode("utf-16"), "UTF-8"),
        (f"{HEADER}\na,1,2\nn\xe4,1,2\n".encode("latin-1"), "line 3: no UTF-8"),
        (b"PK\3\4\0\0\0\0", "UTF-8"),
    ):
        file.write_bytes(data)
        with pytest.raises(Problem, match=said) as found:
            fleet.read(file)
        assert "\n" not in str(found.value)
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(Problem, match="cannot be read"):
            fleet.read(path)
