"""The designs of a sensor's trials, and how a plan lays them out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from experiment import sensor_designs
from experiment.plan import build
from experiment.presets import load
from experiment.reader import PresetError, Reader
from experiment.sensor_loads import EVENTS

ROOT = Path(__file__).resolve().parents[2]


def section(**changed: Any) -> Reader:
    whole = {
        "arm": "sensor",
        "common": ["--buffer-kb", "64"],
        "variants": {"one": ["--filter", "user"], "two": []},
        "loads": {"calm": {"event": "kill", "events": 5}},
        "designs": [
            {"name": "both", "blocks": "every", "variants": ["one", "two"], "loads": ["calm"]},
            {"name": "again", "blocks": 2, "pairs": [["two", "calm"]]},
        ],
        "contrasts": [{"name": "c", "numerator": "one", "denominator": "two", "load": "calm"}],
        "a_a": {"variant": "one", "load": "calm"},
    }
    return Reader(whole | changed, "sensor/x")


def test_a_section_is_read() -> None:
    sensor = sensor_designs.read(section())
    assert sensor is not None and sensor_designs.read(None) is None
    assert sensor.variants["one"] == ("--buffer-kb", "64", "--filter", "user")
    assert sensor.pairs(1, 4) == [("one", "calm"), ("two", "calm")], "each pair once a block"
    assert sensor.designs[1].in_blocks(7) == {1, 4}
    assert sensor.planned()["a_a"] == {"variant": "one", "load": "calm"}


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"variants": {"one": ["{build}"], "two": []}}, "without blanks and braces"),
        ({"variants": {"one": [4], "two": []}}, "numbers in quotes"),
        ({"variants": {"One": []}}, "lower-case"),
        ({"loads": {"calm": {"event": "nap", "events": 5}}}, "nap"),
        ({"loads": {"calm": {"event": "kill", "events": 0}}}, "from 1 to"),
        ({"a_a": {"variant": "three", "load": "calm"}}, "three is not measured under calm"),
        ({"designs": [{"name": "d", "blocks": 0, "pairs": [["one", "calm"]]}]}, "from 1 on"),
        ({"designs": [{"name": "d", "blocks": 1, "pairs": [["six", "calm"]]}]}, "variant 'six'"),
        ({"designs": [{"name": "d", "blocks": 1, "pairs": []}]}, "each once"),
        ({"colour": 1}, "unknown key 'colour'"),
    ],
)
def test_a_bad_section_is_one_line(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(PresetError, match=said) as caught:
        sensor_designs.read(section(**changed))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("preset", ["quick", "paper", "exact", "smoke"])
def test_each_block_holds_each_pair_once_and_the_twin_twice(preset: str) -> None:
    sensor = load()[1]["sensor"][preset].sensor
    assert sensor is not None
    plan = build(
        "sensor", preset, root=ROOT, python=sys.executable, system_python="/usr/bin/python3"
    )
    blocks = plan["blocks"]
    for block in range(1, blocks + 1):
        found = [
            (t["variant"], t["load"], t["replica"])
            for t in plan["trials"]
            if t["kind"] == "sensor" and t["block"] == block
        ]
        wanted = [(*pair, 1) for pair in sensor.pairs(block, blocks)] + [(*sensor.twin, 2)]
        assert sorted(found) == sorted(wanted)
    assert plan["sensor"] == sensor.planned()
    assert all(t["event"] in EVENTS for t in plan["trials"] if t["kind"] == "sensor")


def test_quick_is_within_ten_minutes() -> None:
    plan = build(
        "sensor", "quick", root=ROOT, python=sys.executable, system_python="/usr/bin/python3"
    )
    assert plan["estimate"]["minutes"] <= 10


def test_the_optimisations_are_crossed_in_full() -> None:
    sensor = load()[1]["sensor"]["paper"].sensor
    assert sensor is not None
    (factorial,) = (design for design in sensor.designs if design.name == "factorial")
    for load_name in {name for _, name in factorial.pairs}:
        own = {variant for variant, name in factorial.pairs if name == load_name}
        for habit in ("", "_batch"):
            assert {
                f"{where}_{buffer}_{bytes_as}{habit}"
                for where in ("user", "kernel")
                for buffer in ("perf", "ring")
                for bytes_as in ("event", "aggregate")
            } <= own
