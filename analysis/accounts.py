"""Independent accounts of one cost: what a run of a program takes, by every instrument.

    external off   added ns per event, kernel statistics off: what is really paid
    external on    the same while statistics are on
    statistics     run_time_ns / run_cnt of the program in the external trials with statistics on
    in place       run_time_ns / run_cnt in the cost trials: the articles' method, at the rate at
                   which the machine switches by itself

    statistics cost   external on - external off: what switching statistics on costs by itself;
                      unattached: the same of the turns without a program, those of all trials
                      on the event together (before schema 3: of the null agent's trials)
    residual          external off - statistics
    unexplained       residual less the residual of the empty program on the same event

Each difference is formed inside a block, so that its interval is the joint one of both accounts: it
carries their covariance, and drift between blocks cancels.

Why an empty program explains.  Statistics time a program from just before its first instruction to
just after its last: the call chain to it (dispatch) is left out, and about one of the two clock
reads is inside, which is only there while statistics are on.  Neither depends on what the program
does.  A program that returns at once has nothing else, so its residual is dispatch less clock read,
measured on the same event in the same blocks.  To dispatch belongs whatever the kernel does only
because something is attached: a traced system call makes every system call take a longer way.  An
empty program that is attached in another way than the program has another dispatch; that difference
stays in the unexplained part.
"""

from __future__ import annotations

from itertools import product
from typing import Any, cast

import pandas as pd

from analysis.external import NULL_AGENT, PACES, added, events, has_turns, paired_difference
from analysis.measures import Measures
from analysis.statistics.intervals import Interval, mean_interval
from analysis.text import interval, number
from analysis.workloads import of_planned, ranked

# Two accounts agree where the interval of their difference holds 0 and is not so wide that it would
# also hold a second account that sees only half of the cost, or where it lies inside a tenth of the
# cost: the margin of equivalence of the contrasts.
WIDEST = 0.5
SMALL = 0.1
# Below this the program did not run at the events that were counted, or the kernel skipped it.
FEWEST_RUNS = 0.98

Entry = dict[str, Any]


Key = tuple[str, str, str, str]


def _split(frame: pd.DataFrame) -> dict[Key, pd.DataFrame]:
    """By arm, workload, pace and statistics."""
    keys = ["arm", "workload", "pace", "statistics"]
    return {cast(Key, key): cell for key, cell in frame.groupby(keys)}


def _by_block(cell: pd.DataFrame | None) -> pd.Series[float]:
    return pd.Series(dtype=float) if cell is None else cell.groupby("block")["value"].mean()


