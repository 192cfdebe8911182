"""Cost of the file hook against the number of prefixes that its trie holds.

In each block a least-squares line of the total cost per open over log2 of the prefixes: an LPM trie
is walked bit by bit of the path, not prefix by prefix, so that a doubling should add little.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from analysis.sensor.costs import PARTS, Costs, Entry

NAMED = re.compile(r"prefixes_(\d+)")


def sizes(costs: Costs) -> dict[int, str]:
    """Variants by their number of prefixes, ascending."""
    found = [(int(m[1]), name) for name in costs.variants() if (m := NAMED.fullmatch(name))]
    return dict(sorted(found))


def points(costs: Costs) -> list[Entry]:
    """Keys load, prefixes, PARTS (Interval per event)."""
    return [
        {"load": load, "prefixes": size, **costs.intervals(name, load, PARTS)}
        for size, name in sizes(costs).items()
        for load in costs.loads(name)
    ]


def lines(costs: Costs) -> list[Entry]:
    """Per load: keys load, slope (Interval, per event and doubling), at_one (Interval), misfit."""
    made: list[Entry] = []
    found = sizes(costs)
    for load in dict.fromkeys(entry["load"] for entry in points(costs)):
        table = pd.DataFrame(
            {float(np.log2(size)): costs.get("total", name, load) for size, name in found.items()}
        ).dropna()
        if table.empty or len(table.columns) < 2:
            continue
        x = table.columns.to_numpy(dtype=np.float64)
        fits = np.array([np.polyfit(x, row, 1) for row in table.to_numpy(dtype=np.float64)])
        slope, start = (pd.Series(fits[:, n], index=table.index) for n in (0, 1))
        line = float(start.mean()) + float(slope.mean()) * x
        apart = np.abs(table.mean().to_numpy(dtype=np.float64) / line - 1)
        entry: Entry = {"load": load, "slope": costs.mean(slope), "at_one": costs.mean(start)}
        made.append({**entry, "misfit": float(apart.max()) if len(x) > 2 else None})
    return made
