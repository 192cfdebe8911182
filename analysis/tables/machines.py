"""The tables of many machines: a row a run and contrast, and a row a contrast over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.measures import MEASURES
from analysis.tables.costs import Row, make_table
from analysis.tables.sessions import level, times
from analysis.text import NOTHING, Table, ends, interval, number, p_text

MOST = 40  # rows of the text; the CSV holds them all


def machines(runs: Sequence[dict[str, Any]]) -> Table:
    """Every run's declared contrasts."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for s in runs:
        for e in s["contrasts"]:
            row: Row = {"run": s["run"], "host": s["host"], **s["fingerprint"], "id": e["id"]}
            row |= {key: e[key] for key in ("processes", "statistics", "measure")}
            row |= {"blocks": e.get("blocks"), "numerator_cost": e.get("x")}
            row |= {"denominator_cost": e.get("y"), **ends("ratio", e.get("ratio"))}
            row |= {**ends("difference", e.get("difference")), "verdict": e["verdict"]}
            rows.append({**row, "why": e["why"]})
            ratio = times(e["ratio"]) if "ratio" in e else NOTHING
            shown.append([s["run"], e["id"], str(e.get("blocks") or 0), ratio, e["verdict"]])
    left = f"The first {MOST} of {len(shown)}; all are in the CSV." if len(shown) > MOST else ""
    head = ["run", "contrast", "blocks", "ratio", "verdict on the first"]
    return make_table("machines", rows, head, shown[:MOST], left)


def over_machines(group: dict[str, Any]) -> Table:
    """Every contrast with the machine as the unit."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in group["contrasts"]:
        row: Row = {key: e[key] for key in ("id", "processes", "statistics", "measure")}
        row |= {"interval_ms": e["interval_ms"], "machines": e["machines"]}
        quantiles = e["quantiles"] or [None, None, None]
        names = ("ratio_05", "ratio_median", "ratio_95")
        row |= dict(zip(names, quantiles, strict=True))
        pooled = e["pooled"]
        if pooled is not None:
            row |= {**ends("ratio", pooled["ratio"]), **ends("difference", pooled["difference"])}
            row |= {key: pooled[key] for key in ("p_adjusted", "verdict", "why")}
        rows.append(row)
        said = ", ".join(f"{word} {count}" for word, count in sorted(e["verdicts"].items()))
        shown.append(
            [
                f"{e['titles'][0]} against {e['titles'][1]}",
                level(e["processes"]),
                MEASURES[e["measure"]],
                str(e["machines"]),
                f"{number(quantiles[0])} – {number(quantiles[1])} – {number(quantiles[2])}",
                times(pooled["ratio"]) if pooled else NOTHING,
                interval(pooled["difference"]) if pooled else NOTHING,
                p_text(pooled["p_adjusted"]) if pooled else NOTHING,
                f"{pooled['verdict']} ({pooled['why']})" if pooled else "one machine: no verdict",
                said,
            ]
        )
    head = ["contrast", "level", "method", "machines", "ratios, 5 % – median – 95 %"]
    head += ["ratio of means", "difference, % of a core", "adjusted p", "verdict on the first"]
    head += ["verdicts of the runs"]
    note = (
        "One mean of each arm a machine; ratio with Fieller's and difference with Student's 95 % "
        f"interval over machines. The verdicts generalise {group['generalises']}."
    )
    return make_table("over_machines", rows, head, shown, note)