class _Cells:
    """The run's external trials, by arm, workload, pace and statistics."""

    def __init__(self, measures: Measures) -> None:
        self.measures, self.run = measures, measures.run
        self.has_turns = has_turns(self.run)
        each = events(self.run)
        names = ["workload", "pace", "statistics", "block"]
        self.alone = each.groupby(names)["alone"].mean()
        self.each, self.added = _split(each), _split(added(each))
        self.arms = self.run.arms
        self.numbers: dict[Key, set[int]] = {}
        for t in self.run.plan["trials"]:
            if t["kind"] == "external":
                key = (str(t["arm"]), of_planned(t), str(t["pace"]), str(t.get("statistics")))
                self.numbers.setdefault(key, set()).add(int(t["trial"]))
        self.tried = self._tried()

    def _tried(self) -> list[tuple[str, str, str]]:
        """Arm, workload and pace of every program that is timed with statistics off and on."""
        off, on = ({key[:3] for key in self.numbers if key[3] == state} for state in ("off", "on"))
        both = off & on
        return [
            (arm, workload, pace)
            for workload in ranked({key[1] for key in both})
            for arm in self.arms
            for pace in PACES
            if arm != NULL_AGENT and (arm, workload, pace) in both
        ]

    def external(self, arm: str, workload: str, pace: str, state: str) -> pd.Series[float]:
        """Added ns per event, by block."""
        return _by_block(self.added.get((arm, workload, pace, state)))

    def unattached(self, workload: str, pace: str) -> Interval:
        """Cost of statistics where no program is attached, ns per event."""
        return paired_difference(*(self.bare(workload, pace, state) for state in ("on", "off")))

    def bare(self, workload: str, pace: str, state: str) -> pd.Series[float]:
        """Ns per event where no program is attached, by block."""
        if not self.has_turns:
            return _by_block(self.each.get((NULL_AGENT, workload, pace, state)))
        key = (workload, pace, state)
        return self.alone.loc[key] if key in self.alone.index else pd.Series(dtype=float)

    def statistics(self, arm: str, workload: str, pace: str) -> tuple[pd.Series[float], float]:
        """Kernel statistics: ns per run by block, and runs per counted event over all blocks."""
        rows = self.each.get((arm, workload, pace, "on"))
        rows = None if rows is None else rows[rows["runs"] > 0].dropna(subset=["run_ns"])
        if rows is None or rows.empty:
            return pd.Series(dtype=float), 0.0
        sums = rows.groupby("block")[["run_ns", "runs", "events"]].sum()
        return sums["run_ns"] / sums["runs"], float(sums["runs"].sum() / sums["events"].sum())

    def residual(self, arm: str, workload: str, pace: str) -> pd.Series[float]:
        """External off less statistics, by block."""
        off = self.external(arm, workload, pace, "off")
        return (off - self.statistics(arm, workload, pace)[0]).dropna()

    def empty(self, arm: str, workload: str, pace: str) -> str | None:
        """The arm whose program does nothing on the same event, at best attached the same way."""
        found = [other for other in self.arms if self.does_nothing(other)]
        found = [other for other in found if (other, workload, pace) in self.tried]
        alike = [other for other in found if self.attachment(other) == self.attachment(arm)]
        return next(iter([*alike, *found]), None)

    def attachment(self, arm: str) -> str:
        """Perf tracepoints go through the tracing file system, BTF ones do not."""
        return "perf" if "tracefs" in (self.arms[arm].get("needs") or []) else "BTF"

    def does_nothing(self, arm: str) -> bool:
        """True if the arm has programs, and they note no fact."""
        return bool(self.arms[arm].get("programs")) and not self.arms[arm].get("fields")

    def in_place(self, arm: str) -> pd.Series[float]:
        """Ns per run in the cost trials, at the highest level that has it."""
        for level in reversed(self.measures.levels):
            found = self.measures.get("ns_per_run", arm, level)
            if len(found):
                return found
        return pd.Series(dtype=float)

    def reason(self, arm: str, workload: str, pace: str) -> str:
        """Why an account is missing, in words."""
        trials = self.run.trials[["trial", "block", "status", "reason"]]
        needed = (arm,) if self.has_turns else (arm, NULL_AGENT)
        for name, state in product(needed, ("off", "on")):
            numbers = self.numbers.get((name, workload, pace, state), set())
            rows = trials[trials["trial"].isin(numbers) & (trials["block"] > 0)]
            if not (rows["status"] == "ok").any():
                what = f"{self.run.title(name)}, statistics {state}"
                if rows.empty:
                    left_out = "every block is left out as disturbed"
                    return f"{what}: {left_out if self.run.excluded else 'no trial yet'}"
                first = rows.iloc[0]
                said = "no reason given" if pd.isna(first["reason"]) else first["reason"]
                return f"{what}: {first['status']}: {said}"
        if self.statistics(arm, workload, pace)[0].empty:
            return "kernel statistics counted no run of its program"
        return "its trials share no valid block"


def _mean(series: pd.Series[float]) -> Interval:
    return mean_interval(series.to_numpy(dtype=float))


