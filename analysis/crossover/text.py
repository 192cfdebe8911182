"""What a crossover run says in words: the sentence of a run and the block of the README."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analysis.crossover.advice import newest
from analysis.exact import BACKEND
from analysis.text import about, span

Summary = Mapping[str, Any]
#: Pairs of the sentences: eBPF's hook against /proc, as published and both at their floor.
TOLD = (
    ("sched_switch_published", "proc_stat", "As published"),
    ("sched_switch", "proc_stat_tuned", "With both at their floor"),
)
PROCESSES = 600  # the article's larger machine
NOT_YET = (
    "Not yet measured: study `crossover` will say at which rate of context switches eBPF stops "
    "being the cheaper one."
)


def _found(c: Mapping[str, Any], pair: tuple[str, str], processes: int) -> list[Mapping[str, Any]]:
    return [
        e
        for e in c["break_even"]
        if {e["steeper"], e["flatter"]} == set(pair) and e["processes"] == processes
    ]


def _rate(value: Mapping[str, Any]) -> str:
    low, high = (None if v is None else float(f"{v:.3g}") for v in (value["low"], value["high"]))
    near = float(f"{value['estimate']:.3g}")
    return about(near) + ("" if low is None and high is None else f" {span(low, high, near)}")


def _one(c: Mapping[str, Any], e: Mapping[str, Any]) -> str:
    if e["always_cheaper"]:
        return f"{c['arms'][e['always_cheaper']]['title']} is cheaper at any rate"
    rate = e["switches_per_s"]
    if not e["measured"]:
        region = c["region"]["switches_per_s"]
        if rate["estimate"] > region[1]:
            return f"beyond the {about(region[1])} that were measured"
        return f"{_rate(rate)}, beyond what was measured"
    return _rate(rate)


def sentences(c: Mapping[str, Any], processes: int = PROCESSES) -> list[str]:
    """One a pair: where its hook stops being the cheaper one, over the intervals."""
    counts = sorted({e["processes"] for e in c["break_even"]}, key=lambda n: abs(n - processes))
    made = []
    for hook, other, words in TOLD:
        found = _found(c, (hook, other), counts[0]) if counts else []
        if not found:
            continue
        each = [f"{_one(c, e)} with a scrape every {e['interval_s']:g} s" for e in found]
        titles = [c["arms"][arm]["title"] for arm in (hook, other)]
        made.append(
            f"{words}, at {counts[0]:,} processes {titles[0]} costs more than {titles[1]} above "
            f"this many context switches a second: {'; '.join(each)}."
        )
    return made


def sentence(summary: Summary) -> str:
    """A run's outcome in a sentence or two."""
    c = summary["crossover"]
    said = sentences(c) if c else []
    return " ".join(said) or "crossover: no pair of collectors that a switch rate decides."


Named = Callable[[str], str]


def block(summaries: Sequence[Summary], to: Named, table: Named) -> str:
    """The README's part: sentences, map, model table, held-out errors; "not yet" without a run.

    to: a path in data/processed to a link; table: a table's pipe lines, by its path there.
    """
    run = newest(summaries) or newest(summaries, BACKEND)
    if run is None:
        return NOT_YET
    c, folder = run["crossover"], f"{run['study']}/{run['run']}"
    parts = [*sentences(c)]
    figure = f"{folder}/figures/map-7in.svg"
    if "figures/map-7in.svg" in run["files"]:
        alt = "Which collector costs least, over processes and context switches a second"
        parts.append(f"![{alt}]({to(figure)})")
    ends = "range over perturbations" if c["exact"] else "95 % interval over blocks"
    parts.append(
        f"*{c['machine']}; {run['started_utc'][:10]}; [{ends}]. Every coefficient is this "
        "machine's: others are other ones.*"
    )
    parts.append(table(f"{folder}/tables/model.md"))
    links = [
        f"[{words}]({to(f'{folder}/tables/{name}.md')})"
        for name, words in (
            ("break_even", "break-even of every pair"),
            ("points", "every measured point"),
            ("held_out", "held-out points"),
            ("fleet", "what a fleet saves"),
        )
        if f"tables/{name}.md" in run["files"]
    ]
    parts.append(f"More: {', '.join(links)}.")
    return "\n\n".join(parts)
