"""Plans for this clone, and what they say of themselves before anything is measured."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cli import parameters, paths
from cli.problem import Problem
from experiment import arms, pilot, plan


def build(study: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The plan of one study under resolved parameters. Raises Problem with one line."""
    try:
        return plan.build(
            study,
            values["preset"],
            root=paths.ROOT,
            build_dir=paths.BUILD,
            python=sys.executable,
            system_python=paths.SYSTEM_PYTHON,
            backend=values["backend"],
            guest=values["guest"],
            present=processes_now(),
            arms=values["arms"],
            seed=values["seed"],
            blocks=values["runs"],
            interval_ms=values["interval_ms"],
            window_s=values["window_s"],
            process_counts=values["process_counts"],
            minutes=values["minutes"],
        )
    except (plan.PlanError, arms.ArmError) as error:
        raise Problem(f"{study}: {error}") from None


def processes_now() -> int:
    """Processes in /proc; 0 where there is no /proc, since a plan can be looked at anywhere."""
    proc = Path("/proc")
    return sum(entry.name.isdigit() for entry in proc.iterdir()) if proc.is_dir() else 0


def lines(made: Mapping[str, Any], notes: bool = True) -> list[str]:
    """What a plan measures, how long it takes and what it can tell apart."""
    estimate = made["estimate"]
    kinds = [trial["kind"] for trial in made["trials"]]
    p = estimate["smallest_adjusted_p"]
    reach = "no contrast to test" if p is None else f"smallest adjusted p {p:.2g}"
    text = [
        f"{made['study']}, preset {made['preset']}: {_listed(made['arms'])}{_where(made)}",
        f"  {len(kinds)} trials in {made['blocks']} blocks and {made['warm_up_blocks']} to warm up"
        f" ({_listed(f'{kinds.count(kind)} {kind}' for kind in dict.fromkeys(kinds))}),"
        f" seed {made['seed']}, a scrape every {_pace(made)}",
        f"  about {estimate['minutes']:.1f} minutes and {estimate['disk_mb']:.1f} MB; {reach}",
        f"  {_forecast(made)}",
    ]
    if limits := made.get("exclusion"):
        text.append(f"  leaves out blocks with a window of any arm beyond {_limits(limits)}")
    if notes:
        text += [f"  note: {note}" for note in made.get("notes", [])]
    return text


def _where(made: Mapping[str, Any]) -> str:
    """At which process counts; of design points how many there are, and how far they reach."""
    points = made.get("points")
    if not points:
        counts = sorted({t["processes"] for t in made["trials"] if t["processes"] is not None})
        stress = sorted({t.get("stress_threads") or 0 for t in made["trials"]})
        if any(stress):
            return f" beside {_listed(stress)} threads that press the scheduler"
        return f" at {_listed(counts)} processes" if counts else ""
    held = sum(point["held_out"] for point in points)
    reach = {
        "processes": _reach(points, "processes"),
        "threads in each": _reach(points, "threads_per_process"),
        "switches a second": _reach(points, "switches_per_s"),
        "tasks that switch": _reach(points, "switching_tasks"),
    }
    told = _listed(f"{least} to {most} {what}" for what, (least, most) in reach.items())
    return f" at {len(points)} design points, {held} of them held out: {told}"


def _reach(points: Iterable[Mapping[str, Any]], key: str) -> tuple[Any, Any]:
    values = [point[key] for point in points]
    return min(values), max(values)


def _pace(made: Mapping[str, Any]) -> str:
    points = made.get("points")
    if not points:
        return f"{made['interval_ms']} ms"
    least, most = _reach(points, "interval_ms")
    return f"{least} ms" if least == most else f"{least} to {most} ms"


def _limits(limits: Mapping[str, float | None]) -> str:
    words = {"steal_percent_core": "steal", "foreign_percent_core": "foreign load"}
    held = {word: limits[key] for key, word in words.items() if limits[key] is not None}
    return " or ".join(f"{limit:g} % of a core of {word}" for word, limit in held.items())


def _forecast(made: Mapping[str, Any]) -> str:
    """How narrow the primary ratio's interval will be, by the pilot that the plan names."""
    found = made["estimate"].get("forecast")
    if found is None:
        return f"no forecast of precision: {_no_pilot(made)}"
    half, effect = found["half_width_percent"], found["smallest_effect_percent"]
    width = "no bounded interval of the ratio" if half is None else f"ratio to ±{_round(half)} %"
    reach = "none told apart" if effect is None else f"arms told apart from {_round(effect)} % on"
    differs = f", with {found['pilot_differs']}" if found["pilot_differs"] else ""
    return (
        f"forecast for {found['contrast']}: {width}, {reach}"
        f" (pilot: {found['pilot_blocks']} blocks of {found['pilot']}{differs})"
    )


def _no_pilot(made: Mapping[str, Any]) -> str:
    if not made["contrasts"]:
        return "the plan has no contrast"
    return f"no pilot of {made['contrasts'][0]['id']} has been measured (experiment/pilots.yaml)"


def _round(percent: float) -> str:
    return f"{percent:.2g}" if percent < 100 else f"{percent:.0f}"


def _needed(made: Mapping[str, Any], values: Mapping[str, Any], half_width: float) -> str:
    """How many blocks, and minutes, bring the primary ratio's interval to ± half_width percent."""
    contrasts = made["contrasts"]
    found = (
        pilot.find(made["study"], contrasts[0], made["interval_ms"], made["window_s"])
        if contrasts
        else None
    )
    if found is None:
        return f"±{half_width:g} %: unknown, {_no_pilot(made)}"
    blocks = found.blocks_for(half_width / 100)
    if blocks is None:
        return f"±{half_width:g} % of the ratio: more than {plan.MAX_BLOCKS:,} blocks"
    whole = build(made["study"], {**values, "minutes": None, "runs": blocks})
    how = _run(made["study"], values, blocks)
    how = how if blocks <= parameters.MOST_RUNS else "more than one run takes: pool several"
    return (
        f"±{half_width:g} % of the ratio: {blocks} blocks, about"
        f" {whole['estimate']['minutes']:.0f} minutes ({how})"
    )


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))


def _run(study: str, values: Mapping[str, Any], blocks: int) -> str:
    """The command that measures so many blocks of what is planned."""
    given = {**values, "runs": blocks, "preset": values["preset"]}
    skipped = ("study", "minutes", "resume", "backend", "output")
    words = [
        f"--{name.replace('_', '-')} {','.join(map(str, v)) if isinstance(v, list) else v}"
        for name, v in given.items()
        if v is not None and name not in skipped
    ]
    return " ".join([f"./study run {study}", *words])


def percent(text: str) -> float:
    """A half-width as the command line gives it: 10 or 10%. Raises Problem."""
    bare = text.strip().removesuffix("%").strip()
    try:
        value = float(bare) if re.fullmatch(r"[0-9]*\.?[0-9]+", bare) else 0.0
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= 1000:
        raise Problem(
            f"half-width is '{text}'; it must be a percentage of the ratio from 0.1 to 1000, as 10%"
        )
    return value


def command(values: Mapping[str, Any], half_width: float | None = None) -> int:
    """``./study plan``: print the plans of these parameters, measure nothing.

    half_width: percent of the primary ratio; says how many blocks its 95 % interval needs for it.
    """
    minutes = 0.0
    for study in values["study"]:
        made = build(study, values)
        minutes += made["estimate"]["minutes"]
        print("\n".join(lines(made)))
        if half_width is not None:
            print(f"  {_needed(made, values, half_width)}")
    print(f"together about {minutes:.1f} minutes of measuring; nothing was measured")
    return 0