def accounts(measures: Measures) -> list[Entry]:
    """One entry per program, workload and pace that the plan times with statistics off and on.

    Keys arm, title, workload, pace; Intervals in ns per event or run: external_off, external_on,
    statistics_ns, statistics_cost, statistics_cost_unattached, residual, residual_empty,
    unexplained, published_in_place, residual_in_place (each None where it does not apply);
    runs_per_event; is_empty; same_attachment (of the empty program, None without one); verdict and
    text. Verdicts: agree; explained, by an empty program; gap; reference, for an empty program's
    own gap; undetermined; not comparable. No entry for a run that times nothing with statistics on.
    """
    cells = _Cells(measures)
    made: list[Entry] = []
    for arm, workload, pace in cells.tried:
        off, on = (cells.external(arm, workload, pace, state) for state in ("off", "on"))
        statistics, runs = cells.statistics(arm, workload, pace)
        residual = cells.residual(arm, workload, pace)
        in_place = cells.in_place(arm)
        entry: Entry = {"arm": arm, "title": measures.run.title(arm)}
        entry |= {"workload": workload, "pace": pace}
        entry |= {"external_off": _mean(off), "external_on": _mean(on)}
        entry["statistics_ns"] = _mean(statistics)
        entry["statistics_cost"] = paired_difference(on, off)
        entry["statistics_cost_unattached"] = cells.unattached(workload, pace)
        entry["residual"] = _mean(residual)
        entry["residual_empty"] = entry["unexplained"] = entry["same_attachment"] = None
        sibling = cells.empty(arm, workload, pace)
        entry["is_empty"] = cells.does_nothing(arm)
        if sibling is not None and not entry["is_empty"]:
            explained = cells.residual(sibling, workload, pace)
            entry["residual_empty"] = _mean(explained)
            entry["same_attachment"] = cells.attachment(sibling) == cells.attachment(arm)
            entry["unexplained"] = paired_difference(residual, explained)
        entry["published_in_place"] = _mean(in_place) if len(in_place) else None
        entry["residual_in_place"] = paired_difference(off, in_place) if len(in_place) else None
        entry["runs_per_event"] = runs or None
        reason = "" if len(residual) else cells.reason(arm, workload, pace)
        entry["verdict"], entry["text"] = judge(entry, reason)
        made.append(entry)
    return made


def of_nothing(measures: Measures) -> list[Entry]:
    """What the external instrument says that the null agent adds: its own error, which should be 0.

    Keys workload, pace, statistics, interval (ns per event). Empty before schema 3.
    """
    cells = _Cells(measures)
    if not cells.has_turns:
        return []
    found = {key[1:]: values for key, values in cells.added.items() if key[0] == NULL_AGENT}
    return [
        {"workload": w, "pace": p, "statistics": s, "interval": _mean(_by_block(found[w, p, s]))}
        for w in ranked({key[0] for key in found})
        for p, s in product(PACES, ("off", "on"))
        if (w, p, s) in found
    ]


def _half(value: Interval) -> float:
    return 0.0 if value.high is None or value.low is None else (value.high - value.low) / 2


def _is_none(value: Interval, cost: float) -> bool:
    """True where a difference is none: it holds 0 and is narrow, or is small beyond doubt."""
    holds = value.low is not None and value.high is not None and value.low <= 0 <= value.high
    small = SMALL * abs(cost)
    return (holds and _half(value) <= WIDEST * abs(cost)) or value.inside(-small, small)


def judge(entry: Entry, reason: str = "") -> tuple[str, str]:
    """Whether external and kernel statistics agree on an entry: verdict, and why with numbers."""
    residual: Interval = entry["residual"]
    external: Interval = entry["external_off"]
    if reason or residual.estimate is None or external.estimate is None:
        return "not comparable", reason or residual.note
    runs, cost = entry["runs_per_event"] or 0.0, external.estimate
    if runs < FEWEST_RUNS:
        return "not comparable", f"its program ran only {number(runs, 2)} times per event"
    if residual.low is None or residual.high is None:
        what = f"external less statistics is {number(residual.estimate)} ns"
        return "undetermined", f"{what} ({residual.note})"
    text = f"external less statistics is {interval(residual)} ns"
    if _is_none(residual, cost):
        return "agree", f"{text}: they agree within their joint interval"
    if external.low is not None and external.low <= 0:
        what = f"the added time, {interval(external)} ns, is not told from nothing"
        return "undetermined", f"{text}: {what}"
    if residual.low <= 0 <= residual.high:
        return "undetermined", (
            f"{text}: the joint interval, ±{number(_half(residual), 2)} ns, is too wide for a cost "
            f"of {number(cost)} ns"
        )
    side = "more" if residual.estimate > 0 else "less"
    text += f": external sees {side}"
    rest: Interval | None = entry["unexplained"]
    if entry["is_empty"]:
        return "reference", f"{text}, the kernel's way to a program that does nothing"
    if rest is None:
        return "gap", f"{text}; no empty program on the event to explain it"
    if rest.low is None:
        return "gap", f"{text}; nothing to explain it with ({rest.note})"
    of_empty = f"an empty program's own residual is {interval(entry['residual_empty'])} ns"
    if not entry["same_attachment"]:
        of_empty += ", attached in another way"
    if _is_none(rest, cost):
        return "explained", f"{text}; {of_empty}, which leaves {interval(rest)} ns: explained by it"
    return "gap", f"{text}; {of_empty}, which leaves {interval(rest)} ns unexplained"
