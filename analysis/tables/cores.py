"""The tables of study `cores`: the source's own beside ours, accuracy, and cost against threads."""

from __future__ import annotations

from analysis import exact, levels
from analysis.cores import own
from analysis.exact import BLIND
from analysis.published import number_of
from analysis.results import Results
from analysis.tables.costs import Row, make_table, ratio_text
from analysis.text import NOTHING, Table, ends, interval, number

SOURCE_NOTE = (
    "What `perf stat` counts of each tool's own processes from its start to its end: loading and "
    "attaching included, the kernel program's time in other tasks left out, as the source "
    "counts; the last row of each level adds it. Mean [95 % interval] over blocks; ratio: "
    "Fieller's, and by it alone the verdict. System and user time are "
    "the kernel's split by clock ticks: of a process that runs for "
    "milliseconds it knows little."
)
EXACT_NOTE = (
    "Instructions from the tool's start to its end: of its own processes, as the source counts, "
    "and of the whole virtual machine, BPF programs in other tasks included, less those of as long "
    "an empty window. Median and range over declared perturbations, no hardware counter's reading. "
    f"Not seen: {BLIND}."
)


def source(r: Results) -> Table | None:
    """The source's table: both tools, their ratio, and what was published. None without trials."""
    cells = {(e["arm"], e["level"]): e for e in r.own}
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.own_ratios:
        measure, level, c = own.MEASURES[e["measure"]], e["level"], e["comparison"]
        published = e["denominator"] == own.PUBLISHED
        claim = number_of(r.run.study, e["measure"], levels.stress_of(level)) if published else {}
        row: Row = {key: e[key] for key in ("id", "measure", "numerator", "denominator")}
        row |= {**levels.at(level), "unit": measure.unit, "n": len(c.blocks)}
        row |= ends("numerator_value", c.numerator) | ends("denominator_value", c.denominator)
        row |= ends("ratio", c.ratio)
        row |= {
            "verdict": e["verdict"],
            "why": e["why"],
            **{f"published_{k}": v for k, v in claim.items()},
        }
        rows.append(row)
        sides = [c.numerator, c.denominator]
        shown.append(
            [
                measure.title + (f", {measure.unit}" if measure.unit else ""),
                levels.text(level),
                interval(sides[0]),
                r.run.title(e["denominator"]),
                interval(sides[1]),
                ratio_text(c),
                e["verdict"],
                *(f"{claim[k]:g}" if k in claim else NOTHING for k in ("top", "ebpf")),
                f"{claim['ratio']:g}×" if "ratio" in claim else NOTHING,
            ]
        )
    if not rows:
        return None
    head = ["measure", "level", r.run.title(own.TOP), "monitor", "of it", "ratio"]
    head += ["verdict on the first"]
    head += ["published: top", "published: monitor", "published ratio"]
    window = next(iter(cells.values()))["window_s"]
    note = EXACT_NOTE if exact.counted(r.run) else SOURCE_NOTE
    said = f"Windows of {number(window)} s."
    return make_table("source", rows, head, shown, note, said)


def core_accuracy(r: Results) -> Table | None:
    """Bias and error of each tool under each known load. None for a run without such trials."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    against = {(e["arm"], e["load"]): e for e in r.core_contrasts}
    for e in r.core_accuracy:
        pair = against.get((e["arm"], e["load"]))
        row: Row = {key: e[key] for key in ("arm", "title", "load", "n", "each_cpu")}
        row |= {**ends("bias_points", e["bias"]), **ends("error_points", e["error"])}
        row |= {"worst_points": e["worst"]}
        row |= ends("monitor_less_this_points", pair["difference"] if pair else None)
        row |= {"closer": pair["closer"] if pair else None, "reason": e["reason"]}
        rows.append(row)
        said = {None: NOTHING, True: "each CPU", False: "all together"}[e["each_cpu"]]
        shown.append(
            [
                e["title"],
                e["load"],
                said,
                interval(e["bias"]) if e["n"] else e["reason"] or NOTHING,
                interval(e["error"]) if e["n"] else NOTHING,
                NOTHING if e["worst"] is None else number(e["worst"]),
                interval(pair["difference"]) if pair else NOTHING,
                {"sched_switch": "the monitor", "polling": "this one"}.get(
                    pair["closer"], pair["closer"]
                )
                if pair
                else NOTHING,
                str(e["n"]),
            ]
        )
    if not rows:
        return None
    head = ["tool", "CPUs active for", "reports", "bias, points", "error, points", "worst, points"]
    head += ["monitor's error less this one's", "closer at 95 %", "trials"]
    note = (
        "Percentage points of a CPU: reported less known activity, each report and CPU; bias: "
        "the mean, error: the mean of the absolute ones, 95 % t interval over blocks. Known: the "
        "load's thread on each CPU by its own clock, and everything else that ran there by the "
        "scheduler's account, the tool itself too."
    )
    return make_table("core_accuracy", rows, head, shown, note)


def threads(r: Results) -> Table | None:
    """What a stress thread adds. None for a run without levels of threads."""
    rows: list[Row] = []
    shown: list[list[str]] = []
    for e in r.thread_lines:
        row: Row = {key: e[key] for key in ("arm", "title")} | {"n": e["slope"].n}
        row |= {"measure": "headline", **ends("slope_percent_core_per_thread", e["slope"])}
        row |= {**ends("intercept_percent_core", e["intercept"])}
        row |= {**ends("ns_per_thread_and_scrape", e["per_thread"])}
        rows.append({**row, "largest_relative_misfit": e["misfit"]})
        misfit = NOTHING if e["misfit"] is None else f"{100 * e['misfit']:.0f} %"
        texts = [
            interval(e["slope"].scaled(100)),
            interval(e["per_thread"]),
            interval(e["intercept"]),
        ]
        shown.append([e["title"], *texts, misfit, str(e["slope"].n)])
    if not rows:
        return None
    head = [
        "tool",
        "% of a core per 100 threads",
        "ns per thread and scrape",
        "intercept, % of a core",
    ]
    head += ["largest misfit", "blocks"]
    note = "Headline; a line in each block, averaged; 95 % t intervals over blocks."
    return make_table("threads", rows, head, shown, note)
