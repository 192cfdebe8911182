"""A run's outcome as the sentence that a reader remembers, from its summary."""

from __future__ import annotations

from typing import Any

from analysis.crossover import text as crossover
from analysis.exact import BACKEND
from analysis.text import number, span


def _exact_sentence(summary: dict[str, Any]) -> str:
    """What a scrape executes, for the first declared contrast that has instructions of both."""
    found = {(c["arm"], *_level(c)): c for c in summary["exact"]["cells"]}
    for entry in summary["exact"]["contrasts"]:
        pair = [found.get((entry[s], *_level(entry))) for s in ("numerator", "denominator")]
        x, y = (side and side["total"]["median"] for side in pair)
        ratio = entry["ratio"]
        if x is None or y is None or ratio["median"] is None:
            continue
        count = entry["processes"]
        many = "every process" if count is None else f"{count:,} processes"
        what = "the system gauges" if summary["study"] == "gauges" else f"the CPU time of {many}"
        if "stress_threads" in entry:
            what = f"the CPUs{_beside(entry['stress_threads'])}"
        names = [side["title"] for side in pair if side]
        ends = f"{number(ratio['low'], 4)} to {number(ratio['high'], 4)}"
        if ratio["high"] is None:
            ends = f"at least {number(ratio['low'], 4)}"
        return (
            f"A scrape of {what} executes {number(x / 1e6, 4)} million instructions through "
            f"{names[0]} and {number(y / 1e6, 4)} million through {names[1]}: "
            f"{number(ratio['median'], 4)} times, {ends} over {ratio['n']} declared perturbations."
        )
    return f"{summary['study']}: no contrast with instructions of both arms."


def _level(entry: dict[str, Any]) -> tuple[int | None, int | None]:
    return entry["processes"], entry.get("stress_threads")


def _beside(threads: int) -> str:
    return f" beside {threads:,} threads that sleep and wake" if threads else " of a free system"


def _of_cores(summary: dict[str, Any]) -> str:
    """The first contrast at the fewest and, if there is one, at the most threads."""
    first = summary["contrasts"][0]
    sides = ("numerator", "denominator")
    same = [e for e in summary["contrasts"] if all(e[s] == first[s] for s in sides)]
    titles = {cell["arm"]: cell["title"] for cell in summary["cells"]}
    made = []
    for entry in sorted(same, key=lambda e: int(e["stress_threads"])):
        x, y = ((entry.get(f"{s}_cost") or {}).get("estimate") for s in sides)
        where = f"the CPUs{_beside(entry['stress_threads'])}"
        if x is None or y is None:
            made.append(f"{where}: {entry['why']}")
            continue
        said = f"{number(x, 2)} % of a core through {titles[first['numerator']]} and "
        said += f"{number(y, 2)} % through {titles[first['denominator']]}"
        ratio = entry["ratio"]
        if ratio["estimate"] is not None and (ratio["low"], ratio["high"]) != (None, None):
            near = span(ratio["low"], ratio["high"], ratio["estimate"])
            said += f" ({number(ratio['estimate'])} times {near}, {entry['verdict']})"
        made.append(f"{where} {said}")
    text = "; ".join(made)
    return f"Watching {_every(summary['interval_ms'])} cost, kernel work included: {text}."


def _every(interval_ms: int | None) -> str:
    if interval_ms in (None, 1000):
        return "each second"
    seconds = (interval_ms or 0) / 1000
    return f"every {seconds:g} s"


def _part(side: dict[str, Any], name: str) -> str:
    value = side.get("estimate")
    if value is None:
        reason = side["reason"].removeprefix("unavailable: ")
        return f"{name}: unavailable ({reason})"
    return f"{number(value, 2)} % of a core {name}"


def sentence(summary: dict[str, Any]) -> str:
    """The outcome in one sentence, from a summary (a dict or the loaded summary.json)."""
    main = summary["main"]
    if summary.get("crossover"):
        return crossover.sentence(summary)
    if summary.get("backend") == BACKEND:
        return _exact_sentence(summary)
    if main is None and summary["study"] == "cores" and summary["contrasts"]:
        return _of_cores(summary)
    if main is None:
        verdicts = [f"{e['id']}: {e['verdict']}" for e in summary["contrasts"]]
        return f"{summary['study']}: {'; '.join(verdicts) or 'no declared contrast'}."
    count = main["processes"]
    many = "every process'" if count is None else f"{count:,} processes'"
    what = "the system gauges" if summary["study"] == "gauges" else f"{many} CPU"
    text = f"Reading {what} {_every(main['interval_ms'])} cost "
    proc, ebpf = main["proc"], main["ebpf"]
    if proc["estimate"] is None or ebpf["estimate"] is None:
        return text + f"{_part(proc, 'through /proc')}; {_part(ebpf, 'through eBPF')}."
    text += f"{number(proc['estimate'], 2)} % of a core through /proc and "
    text += f"{number(ebpf['estimate'], 2)} % through eBPF, kernel work included"
    text += "" if main["measure"] == "headline" else " (by the published method)"
    ratio = main["ratio"]
    if main["failed"]:  # a collector that is cheap because it is wrong is a failed arm
        return text + f": no ratio, {main['failed']}."
    if ratio is None or ratio["estimate"] is None:
        return text + ": no ratio, the eBPF cost is not above zero."
    if ratio["low"] is None and ratio["high"] is None:
        text += f": {number(ratio['estimate'])} times ({ratio.get('note', 'no interval')})"
    else:
        near = span(ratio["low"], ratio["high"], ratio["estimate"])
        text += f": {number(ratio['estimate'])} times {near}"
    if main["article_ratio"] is None:
        return text + "."
    about = main["article_processes"]
    about = "" if about == count else f" for about {about:,}"
    return text + f"; the article says {main['article_ratio']:g}{about}."
