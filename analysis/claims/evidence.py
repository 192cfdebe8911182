"""Finds what a criterion asks for in the summaries of runs and sessions, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.statistics.intervals import Interval
from analysis.text import interval, number, span

Entry = dict[str, Any]

SESSIONS = "sessions"  # folder of the sessions beside the studies' in data/processed
POOLED = ("ratio", "difference", "verdict", "why", "p_adjusted")
# Two sessions have one degree of freedom, a t quantile of 12.7: pooled they say less than one run.
ENOUGH_SESSIONS = 3


@dataclass(frozen=True)
class Place:
    """Row and column of a table in data/processed that a number stands in.

    The measured number is the column's, times `scale`; its interval is column_low and column_high.
    """

    folder: str  # of the run or the session, in data/processed
    table: str
    row: Mapping[str, Any]
    column: str
    scale: float = 1.0


@dataclass(frozen=True)
class Measured:
    """A number with its 95 % interval, its unit, and where it comes from."""

    value: Interval
    unit: str
    place: Place
    runs: tuple[str, ...]
    aside: str = ""  # what it is set against, for the text

    @property
    def number(self) -> str:
        """As the tables have it: 26.1× [19, 42], 11.9 [11.5, 12.3] cores per 1,000 nodes."""
        if self.unit == "×" and self.value.estimate is not None:
            v = self.value
            return f"{number(v.estimate)}× {span(v.low, v.high, v.estimate)}"
        return f"{interval(self.value)} {self.unit}"

    @property
    def text(self) -> str:
        """The number, and what it is set against."""
        return f"{self.number} ({self.aside})" if self.aside else self.number


def as_interval(value: Mapping[str, Any] | None) -> Interval:
    """An interval as a summary has it; one without an estimate for None."""
    if value is None:
        return Interval(None, None, None, 0)
    low, high, note = value.get("low"), value.get("high"), value.get("note") or ""
    return Interval(value.get("estimate"), low, high, int(value.get("n") or 0), note)


def runs_of(index: Mapping[str, Any], study: str, presets: Sequence[str]) -> list[Entry]:
    """Finished runs of a study, newest first, under the first of the presets that has any.

    The preset `exact` stands for all runs of the backend of that name, and for no other.
    """
    for preset in presets:
        wanted = (study, "exact" if preset == "exact" else "here", True)
        found = [
            run
            for run in index["runs"]
            if (run["study"], run.get("backend") or "here", run["finished"]) == wanted
            and preset in ("exact", run["preset"])
        ]
        if found:
            return sorted(found, key=lambda run: str(run["run"]), reverse=True)
    return []


def newest(index: Mapping[str, Any], study: str, presets: Sequence[str]) -> Entry | None:
    """The run that answers when nothing is pooled."""
    return next(iter(runs_of(index, study, presets)), None)


def folder_of(run: Mapping[str, Any]) -> str:
    """A run's folder in data/processed."""
    return f"{run['study']}/{run['run']}"


def first(entries: Sequence[Entry], where: Mapping[str, Any]) -> Entry | None:
    """The first entry that has each of these values."""
    return next((e for e in entries if all(e.get(k) == v for k, v in where.items())), None)


@dataclass(frozen=True)
class Contrast:
    """A declared contrast, pooled over sessions where there are some, else of one run."""

    entry: Entry  # with ratio, difference, verdict, why
    run: Entry  # the newest run
    runs: tuple[str, ...]
    folder: str
    table: str
    row: Mapping[str, Any]
    over: str  # what it generalises over

    def measured(self, name: str, unit: str, scale: float = 1.0) -> Measured | None:
        value = as_interval(self.entry.get(name))
        if value.estimate is None:
            return None
        place = Place(self.folder, self.table, self.row, name, scale)
        return Measured(value.scaled(scale), unit, place, self.runs)


def contrast(
    index: Mapping[str, Any], study: str, presets: Sequence[str], where: Mapping[str, Any]
) -> Contrast | None:
    """The contrast with these keys in the newest run; pooled, if that run is one of sessions."""
    run = newest(index, study, presets)
    entry = first(run["contrasts"], where) if run else None
    if run is None or entry is None:
        return None
    for session in index.get("sessions") or []:
        if run["run"] not in session["runs"]:
            continue
        found = first(session["contrasts"], {"id": entry["id"]})
        pooled = (found or {}).get("pooled") or {}
        has = (pooled.get("ratio") or {}).get("estimate") is not None
        if found and has and int(pooled["n_sessions"]) >= ENOUGH_SESSIONS:
            over = str(found.get("generalises") or "over sessions of this machine")
            both = {**entry, **{key: pooled[key] for key in POOLED}}
            both["detectable_percent_core"] = pooled.get("detectable")
            names = [str(s["run"]) for s in found["per_session"] if not s["reason"]]
            row = {"id": entry["id"], "session": "pooled"}
            folder = f"{SESSIONS}/{session['folder']}"
            used = tuple(sorted(names, reverse=True))
            return Contrast(both, run, used, folder, "sessions", row, over)
    row = {"id": entry["id"]}
    over = str(run.get("generalises") or "")
    return Contrast(entry, run, (str(run["run"]),), folder_of(run), "verdicts", row, over)


def by_instructions(index: Mapping[str, Any], study: str, where: Mapping[str, Any]) -> str:
    """What the exact machine says of a pair that no live run could measure; empty if nothing."""
    run = newest(index, study, ["exact"])
    keys = ("numerator", "denominator", "processes")
    wanted = {key: where.get(key) for key in keys}
    found = first(run["exact"]["contrasts"], wanted) if run else None
    if found is None or found["ratio"]["median"] is None:
        return ""
    ratio = found["ratio"]
    ends = [number(ratio[end], 3) for end in ("low", "high")]
    return (
        f"The exact virtual machine counts {number(ratio['median'], 3)} times the instructions, "
        f"{ends[0]} to {ends[1]} over {ratio['n']} perturbations; that is no time"
    )


def cell(run: Mapping[str, Any], where: Mapping[str, Any]) -> Entry:
    """The cell of a run with these keys; empty if it has none."""
    return first(run.get("cells") or [], where) or {}


def slope(run: Mapping[str, Any], arm: str, name: str, scale: float, unit: str) -> Measured | None:
    """An arm's slope by the headline, in another unit."""
    where = {"arm": arm, "measure": "headline"}
    entry = first(run.get("scaling") or [], where)
    value = as_interval(entry.get(name) if entry else None)
    if value.low is None or value.high is None:
        return None
    table = "threads" if "thread" in name else "scaling"
    place = Place(folder_of(run), table, where, name, scale)
    return Measured(value.scaled(scale), unit, place, (str(run["run"]),))


def conditions(runs: Sequence[Mapping[str, Any]], arms: Sequence[str], processes: Any) -> str:
    """Density, switch rate and interval under which the cells were measured."""
    said = "with the processes as found" if processes is None else f"{processes:,} processes"
    cells = [cell(run, {"arm": arm, "processes": processes}) for run in runs for arm in arms]
    rates = [as_interval(c.get("switches_per_s")).estimate for c in cells]
    known = [rate for rate in rates if rate is not None]
    if known:
        low, high = f"{min(known):,.0f}", f"{max(known):,.0f}"
        said += f", {low if low == high else f'{low} to {high}'} context switches a second"
    interval_ms = runs[0].get("interval_ms") if runs else None
    return said + (f", a scrape every {interval_ms / 1000:g} s" if interval_ms else "")
