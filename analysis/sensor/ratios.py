"""The declared pairs of variants, cost against cost, and how many events each reports.

The ratio of means over blocks, paired, with Fieller's interval; p by the sign-flip test, Holm's
family being the pairs that the plan declares.  A verdict needs the interval and the adjusted p.
On the exact machine it needs the same answer in each perturbation.
"""

from __future__ import annotations

import pandas as pd

from analysis import exact
from analysis.contrasts import Comparison, compare
from analysis.cores.own import verdict
from analysis.sensor.costs import RANGE, Costs, Entry, is_exact, of_digits
from analysis.statistics.intervals import Interval
from analysis.statistics.permutation import ALPHA, holm, smallest_p

MEASURES = ("total", "volume")
BUFFER, OWN_HABIT = "buffer", "buffer_own_wakeup"
#: Beside the declared ones, in no family: each buffer with its own habit, and its habit alone.
BESIDE = (
    {"name": OWN_HABIT, "numerator": "user_perf_event", "denominator": "user_ring_event"},
    {"name": "perf_habit", "numerator": "user_perf_event", "denominator": "user_perf_event_batch"},
    {"name": "ring_habit", "numerator": "user_ring_event", "denominator": "user_ring_event_batch"},
    {
        "name": "bytes_paced",
        "numerator": "kernel_ring_event",
        "denominator": "kernel_ring_aggregate",
    },
)
LOADS = {"bytes_paced": "chatty_paced"}


def declared(costs: Costs) -> list[Entry]:
    """The plan's pairs, then those beside them where they were measured."""
    planned = costs.run.plan.get("sensor", {}).get("contrasts", [])
    made = [{**entry, "declared": True} for entry in planned]
    for entry in BESIDE:
        load = LOADS.get(entry["name"], "service")
        if load in costs.loads(entry["numerator"], entry["denominator"]):
            made.append({**entry, "load": load, "declared": False})
    return made


def ratios(costs: Costs) -> list[Entry]:
    """Keys id, name, measure, numerator, denominator, load, declared, comparison (None without a
    block), p_adjusted, verdict, why, rate (events a second under the denominator)."""
    made: list[Entry] = []
    pairs = declared(costs)
    family = sum(pair["declared"] for pair in pairs)
    for pair in pairs:
        for measure in MEASURES:
            x, y = (
                costs.get(measure, pair[side], pair["load"])
                for side in ("numerator", "denominator")
            )
            entry = {**pair, "id": f"{pair['name']}_{measure}", "measure": measure}
            entry["rate"] = costs.mean(costs.get("rate", pair["denominator"], pair["load"]))
            if not set(x.index) & set(y.index):
                reason = "no block has both without a loss"
                nothing: Entry = {"comparison": None, "verdict": "unavailable", "why": reason}
                made.append({**entry, **nothing})
            elif is_exact(costs.run):
                made.append({**entry, **_in_digits(x, y)})
            else:
                c = compare(x, y, None, family if pair["declared"] else 1)
                word, why = verdict(c.ratio)
                made.append({**entry, "comparison": c, "verdict": word, "why": why})
    mine = [e for e in made if e["declared"] and e["measure"] == "total"]
    adjusted = holm([e["comparison"].p if e["comparison"] else None for e in mine])
    for entry in made:
        entry["p_adjusted"] = None
    for entry, p in zip(mine, adjusted, strict=True):
        entry["p_adjusted"] = p
        if entry["verdict"] in ("cheaper", "dearer") and p is not None and p >= ALPHA:
            entry["verdict"], entry["why"] = "undetermined", f"adjusted p = {p:.2g}"
            n, least = len(entry["comparison"].blocks), smallest_p(len(entry["comparison"].blocks))
            if least * len(mine) >= ALPHA:
                said = f"{n} blocks and {len(mine)} pairs cannot bring it below"
                entry["why"] += f": {said} {min(1.0, least * len(mine)):.2g}"
    return made


def _in_digits(x: pd.Series[float], y: pd.Series[float]) -> Entry:
    blocks = sorted(set(x.index) & set(y.index))
    ratio, word, why = exact.against(x.loc[blocks], y.loc[blocks])
    over, under, difference = (
        of_digits(exact.digits(values))
        for values in (x.loc[blocks], y.loc[blocks], (x - y).dropna())
    )
    shown = Interval(ratio.median, ratio.low, ratio.high, ratio.n, RANGE)
    c = Comparison(tuple(blocks), 0, over, under, difference, shown, None, None)
    return {"comparison": c, "verdict": word, "why": why}
