"""The tables of exact runs: instructions per scrape, their slopes, and the declared contrasts."""

from __future__ import annotations

from analysis import levels
from analysis.exact import BLIND, NAMES, Digits
from analysis.results import Results
from analysis.tables.costs import Row, make_table
from analysis.text import NOTHING, Table, number

PLACES = ("user", "kernel", "bpf", "agent", "elsewhere")
NOTE = (
    "Counted by the emulator over the whole virtual machine, less an empty window: guest "
    "instructions, not a hardware counter's reading. Median and range over declared perturbations "
    f"of the start; a range is no confidence interval. Not seen: {BLIND}."
)


def columns(name: str, value: Digits) -> Row:
    """CSV columns of median, least and greatest."""
    return {name: value.median, f"{name}_least": value.low, f"{name}_greatest": value.high}


def shown(value: Digits, digits: int = 6) -> str:
    """The digits that all perturbations could share, and the range in percent."""
    if value.median is None:
        return NOTHING
    if value.low is not None and value.high is not None and value.low <= 0 < value.high:
        ends = f"{number(value.low, 2)} to {number(value.high, 2)}"  # not told from nothing
        return f"{number(value.median, 3)} [{ends}]"
    if value.high is None and value.low is not None:
        return f"{number(value.median, 3)}, at least {number(value.low, 3)}"
    spread = value.range_percent
    text = number(value.median, digits if abs(value.median) >= 1 else 3)
    return text if not spread else f"{text} ± {number(spread / 2, 2)} %"


def _level(level: int) -> str:
    """In a column of processes: their number alone, anything else in words."""
    count = levels.processes_of(level)
    if count is not None:
        return f"{count:,}"
    return NOTHING if level == levels.LEFT_ALONE else levels.text(level)


def instructions_per_scrape(r: Results) -> Table | None:
    """Every arm at every process count. None for a run that counts no instructions."""
    if not r.exact:
        return None
    rows: list[Row] = []
    text: list[list[str]] = []
    for e in r.exact:
        row: Row = {"arm": e["arm"], "title": e["title"], **levels.at(e["level"])}
        row["statistics"] = e["statistics"]
        for part in NAMES:
            row |= columns(f"{part}_instructions", e[part])
        row |= {"range_percent": e["total"].range_percent, "perturbations": e["total"].n}
        rows.append(row)
        level = _level(e["level"])
        parts = [shown(e[part], 4).split(" ±")[0] for part in PLACES]
        text.append(
            [e["title"], level, e["statistics"], shown(e["total"]), *parts, str(e["total"].n)]
        )
    named = ["of it user", "kernel", "BPF", "in its cgroup", "elsewhere"]
    head = ["collector", "processes", "statistics", "instructions per scrape", *named, "boots"]
    return make_table("instructions_per_scrape", rows, head, text, NOTE)


def instructions_per_process(r: Results) -> Table | None:
    """What one more process costs. None where no arm has two process counts."""
    if not r.exact_slopes:
        return None
    rows: list[Row] = []
    text: list[list[str]] = []
    for e in r.exact_slopes:
        row: Row = {"arm": e["arm"], "title": e["title"]}
        row |= columns("instructions_per_process_and_scrape", e["slope"])
        row |= columns("intercept_instructions_per_scrape", e["intercept"])
        rows.append({**row, "levels": " ".join(map(str, e["levels"]))})
        text.append([e["title"], shown(e["slope"], 5), shown(e["intercept"], 4)])
    head = ["collector", "instructions per process and scrape", "at no process"]
    return make_table("instructions_per_process", rows, head, text, NOTE)


def exact_contrasts(r: Results) -> Table | None:
    """The declared contrasts by instructions. None for a run that counts none."""
    if not r.exact_contrasts:
        return None
    rows: list[Row] = []
    text: list[list[str]] = []
    for e in r.exact_contrasts:
        row: Row = {key: e[key] for key in ("name", "numerator", "denominator")}
        row |= {**levels.at(e["level"]), **columns("ratio", e["ratio"])}
        rows.append({**row, "verdict": e["verdict"], "text": e["text"]})
        names = [r.run.title(e[side]) for side in ("numerator", "denominator")]
        text.append([*names, _level(e["level"]), shown(e["ratio"], 5), e["verdict"], e["text"]])
    head = ["instructions of", "over those of", "processes", "ratio", "verdict", "why"]
    return make_table("exact_contrasts", rows, head, text, NOTE)
