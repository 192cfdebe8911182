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


#: Where a hook and a collector without one stand to each other, over the rates that were measured.
MEET, CHEAPER, DEARER = "meet", "cheaper", "dearer"


def _kind(c: Mapping[str, Any], e: Mapping[str, Any], hook: str) -> str:
    if e["always_cheaper"]:
        return CHEAPER if e["always_cheaper"] == hook else DEARER
    rate, (least, most) = e["switches_per_s"]["estimate"], c["region"]["switches_per_s"]
    below, above = (CHEAPER, DEARER) if e["flatter"] == hook else (DEARER, CHEAPER)
    return above if rate > most else below if rate < least else MEET


def _every(e: Mapping[str, Any]) -> str:
    return f"with a scrape every {e['interval_s']:g} s"


def _band(e: Mapping[str, Any], most: float) -> str:
    """What is not sure of "at any rate that was measured"."""
    rate = e["switches_per_s"]
    if rate["estimate"] is None:
        return ""
    low = rate["low"]
    sure = low is None or low > most
    return "" if sure else f", for sure up to {about(low)} a second"


def _frames(
    c: Mapping[str, Any], found: Sequence[Mapping[str, Any]], hook: str, titles: Sequence[str]
) -> list[str]:
    """A clause for each way in which the two stand to each other, with its intervals."""
    kinds: dict[str, list[Mapping[str, Any]]] = {MEET: [], CHEAPER: [], DEARER: []}
    for e in found:
        kinds[_kind(c, e, hook)].append(e)
    least, most = c["region"]["switches_per_s"]
    made = []
    if kinds[MEET]:
        each = [
            f"{_rate(e['switches_per_s'])} {_every(e)}"
            + ("" if e["measured"] else " (no such combination was measured)")
            for e in kinds[MEET]
        ]
        steeper, flatter = titles if kinds[MEET][0]["steeper"] == hook else titles[::-1]
        made.append(
            f"{steeper} costs more than {flatter} above this many context switches a second: "
            f"{'; '.join(each)}"
        )
    for kind in (CHEAPER, DEARER):
        if kinds[kind]:
            each = [_every(e) + (_band(e, most) if kind == CHEAPER else "") for e in kinds[kind]]
            made.append(
                f"{titles[0]} is {kind} than {titles[1]} at any rate that was measured "
                f"({about(least)} to {about(most)} switches a second) {' and '.join(each)}"
            )
    return made


def sentences(c: Mapping[str, Any], processes: int = PROCESSES) -> list[str]:
    """One a pair: where its hook stops being the cheaper one, over the intervals."""
    counts = sorted({e["processes"] for e in c["break_even"]}, key=lambda n: abs(n - processes))
    made = []
    for hook, other, words in TOLD:
        found = _found(c, (hook, other), counts[0]) if counts else []
        if not found:
            continue
        titles = [c["arms"][arm]["title"] for arm in (hook, other)]
        clauses = _frames(c, found, hook, titles)
        made.append(f"{words}, at {counts[0]:,} processes {'; '.join(clauses)}.")
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
