"""The tables of a crossover run: the model, every point, held-out points, break-even, verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.crossover import model as model_
from analysis.crossover import outcome
from analysis.crossover.conditions import CONDITIONS
from analysis.crossover.model import HELD_OUT_LIMIT, SWITCH, TERMS, spread
from analysis.crossover.outcome import Crossover
from analysis.crossover.warmth import share
from analysis.external import in_other_tasks
from analysis.results import Results
from analysis.statistics.intervals import Interval
from analysis.statistics.types import Array
from analysis.tables.costs import Row, make_table
from analysis.text import NOTHING, Table, ends, interval, number, p_text

WORDS = {
    "fixed": "a scrape",
    "per_process": "a process and scrape",
    "per_thread": "a further thread and scrape",
    "per_active": "a switching task and scrape",
    "per_cold_scrape": "more a cold scrape",
    "per_switch": "a context switch",
    "per_cold_switch": "more a cold switch",
}


def kind(c: Crossover) -> str:
    """What the ends of an interval are."""
    if c.exact:
        return "median [least, greatest] over perturbations, which is no confidence interval"
    return "mean [95 % t interval] over blocks"


def percent(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:+.1f} %".replace("-", "−")


def model(r: Results) -> Table | None:
    """The coefficients of every arm. None for a run of another kind."""
    c = r.crossover
    if c is None or not c.fits:
        return None
    machine = outcome.machine(r.run)
    rows: list[Row] = []
    shown: list[list[str]] = []
    for arm, fit in c.fits.items():
        row: Row = {"arm": arm, "title": r.run.title(arm), "unit": c.unit, "machine": machine}
        row |= {"half_cold_switches_per_s": fit.half}
        text = [r.run.title(arm)]
        for name in TERMS:
            value = fit.term(name)
            row |= ends(name, value)
            none = "not varied" if name in fit.left_out else "0"
            text.append(interval(value) if fit.has(name) else none)
        error = c.held_out_error(arm)
        row |= {"blocks": len(fit.blocks), "held_out_median_error": error}
        rows.append(row)
        met = error is not None and error <= HELD_OUT_LIMIT
        said = NOTHING if error is None else f"{100 * error:.1f} %{'' if met else ' (too far)'}"
        shown.append([*text, said])
    head = ["collector", *(f"{c.unit} {WORDS[name]}" for name in TERMS), "off at held-out points"]
    left = next(iter(c.fits.values())).left_out
    note = (
        f"{machine}. Cost per second = (scrape + processes + threads + switching tasks) / interval "
        f"+ switches: {kind(c)}; weighted least squares in each of them, of the terms that the "
        f"non-negative fit of the means has; the others are 0.{_cold(c)} Off: median |fitted / "
        f"measured − 1| at the {len(c.held_out)} points that were not fitted; at most "
        f"{100 * HELD_OUT_LIMIT:.0f} % is asked for."
    )
    gone = f"Not varied by this plan, and so not told apart: {', '.join(left)}." if left else ""
    return make_table("model", rows, head, shown, note, gone)


def _cold(c: Crossover) -> str:
    """What the columns of cold ones mean; nothing where nothing is cold."""
    if not c.half:
        return ""
    return (
        f" Cold is the share S0 / (S0 + S) of scrapes and switches, S switches a second, S0 = "
        f"{c.half:,.0f}. What a switch costs is calibrated apart, and its coefficients are the "
        "calibration's; the others are fitted to the reader's own time."
    )


def _middle(c: Crossover, values: Any) -> Interval:
    array: Array = np.asarray(values, dtype=np.float64)
    return spread(array[~np.isnan(array)], c.exact)


def _groups(frame: pd.DataFrame, keys: list[str]) -> Any:
    return frame.groupby(keys)


def points(r: Results) -> Table | None:
    """Every design point and arm: measured, fitted, and the second account of its switches."""
    c = r.crossover
    if c is None:
        return None
    rows: list[Row] = []
    shown: list[list[str]] = []
    place = {arm: n for n, arm in enumerate(r.run.arms)}
    found = {(int(p), place[str(a)]): rows for (p, a), rows in _groups(c.cells, ["point", "arm"])}
    for (point, n), cells in sorted(found.items(), key=lambda e: e[0]):
        arm, about = list(place)[n], c.planned[point]
        row: Row = {"point": point, "arm": arm, "title": r.run.title(arm)}
        row |= {name: float(cells[name].mean()) for name in CONDITIONS}
        row |= {"switches_target": int(about["switches_per_s"])}
        row |= {"load_per_s": float(cells["load_per_s"].mean())}
        row |= {"held_out": bool(about.get("held_out"))}
        cost = _middle(c, cells["cost"])
        row |= ends(f"{c.unit}_per_s", cost)
        errors = c.errors.get(arm)
        at: Any = None if errors is None else errors.loc[point]
        row["fitted"] = None if at is None else float(at["fitted"])
        row["residual"] = None if at is None or np.isnan(at["error"]) else float(at["error"])
        second, used = Interval(None, None, None, 0), Interval(None, None, None, 0)
        if not c.exact and in_other_tasks(r.run, arm):
            second = _middle(c, cells["added_by_load"])
            used = _middle(c, _used(r, arm, point))
        row |= {**ends("calibrated_ns_per_switch", used), **ends("load_ns_per_switch", second)}
        rows.append({**row, "blocks": cost.n})
        shown.append(
            [
                str(point),
                row["title"],
                f"{row['processes']:,.0f}",
                f"{row['threads']:,.0f}",
                f"{row['active']:,.0f}",
                f"{row['interval_s']:g} s",
                f"{row['switches_target']:,}",
                f"{row['load_per_s']:,.0f}",
                f"{row['switches_per_s']:,.0f}",
                interval(_shown_unit(c, cost)),
                number(_shown_unit(c, Interval(row["fitted"], None, None, 0)).estimate),
                percent(row["residual"]),
                "held out" if row["held_out"] else "",
                interval(used) if used.n else "",
                interval(second) if second.n else "",
            ]
        )
    unit = "million instructions/s" if c.exact else "% of a core"
    head = ["point", "collector", "processes", "further threads", "switching tasks", "interval"]
    head += ["load asked, switches/s", "load reached", "machine's switches/s", f"cost, {unit}"]
    head += ["fitted", "residual", "held out", "ns per switch, calibrated", "by the load's time"]
    note = (
        f"Cost: {kind(c)}. Fitted: the model at the measured conditions. Calibrated: what a switch "
        "was counted as at this rate. By the load's time: what the load's own tasks took longer "
        "for each of their switches than under the process that only sleeps, at the same point in "
        "the same block: a second account of the same thing."
    )
    return make_table("points", rows, head, shown, note)


def _used(r: Results, arm: str, point: int) -> Array:
    """ns per switch that a cell was calculated with, a value a block."""
    level = outcome.level(point)
    rate = r.measures.get("switches_per_s", arm, level)
    others = r.measures.get("others", arm, level)
    return (others * 1e7 / rate).dropna().to_numpy(dtype=np.float64)


def _shown_unit(c: Crossover, value: Interval) -> Interval:
    return value.scaled(1e-6 if c.exact else 1e-7)


def held_out(r: Results) -> Table | None:
    """What the model foretold of the points it was not fitted to."""
    c = r.crossover
    if c is None or not c.held_out:
        return None
    rows: list[Row] = []
    shown: list[list[str]] = []
    for arm in c.fits:
        found = c.errors[arm]
        found = found[found.index.isin(c.held_out)].dropna(subset=["error"])
        error = c.held_out_error(arm)
        if error is None:
            continue
        worst = float(found["error"].abs().max())
        met = error <= HELD_OUT_LIMIT
        row: Row = {"arm": arm, "title": r.run.title(arm), "points": len(found)}
        reader, width = (model_.median_error(found[k]) for k in ("reader_error", "half_width"))
        row |= {"median_error": error, "largest_error": worst, "met": met}
        row |= {"median_reader_error": reader, "median_half_width": width}
        rows.append({**row, **ends("load_less_calibrated_ns_per_switch", apart := _apart(c, arm))})
        each = ", ".join(f"{int(str(n))}: {percent(float(e))}" for n, e in found["error"].items())
        shown.append(
            [
                row["title"],
                str(len(found)),
                f"{100 * error:.1f} %",
                f"{100 * worst:.1f} %",
                "met" if met else "not met",
                each,
                NOTHING if reader is None else f"{100 * reader:.1f} %",
                NOTHING if width is None else f"±{100 * width:.0f} %",
                interval(apart) if apart.n else "",
            ]
        )
    if not rows:
        return None
    head = ["collector", "points", "median error", "largest", "at most 10 %", "point: error"]
    head += ["reader alone", "interval there", "ns per switch: load's time less calibrated"]
    note = (
        "Error: fitted / measured − 1 (median: without its sign) at points not fitted to. What a "
        "hook's switch costs is calibrated, not fitted, and so in both: what there is to be off is "
        "the reader alone, as a share of its own cost; how sure the whole is, the median half "
        "width of the model's interval says; and the second account of a switch, the load's own "
        "time, tests what was calibrated (mean [95 % t interval] over blocks of the difference at "
        "these points)."
    )
    return make_table("held_out", rows, head, shown, note)


def _apart(c: Crossover, arm: str) -> Interval:
    """By how much the second account of a switch is above the calibrated one, ns, at the held-out
    points: a value a block; none without a calibration."""
    fit, cells = c.fits[arm], c.cells
    mine = cells[(cells["arm"] == arm) & cells["point"].isin(c.held_out)]
    mine = mine[mine["block"].isin(list(fit.blocks))].dropna(subset=["added_by_load"])
    if c.exact or not fit.has("per_switch") and not fit.has("per_cold_switch") or mine.empty:
        return Interval(None, None, None, 0)
    own = fit.of(mine["block"].astype(int))[:, SWITCH:]
    cold = share(mine["switches_per_s"].to_numpy(dtype=np.float64), fit.half)
    apart = mine["added_by_load"] - (own[:, 0] + own[:, 1] * cold)
    return spread(apart.groupby(mine["block"]).mean().to_numpy(dtype=np.float64), c.exact)


def point_verdicts(r: Results) -> Table | None:
    """Which of /proc and eBPF is dearer at each measured point."""
    c = r.crossover
    if c is None or not c.verdicts:
        return None
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in c.verdicts:
        where = c.place(e["point"])
        row: Row = {key: e[key] for key in ("point", "numerator", "denominator")}
        row |= {name: where[name] for name in CONDITIONS}
        row |= {**ends("ratio", e["ratio"]), "p_adjusted": e["p_adjusted"], "blocks": e["blocks"]}
        rows.append({**row, "verdict": e["verdict"], "why": e["why"]})
        shown.append(
            [
                str(e["point"]),
                f"{r.run.title(e['numerator'])} over {r.run.title(e['denominator'])}",
                f"{where['processes']:,.0f}",
                f"{where['switches_per_s']:,.0f}",
                f"{where['interval_s']:g} s",
                interval(e["ratio"]),
                p_text(e["p_adjusted"]),
                e["verdict"],
                e["why"],
            ]
        )
    head = ["point", "cost of", "processes", "switches/s", "interval", "ratio", "adjusted p"]
    note = (
        "Ratio of costs: range over perturbations."
        if c.exact
        else "Ratio of costs with Fieller's 95 % interval; p: Student's paired test over blocks, "
        "Holm-adjusted over every row. Verdict on the first."
    )
    return make_table("point_verdicts", rows, [*head, "verdict", "why"], shown, note)
