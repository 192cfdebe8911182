"""The tables about the instruments: fidelity, calibration, cross-check, noise, harness."""

from __future__ import annotations

from analysis.cores.threads import has_stress
from analysis.crossover.calibration import table as calibration_by_pause
from analysis.fidelity import percent
from analysis.levels import at
from analysis.measures import MEASURES, level_text
from analysis.noise import PROJECTED_BLOCKS
from analysis.results import Results
from analysis.tables.costs import Row, make_table
from analysis.text import NOTHING, Table, ends, interval, number
from analysis.workloads import in_words


def fidelity(r: Results) -> Table:
    """What each collector reports of a known CPU use."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.fidelity:
        row: Row = {key: e[key] for key in ("arm", "workload", "n")}
        row |= {**ends("error", e["error"]), "median_absolute": e["median_absolute"]}
        row |= {key: e[key] for key in ("worst", "allowed", "verdict", "reason")}
        rows.append(row)
        mean, worst = (
            NOTHING if v is None else percent(v, 2) for v in (e["error"].estimate, e["worst"])
        )
        what = [e["title"], in_words(e["workload"])]
        allowed = f"±{100 * e['allowed']:.2g} %"
        shown.append([*what, mean, worst, allowed, str(e["n"]), e["verdict"], e["reason"]])
    head = ["arm", "load", "reported / known − 1", "worst", "allowed", "trials", "verdict"]
    note = (
        "Allowed: 2 % of a known CPU use or, through /proc, the two clock ticks of 10 ms by which "
        "each process's user and system times can be short. Misses: it reports less, and its YAML "
        "lists this blind spot. A wrong arm, or one that misses the steady load, gets no verdict "
        "on its cost."
    )
    return make_table("fidelity", rows, [*head, "reason"], shown, note)


def calibration(r: Results) -> Table:
    """Added time of one context switch, per arm and pace."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    if r.has_points or has_stress(r.measures):  # what a cell is counted with is the curve
        return _by_pause(r)
    for e in r.calibration:
        row: Row = {"arm": e["arm"], "pace": e["pace"], "n": e["interval"].n}
        rows.append({**row, **ends("ns_per_switch", e["interval"]), "reason": e["reason"]})
        text = e["reason"] or interval(e["interval"])
        shown.append([r.run.title(e["arm"]), e["pace"], text, str(e["interval"].n)])
    note = (
        "External instrument: work with the program attached less the same work with the null "
        "agent, per switch, paired by block; 95 % t interval. Paced is used for the headline."
    )
    head = ["arm", "pace", "ns per switch", "blocks"]
    return make_table("calibration", rows, head, shown, note)


def _by_pause(r: Results) -> Table:
    """Added time of one context switch, per arm and pause."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    curves = r.measures.curves
    for e in calibration_by_pause(r.run, curves):
        row: Row = {"arm": e["arm"], "pause_us": e["pause_us"], "events_per_s": e["rate"]}
        row |= {"n": e["interval"].n, "events": e["events"], **ends("ns_per_switch", e["interval"])}
        rows.append({**row, **ends("curve_ns_per_switch", e["curve"])})
        what = [r.run.title(e["arm"])]
        what += [f"{value:,.0f}" for value in (e["pause_us"], e["rate"], e["events"])]
        fitted = interval(e["curve"]) if e["curve"].n else ""
        shown.append([*what, interval(e["interval"]), fitted, str(e["interval"].n)])
    note = (
        "External instrument: the same work with the program attached less without it, per switch, "
        "95 % t interval over blocks, after idling so long before each exchange. What a cell is "
        "counted with is the curve: a cost when warm, and more for the share that finds the "
        f"machine cold, one in two at {curves.half:,.0f} switches a second, fitted in each block "
        "to all pauses by their events. "
        "The process that only sleeps has no program: its rows are the instrument's own error."
    )
    head = ["arm", "pause, µs", "events/s", "events", "ns per switch", "by the curve", "blocks"]
    return make_table("calibration", rows, head, shown, note)


def crosscheck(r: Results) -> Table:
    """Two instruments on the same arm: kernel statistics against the headline."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.crosscheck:
        row: Row = {"arm": e["arm"], **at(e["level"])}
        for name in ("headline", "published", "residual"):
            row |= ends(f"{name}_percent_core", e[name])
        row |= ends("statistics_ns_per_run", e["per_run"])
        row |= ends("residual_ns_per_run", e["per_run_gap"])
        rows.append({**row, "outcome": e["text"]})
        gap = e["per_run_gap"]
        shown.append(
            [
                r.run.title(e["arm"]),
                level_text(e["level"]),
                interval(e["headline"]),
                interval(e["published"]),
                interval(e["residual"]),
                interval(e["per_run"]),
                NOTHING if gap is None else interval(gap),
                e["text"],
            ]
        )
    head = ["arm", "level", "headline, % of a core", "published method, % of a core"]
    head += ["residual, % of a core", "ns per run, statistics", "residual, ns per run", "outcome"]
    note = (
        "Kernel statistics leave out the dispatch to the program and add their own two clock reads "
        "to the run while they are on; the residual shows what that comes to. 95 % intervals."
    )
    return make_table("crosscheck", rows, head, shown, note)


def noise(r: Results) -> Table:
    """Spread over blocks per cell, and what more blocks would buy."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.spread:
        row: Row = {key: e[key] for key in ("arm", "measure", "n", "mean", "cv")}
        row |= at(e["level"])
        names = [f"detectable_{n}_blocks" for n in PROJECTED_BLOCKS]
        rows.append({**row, **{name: e[name] for name in names}})
        cv = NOTHING if e["cv"] is None else f"{100 * e['cv']:.1f} %"
        effects = ["out of reach" if e[name] is None else number(e[name], 2) for name in names]
        what = [r.run.title(e["arm"]), level_text(e["level"]), MEASURES[e["measure"]]]
        shown.append([*what, str(e["n"]), cv, *effects])
    head = ["arm", "level", "method", "blocks", "cv over blocks"]
    head += [f"detectable with {n} blocks" for n in PROJECTED_BLOCKS]
    note = (
        "Detectable: smallest true difference, in percent of a core, that a single contrast of two "
        "arms with this spread finds with 80 % power; out of reach: p cannot fall below .05. "
        f"Drift of the run: {interval(r.drift['slope'])} % of the mean per block."
    )
    return make_table("noise", rows, head, shown, note)


def harness(r: Results) -> Table:
    """What measuring itself cost."""
    h = r.harness
    row: Row = {
        **ends("percent_core", h["percent_core"]),
        "max_percent_core": h["max_percent_core"],
    }
    row |= {"wakeups_max": h["wakeups_max"], "windows": h["windows"]}
    text = [interval(h["percent_core"]), number(h["max_percent_core"])]
    text += [NOTHING if h["wakeups_max"] is None else str(h["wakeups_max"]), str(h["windows"])]
    head = ["harness, % of a core", "largest in a window", "most wake-ups in a window", "windows"]
    note = (
        "The runner and what drives it (its parents and what they started) inside the windows; "
        "the bound is 0.05 % and no wake-up."
    )
    return make_table("harness", [row], head, [text], note)
