"""The schema file, and the data dictionary made from it."""

from __future__ import annotations

from analysis.schema import SCHEMA_JSON, columns, dictionary, frame_schema, schema


def test_the_dictionary_on_disk_is_the_one_the_schema_makes() -> None:
    found = SCHEMA_JSON.with_name("README.md").read_text(encoding="utf-8")
    assert found == dictionary(), "run python -m analysis.schema > data/README.md"


def test_every_column_says_what_it_is() -> None:
    for table in schema()["tables"]:
        names = [column["name"] for column in columns(table)]
        assert len(names) == len(set(names))
        for column in columns(table):
            assert column["type"] in ("integer", "number", "string") and column["meaning"].endswith(
                "."
            )
            assert isinstance(column["required"], bool)
            if column["name"].endswith("_ns"):
                assert column["unit"] == "ns"


def test_the_pandera_schema_keeps_order_and_nullability() -> None:
    made = frame_schema("trials")
    assert list(made.columns) == [column["name"] for column in columns("trials")]
    for column in columns("trials"):
        assert made.columns[column["name"]].nullable is not column["required"]
