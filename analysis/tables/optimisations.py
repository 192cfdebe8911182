"""The tables of the sensor's three optimisations: one by one, interactions, the declared pairs."""

from __future__ import annotations

from analysis.contrasts import Comparison
from analysis.results import Results
from analysis.sensor.costs import PARTS
from analysis.tables.costs import Row, make_table, ratio_text
from analysis.tables.sensor import PARTED, note
from analysis.text import NOTHING, Table, ends, interval, p_text

WAKEUPS = {"own": "each buffer's own", "equal": "the same, in batches"}


def said(factors: tuple[str, ...], between: str = " and ") -> str:
    """Optimised factors in words."""
    return between.join(factors) or "naive"


def optimisations(r: Results) -> Table | None:
    """The naive sensor, each optimisation alone, and the source's order of them."""
    if r.sensor is None or not r.sensor.steps:
        return None
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.sensor.steps:
        row: Row = {"load": e["load"], "wakeup": e["wakeup"], "changed": said(e["changed"])}
        for name in (*PARTS, "difference", "percent"):
            row |= ends(name, e[name])
        rows.append({**row, "variant": e["variant"], "is_step": e["is_step"]})
        changes = [interval(e[name]) if e[name] else NOTHING for name in ("difference", "percent")]
        costs = [interval(e[part]) for part in PARTS]
        shown.append([e["load"], WAKEUPS[e["wakeup"]], said(e["changed"]), *costs, *changes])
    head = ["load", "wake-up", "optimised", *PARTS, "less naive", "in % of naive"]
    return make_table("optimisations", rows, head, shown, note(r), PARTED)


def interactions(r: Results) -> Table | None:
    """Main effects and interactions of the full 2 x 2 x 2."""
    if r.sensor is None or not r.sensor.effects:
        return None
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.sensor.effects:
        name = said(e["factors"], " × ")
        row: Row = {"load": e["load"], "wakeup": e["wakeup"], "effect_of": name}
        row |= {"order": e["order"], **ends("effect", e["effect"]), **ends("percent", e["percent"])}
        rows.append(row)
        texts = [interval(e["effect"]), interval(e["percent"])]
        shown.append([e["load"], WAKEUPS[e["wakeup"]], name, *texts])
    head = ["load", "wake-up", "effect of", "total", "in % of naive"]
    about = (
        "Sum of the eight costs, each with its sign, over 4, in each block: below 0 it saves; an "
        "interaction above 0: together they save less than their sum."
    )
    return make_table("interactions", rows, head, shown, note(r), about)


def pairs(r: Results) -> Table | None:
    """The declared pairs and those beside them, by cost and by events reported."""
    if r.sensor is None or not r.sensor.ratios:
        return None
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.sensor.ratios:
        c: Comparison | None = e["comparison"]
        names = ("id", "name", "measure", "numerator", "denominator", "load", "declared")
        row: Row = {key: e[key] for key in names} | {"n": len(c.blocks) if c else 0}
        row |= ends("numerator_value", c.numerator if c else None)
        row |= ends("denominator_value", c.denominator if c else None)
        row |= ends("difference", c.difference if c else None)
        row |= {**ends("ratio", c.ratio if c else None), "p": c.p if c else None}
        row |= {"p_adjusted": e["p_adjusted"], "verdict": e["verdict"], "why": e["why"]}
        rows.append({**row, "events_per_s": e["rate"].estimate})
        measure = "events reported" if e["measure"] == "volume" else "total"
        values = [interval(c.numerator), interval(c.denominator)] if c else [NOTHING] * 2
        shown.append(
            [
                e["name"].replace("_", " ") + ("" if e["declared"] else " (beside)"),
                f"{e['numerator']} / {e['denominator']}",
                e["load"],
                measure,
                *values,
                ratio_text(c),
                p_text(c.p if c else None),
                p_text(e["p_adjusted"]),
                e["verdict"],
                e["why"],
            ]
        )
    head = ["pair", "variants", "load", "measure", "of the first", "of the second", "ratio", "p"]
    head += ["adjusted p", "verdict on the first", "why"]
    about = "Ratios with Fieller's 95 % intervals over blocks; Holm's family: the declared pairs."
    return make_table("sensor_pairs", rows, head, shown, note(r), about)
