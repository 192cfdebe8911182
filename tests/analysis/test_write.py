"""What a file holds does not depend on the processor that worked it out."""

from __future__ import annotations

import json
from pathlib import Path

from analysis.write import put_json


def test_json_is_the_same_whatever_the_order_of_additions(tmp_path: Path) -> None:
    parts = [0.1, 0.2, 0.3]
    sums = sum(parts), sum(reversed(parts))
    assert sums[0] != sums[1]
    one, other = (
        put_json(tmp_path / str(n), {"rows": [{"low": value, "n": 3}]}).read_text()
        for n, value in enumerate(sums)
    )
    assert one == other
    assert json.loads(one) == {"rows": [{"low": 0.6, "n": 3}]}


def test_what_is_no_float_is_written_as_it_is(tmp_path: Path) -> None:
    value = {"count": 12345678901234567, "name": "1.23456789012345", "none": None, "yes": True}
    assert json.loads(put_json(tmp_path / "file", value).read_text()) == value
