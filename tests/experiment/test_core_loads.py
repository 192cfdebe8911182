"""The duty cycles of a preset, and how a plan lays them out."""

from __future__ import annotations

from typing import Any

import pytest

from experiment import core_loads
from experiment.core_loads import DutyCycle
from experiment.reader import PresetError, Reader


def section(**changed: Any) -> Reader:
    load = {"duty_percent": 20, "burst_us": 500}
    return Reader({"window_s": 1.5, "blocks": 2, "loads": [load]} | changed, "cores/x")


def test_a_section_is_read() -> None:
    cores = core_loads.read(section())
    assert cores is not None and cores.arms is None
    assert (cores.window_ms, cores.blocks, cores.loads) == (1500, 2, (DutyCycle(20, 500),))
    assert core_loads.read(None) is None


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"loads": [{"duty_percent": 0, "burst_us": 1}]}, "duty_percent: 0 must be from 1 to 99"),
        ({"loads": [{"duty_percent": 100, "burst_us": 1}]}, "from 1 to 99"),
        ({"loads": [{"duty_percent": 5, "burst_us": 0}]}, "burst_us: 0 must be from 1"),
        ({"loads": [{"duty_percent": 5}]}, "key 'burst_us' is missing"),
        ({"blocks": "2"}, "blocks: '2' must be int"),
        ({"bursts": 1}, "unknown key 'bursts'"),
    ],
)
def test_a_bad_section_is_one_line(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(PresetError, match=said) as caught:
        core_loads.read(section(**changed))
    assert "\n" not in str(caught.value) and "cores/x" in str(caught.value)
