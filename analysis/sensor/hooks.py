"""What each hook costs: alone, as what goes when it alone is left out, and what is left over.

Under one load, c(v) being a variant's cost in a block:

    added     c(only this hook) - c(none)
    left_out  c(all nine) - c(the nine without this one)
    share     mean of added / mean of the sum of added over the nine
    residual  c(all nine) - c(none) - sum of added: what hooks cost together beyond what each costs
              alone; above 0 where they disturb each other, below where they share something

`none` is a sensor whose reader runs and that has no program; its cost is what a reader at rest is.
All are formed block by block.
"""

from __future__ import annotations

import numpy as np

from analysis.sensor.costs import PARTS, Costs, Entry, combined, is_exact
from analysis.statistics.intervals import fieller

FULL, NONE = "kernel_ring_aggregate", "none"
NINE = (
    *("execve", "execveat", "connect", "accept", "file_open", "bprm_check"),
    *("tcp_sendmsg", "tcp_cleanup_rbuf", "sock_create"),
)
MORE = (
    *("fork", "exit", "setuid", "ptrace", "mount", "umount", "module_load"),
    *("bpf", "unlink", "rename", "chmod", "bind", "kill"),
)
BYTES = ("tcp_sendmsg", "tcp_cleanup_rbuf")
METADATA = "kernel_ring_off"


def alone(costs: Costs) -> list[Entry]:
    """Each hook alone under the load that makes its events: keys hook, load, PARTS, n, attachments.

    Gross: a reader at rest is in it, which is small where events are many.
    """
    made: list[Entry] = []
    for hook in (*NINE, *MORE):
        variant = f"only_{hook}"
        for load in costs.loads(variant):
            if load in costs.loads(NONE):
                continue  # one of the mixed loads: see `shares`
            found = costs.intervals(variant, load)
            ways = costs.each[costs.each["variant"] == variant]["attachments"]
            entry: Entry = {"hook": hook, "load": load, **found, "n": found["total"].n}
            made.append({**entry, "attachments": next((str(w) for w in ways if w), "")})
    return made


def shares(costs: Costs) -> list[Entry]:
    """Each of the nine under each mixed load.

    Keys hook, load, added, left_out, share (Interval; percent), added_inline, added_reader.
    """
    made: list[Entry] = []
    for load in costs.loads(NONE, FULL):
        base = {part: costs.get(part, NONE, load) for part in PARTS}
        added = {
            hook: costs.get("total", f"only_{hook}", load) - base["total"]
            for hook in NINE
            if load in costs.loads(f"only_{hook}")
        }
        whole = combined((1.0, series) for series in added.values())
        for hook, series in added.items():
            own = series.dropna()
            both = own.index.intersection(whole.index)
            full = costs.get("total", FULL, load)
            rest = costs.get("total", f"without_{hook}", load)
            entry: Entry = {"hook": hook, "load": load, "added": costs.mean(own)}
            for part in ("inline", "reader"):
                value = costs.get(part, f"only_{hook}", load) - base[part]
                entry[f"added_{part}"] = costs.mean(value.dropna())
            entry["left_out"] = costs.mean((full - rest).dropna())
            x, y = own.loc[both].to_numpy(dtype=np.float64), whole.loc[both].to_numpy(np.float64)
            if is_exact(costs.run):
                entry["share"] = costs.mean((100 * own / whole.where(whole > 0)).dropna())
            else:
                entry["share"] = fieller(x, y).scaled(100)
            made.append(entry)
    return made


def residuals(costs: Costs) -> list[Entry]:
    """Per mixed load: keys load, whole (all nine, net of none), sum, residual (Intervals)."""
    made: list[Entry] = []
    for load in costs.loads(NONE, FULL):
        if any(load not in costs.loads(f"only_{hook}") for hook in NINE):
            continue
        base = costs.get("total", NONE, load)
        each = [costs.get("total", f"only_{hook}", load) - base for hook in NINE]
        sums = combined((1.0, series) for series in each)
        whole = (costs.get("total", FULL, load) - base).dropna()
        entry: Entry = {"load": load, "whole": costs.mean(whole), "sum": costs.mean(sums)}
        made.append({**entry, "residual": costs.mean((whole - sums).dropna())})
    return made


def accounting(costs: Costs) -> list[Entry]:
    """What the two byte-accounting programs take, and what metadata-only mode leaves.

    Per load keys load, bytes (the two together), largest_other (the dearest other hook), margin
    (the two less that hook), saved (whole sensor less metadata only); Intervals, block by block.
    """
    made: list[Entry] = []
    for load in costs.loads(NONE, FULL, METADATA, *(f"only_{hook}" for hook in NINE)):
        base = costs.get("total", NONE, load)
        added = {h: (costs.get("total", f"only_{h}", load) - base).dropna() for h in NINE}
        rest = {hook: float(s.mean()) for hook, s in added.items() if hook not in BYTES}
        dearest = max(rest, key=lambda hook: rest[hook])
        two = combined((1.0, added[hook]) for hook in BYTES)
        full, off = costs.get("total", FULL, load), costs.get("total", METADATA, load)
        entry: Entry = {"load": load, "largest_other": dearest, "bytes": costs.mean(two)}
        entry["margin"] = costs.mean((two - added[dearest]).dropna())
        made.append({**entry, "saved": costs.mean((full - off).dropna())})
    return made
