"""What the study found, for the README: its sentence, the source's table in short, and links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analysis.claims.evidence import as_interval
from analysis.cores.own import CORRECTED, MEASURES, PUBLISHED, TOP, WHOLE
from analysis.exact import BACKEND
from analysis.published import number_of
from analysis.text import NOTHING, Table, interval, number, span

Summary = Mapping[str, Any]
Named = Callable[[str], str]
PRESETS = ("article", "paper", "quick")  # the source's own protocol first
NOT_YET = "No run of the study `cores` is shipped yet."
MEASURE = "instructions"  # of the process alone
SOURCES_WINDOW_S = 10


def newest(summaries: Sequence[Summary]) -> Summary | None:
    """The newest finished live run, of the first preset that has one."""
    live = [
        s
        for s in summaries
        if s["study"] == "cores" and s["finished"] and (s.get("backend") or "here") != BACKEND
    ]
    for preset in PRESETS:
        if found := [s for s in live if s["preset"] == preset]:
            return max(found, key=lambda s: str(s["run"]))
    return None


def counted(summaries: Sequence[Summary]) -> str:
    """The ratios of instructions by architecture in a sentence; empty without an exact run."""
    runs: dict[str, Summary] = {}
    for s in sorted(summaries, key=lambda s: str(s["run"])):
        if s["study"] == "cores" and s["finished"] and s.get("backend") == BACKEND:
            runs[str(s["fingerprint"]["architecture"])] = s
    said = []
    for architecture, run in sorted(runs.items()):
        of = {
            (e["measure"], e["stress_threads"]): e["ratio"]
            for e in run["cores"]["ratios"]
            if e["denominator"] == PUBLISHED and e["ratio"]["estimate"] is not None
        }
        for threads in sorted(threads for measure, threads in of if measure == MEASURE):
            where = f"beside {threads:,} threads" if threads else "on a free system"
            alone, whole = of[MEASURE, threads], of.get((WHOLE[MEASURE], threads))
            told = f"on {architecture} {where} {_range(alone)}"
            said.append(told + (f", of the whole machine {_range(whole)}" if whole else ""))
    if not said:
        return ""
    return (
        "In instructions of the exact machine, from the start of a tool to its end ten seconds "
        "later, top took of its own, as the source counts, so many times what the published "
        f"monitor took: {'; '.join(said)}. The whole machine includes its program in other tasks."
    )


def _range(ratio: Mapping[str, Any]) -> str:
    ends = f"{number(ratio['low'])} to {number(ratio['high'])}"
    return f"{number(ratio['estimate'])} [{ends}]"


def _window(run: Summary) -> str:
    """A shorter life than the source's is the more loading and the less scrapes: so it is said."""
    window_s = min(float(e["window_s"]) for e in run["cores"]["own"])
    if window_s > 0.9 * SOURCES_WINDOW_S:
        return ""
    return (
        f" Windows of {number(window_s, 2)} s; the source's were {SOURCES_WINDOW_S} s: a ratio of "
        "this table is a first look and answers none of its claims."
    )


def _times(ratio: Mapping[str, Any]) -> str:
    value = as_interval(ratio)
    if value.estimate is None or (value.low is None and value.high is None):
        return NOTHING
    return f"{number(value.estimate)}× {span(value.low, value.high, value.estimate)}"


def compared(run: Summary) -> str:
    """The source's table in short, as pipe lines: top over its monitor, and over ours."""
    cores: Mapping[str, Any] = run["cores"]
    found = {(e["measure"], e["stress_threads"], e["denominator"]): e for e in cores["ratios"]}
    shown: list[list[str]] = []
    for (measure, threads, below), e in found.items():
        if below != PUBLISHED:
            continue
        ours, unit = found.get((measure, threads, CORRECTED)), MEASURES[measure].unit
        claimed = number_of(run["study"], measure, threads).get("ratio")
        shown.append(
            [
                f"{threads:,} threads" if threads else "free system",
                MEASURES[measure].title + (f", {unit}" if unit else ""),
                interval(as_interval(e["numerator_cost"])),
                interval(as_interval(e["denominator_cost"])),
                _times(e["ratio"]),
                NOTHING if claimed is None else f"{claimed:g}×",
                _times(ours["ratio"]) if ours else NOTHING,
            ]
        )
    head = ["", "measure", TOP, "monitor as published", "ratio", "the source's ratio"]
    head += [f"{TOP} over the corrected monitor"]
    lines = Table("compared", head, [], head, shown).markdown()
    return lines.strip()


def block(summaries: Sequence[Summary], to: Named) -> str:
    """The README's part; to: a path in data/processed to a link."""
    run = newest(summaries)
    if run is None:
        return NOT_YET
    folder = f"{run['study']}/{run['run']}"
    parts = [str(run["sentence"])]
    figure = f"{folder}/figures/source_table-7in.svg"
    if "figures/source_table-7in.svg" in run["files"]:
        alt = "The source's ratios of top to the eBPF monitor, ours with intervals, published ones"
        parts.append(f"![{alt}]({to(figure)})")
    parts.append(
        f"*{run['machine']}; {run['started_utc'][:10]}. What `perf stat` counts from the start of "
        "each tool to its end, as the source counts, and with the kernel program's time in other "
        f"tasks added; 95 % intervals over blocks.{_window(run)}*"
    )
    parts.append(compared(run))
    parts += filter(None, [counted(summaries)])
    links = [
        f"[{words}]({to(f'{folder}/tables/{name}.md')})"
        for name, words in (
            ("source", "the whole table with its verdicts"),
            ("arms", "every tool in mid-life"),
            ("core_accuracy", "what each tool says of known activity"),
            ("threads", "cost against threads"),
            ("verdicts", "verdicts"),
        )
        if f"tables/{name}.md" in run["files"]
    ]
    parts.append(f"More: {', '.join(links)}.")
    return "\n\n".join(parts)
