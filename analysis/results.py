"""Everything computed from one run, once; tables, figures and the summary read it from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from analysis import (
    accounts,
    answers,
    checks,
    contrasts,
    exact,
    external,
    fidelity,
    noise,
    repetition,
    scaling,
    stability,
)
from analysis.cores import accuracy as core_accuracy
from analysis.cores import own, threads
from analysis.crossover import outcome
from analysis.crossover.conditions import has_points
from analysis.crossover.outcome import Crossover
from analysis.load import Run
from analysis.measures import NOT_PLANNED, Measures
from analysis.sensor import outcome as sensor
from analysis.statistics.intervals import Interval, mean_interval

ONE_CLOCK = "no second instrument: its program times itself in both methods"


@dataclass(frozen=True)
class Results:
    """See the functions that make each part for its keys."""

    run: Run
    measures: Measures
    contrasts: list[dict[str, Any]]
    calibration: list[dict[str, Any]]
    crosscheck: list[dict[str, Any]]
    a_a: dict[str, Any] | None
    drift: dict[str, Any]
    spread: list[dict[str, Any]]
    variance: list[dict[str, Any]]
    noise: list[dict[str, Any]]
    position: dict[str, Any]
    harness: dict[str, Any]
    fidelity: list[dict[str, Any]]
    accounts: list[dict[str, Any]]
    of_nothing: list[dict[str, Any]]
    answers: dict[str, dict[str, Any]]
    exact: list[dict[str, Any]]
    exact_slopes: list[dict[str, Any]]
    exact_contrasts: list[dict[str, Any]]
    lines: list[scaling.Line]
    warnings: list[str]
    own: list[dict[str, Any]]
    own_ratios: list[dict[str, Any]]
    core_accuracy: list[dict[str, Any]]
    core_contrasts: list[dict[str, Any]]
    thread_lines: list[dict[str, Any]]
    crossover: Crossover | None = None
    sensor: sensor.Sensor | None = None

    @property
    def has_points(self) -> bool:
        """True where the levels are design points, which no table of levels may mix."""
        return has_points(self.run)

    @property
    def arms(self) -> list[str]:
        """Arms whose cost the plan measures, in order; an arm that only calibrates is not one."""
        return self.measures.arms

    def levels_with(self, *measures: str) -> list[int]:
        """Levels at which any arm has a value of any of the measures."""
        return [
            level
            for level in self.levels
            if any(len(self.measures.get(m, a, level)) for m in measures for a in self.arms)
        ]

    @property
    def levels(self) -> list[int]:
        return self.measures.levels

    def interval(self, measure: str, arm: str, level: int) -> Interval:
        """Mean over blocks with its interval."""
        return mean_interval(self.measures.get(measure, arm, level).to_numpy(dtype=float))

    def window_text(self) -> str:
        """How long a cell was measured in each block: " of 5 s", empty if nothing was."""
        t = self.run.trials
        rows = t[(t["kind"] == "cost") & (t["status"] == "ok") & (t["block"] > 0)]
        window = rows["window_ns"].dropna().astype(float)
        return f" of {float(window.median()) / 1e9:.3g} s" if len(window) else ""

    def main_measure(self) -> str:
        """The one method that figures with a single method use.

        The headline if the run has one for every arm that ran, else the published method if the run
        has that for every arm, else the headline, and arms without one are named as left out.
        """
        ran = [arm for arm in self.arms if self.measures.usable(arm)]
        for measure in ("headline", "published"):
            has = [any(len(self.measures.get(measure, a, lv)) for lv in self.levels) for a in ran]
            if has and all(has):
                return measure
        statistics = set(self.run.trials[self.run.trials["kind"] == "cost"]["statistics"])
        return "published" if statistics == {"on"} else "headline"


def crosscheck(measures: Measures) -> list[dict[str, Any]]:
    """Published method against headline, for every arm whose programs run in other tasks.

    Keys arm, level, headline, published, residual (paired by block; percent of a core), per_run
    (ns, by kernel statistics), per_run_gap (residual over the runs a second; ns), text, reason.
    """
    made: list[dict[str, Any]] = []
    for arm in measures.arms:
        if not external.in_other_tasks(measures.run, arm):
            continue
        for level in measures.levels:
            cells = {name: measures.get(name, arm, level) for name in ("published", "headline")}
            missing = [measures.reason(name, arm, level) for name, c in cells.items() if c.empty]
            if any(reason.startswith(NOT_PLANNED) for reason in missing):
                continue  # the plan measures this cell by one instrument only
            residual = external.paired_difference(cells["published"], cells["headline"])
            runs = measures.get("runs_per_s", arm, level)
            rate = float(runs.mean()) if len(runs) else 0.0
            entry: dict[str, Any] = {"arm": arm, "level": level, "residual": residual}
            for name, cell in cells.items():
                entry[name] = mean_interval(cell.to_numpy(dtype=float))
            per_run = measures.get("ns_per_run", arm, level).to_numpy(dtype=float)
            entry["per_run"] = mean_interval(per_run)
            entry["per_run_gap"] = residual.scaled(1e7 / rate) if rate else None
            entry["reason"] = "; ".join(missing)
            alone = external.times_itself(measures.run, arm)
            word = ONE_CLOCK if alone else external.agreement(residual)
            entry["text"] = entry["reason"] or word
            made.append(entry)
    return made


def compute(run: Run) -> Results:
    """Run every part of the analysis on one run."""
    measures = Measures(run)
    pointed = has_points(run)  # no line through points that differ in more than processes
    pressed = threads.has_stress(measures)
    lines = [
        line
        for arm in ([] if pointed or pressed else measures.arms)
        for measure in ("headline", "published")
        if (line := scaling.fit(measures, arm, measure)) is not None
    ]
    true_or_not = fidelity.fidelity(run)
    declared = contrasts.evaluate(measures)
    pair = noise.a_a(measures)
    counted = exact.counted(run)
    crossover = outcome.compute(measures)
    return Results(
        run=run,
        measures=measures,
        contrasts=declared,
        calibration=external.calibration(run),
        crosscheck=[] if pointed else crosscheck(measures),
        a_a=pair,
        drift=noise.drift(measures),
        spread=noise.spread(measures),
        variance=repetition.variance(run),
        noise=stability.of_contrasts(measures, declared, pair),
        position=stability.position(measures),
        harness=noise.harness(measures),
        fidelity=true_or_not,
        accounts=accounts.accounts(measures),
        of_nothing=accounts.of_nothing(measures),
        answers=answers.answers(run, lines, true_or_not),
        exact=exact.cells(run) if counted and not pointed else [],
        exact_slopes=exact.slopes(run) if counted and not pointed else [],
        exact_contrasts=exact.comparisons(run) if counted else [],
        lines=lines,
        warnings=checks.warnings(run)
        + noise.warnings(measures)
        + (outcome.warnings(crossover) if crossover else []),
        own=own.cells(run),
        own_ratios=own.ratios(run),
        core_accuracy=core_accuracy.cells(run),
        core_contrasts=core_accuracy.compared(run),
        thread_lines=threads.lines(measures),
        crossover=crossover,
        sensor=sensor.compute(run),
    )
