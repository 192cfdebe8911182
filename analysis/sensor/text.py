"""What the study found, for the README: its sentence on the optimisations, figure and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analysis.exact import BACKEND
from analysis.text import number

Summary = Mapping[str, Any]
Named = Callable[[str], str]
PRESETS = ("paper", "quick")
NOT_YET = "No run of the study `sensor` is shipped yet."
SAID = {
    "filter_total": "the file probe with its filter in user space costs {} the one in the kernel",
    "buffer_total": "perf buffers, woken alike, {} the ring buffer",
    "bytes_volume": "a report for each send makes {} the events of sums by socket",
    "all_three_total": "the naive sensor costs {} the optimised one",
}


def newest(summaries: Sequence[Summary]) -> Summary | None:
    """The newest finished live run with such trials, of the first preset that has one."""
    live = [
        s
        for s in summaries
        if s.get("sensor") and s["finished"] and (s.get("backend") or "here") != BACKEND
    ]
    for preset in PRESETS:
        if found := [s for s in live if s["preset"] == preset]:
            return max(found, key=lambda s: str(s["run"]))
    return None


def sentence(run: Summary) -> str:
    """The declared ratios with their intervals; one without a verdict says so."""
    said = []
    for entry in run["sensor"]["ratios"]:
        ratio = entry.get("ratio") or {}
        if entry["id"] in SAID and ratio.get("estimate") is not None:
            ends = [number(ratio[end]) for end in ("low", "high")]
            size = f"{number(ratio['estimate'])} times [{', '.join(ends)}]"
            words = SAID[entry["id"]].format(size)
            said.append(words + (", undetermined" * (entry["verdict"] == "undetermined")))
    whole = "; ".join(said)
    return f"{whole[0].upper()}{whole[1:]}." if whole else ""


def block(summaries: Sequence[Summary], to: Named, table: Named) -> str:
    """The README's part; to: a path in data/processed to a link; table: a table's pipe lines."""
    run = newest(summaries)
    if run is None:
        return NOT_YET
    folder = f"{run['study']}/{run['run']}"
    parts = list(filter(None, [sentence(run)]))
    figure = "figures/optimisation_waterfall-7in.svg"
    if figure in run["files"]:
        alt = "Cost of the sensor from the naive one to all three optimisations"
        parts.append(f"![{alt}]({to(f'{folder}/{figure}')})")
    parts.append(
        f"*{run['machine']}; {run['started_utc'][:10]}. Per event of a load; 95 % intervals over "
        "blocks; trials that lost events are in no ratio.*"
    )
    if "tables/sensor_pairs.md" in run["files"]:
        parts.append(table(f"{folder}/tables/sensor_pairs.md"))
    links = [
        f"[{words}]({to(f'{folder}/tables/{name}.md')})"
        for name, words in (
            ("hooks", "every hook"),
            ("hook_shares", "which hooks carry the total"),
            ("interactions", "interactions"),
            ("trie", "the size of the path set"),
            ("losses", "losses"),
        )
        if f"tables/{name}.md" in run["files"]
    ]
    return "\n\n".join([*parts, *([f"More: {', '.join(links)}."] if links else [])])
