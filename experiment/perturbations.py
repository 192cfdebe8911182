"""What is changed from one boot of the exact machine to the next, so that a figure has a range.

The machine repeats itself to the last digit, and yet one more fork or a start a millisecond later
moves a cost by up to some percent. Digits that such changes move mean nothing. So each block of an
exact plan is a boot of its own under a declared perturbation: another order of its trials, another
moment within the interval and within the kernel's tick, and other process ids and memory.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

COUNT = 8
#: Beyond whole parts of an interval, which are whole ticks of the kernel's clock too.
_STEP_US = 187.5


def of_block(block: int, interval_ms: int) -> dict[str, Any]:
    """The perturbation of an analysed block, from 1 on; the first has none but its order.

    ``offset_us`` microseconds are slept and ``forks`` processes started before the first trial.
    """
    number = (block - 1) % COUNT
    offset_us = number * (1000 * interval_ms / COUNT + _STEP_US)
    return {"block": block, "offset_us": round(offset_us), "forks": number}


def apply(perturbation: Mapping[str, Any]) -> None:
    """Make it so: short-lived processes first, then the delay."""
    for _ in range(perturbation["forks"]):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    time.sleep(perturbation["offset_us"] / 1e6)
