"""Plans for this clone, and what they say of themselves before anything is measured."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cli import paths
from cli.problem import Problem
from experiment import arms, plan


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
    counts = sorted({t["processes"] for t in made["trials"] if t["processes"] is not None})
    where = f" at {_listed(counts)} processes" if counts else ""
    p = estimate["smallest_adjusted_p"]
    reach = "no contrast to test" if p is None else f"smallest adjusted p {p:.2g}"
    effect = estimate["smallest_effect_percent"]
    reach += (
        ", smallest effect unknown before a pilot"
        if effect is None
        else f", smallest effect {effect:g} %"
    )
    text = [
        f"{made['study']}, preset {made['preset']}: {_listed(made['arms'])}{where}",
        f"  {len(kinds)} trials in {made['blocks']} blocks and {made['warm_up_blocks']} to warm up"
        f" ({_listed(f'{kinds.count(kind)} {kind}' for kind in dict.fromkeys(kinds))}),"
        f" seed {made['seed']}, a scrape every {made['interval_ms']} ms",
        f"  about {estimate['minutes']:.1f} minutes and {estimate['disk_mb']:.1f} MB; {reach}",
    ]
    if notes:
        text += [f"  note: {note}" for note in made.get("notes", [])]
    return text


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))


def command(values: Mapping[str, Any]) -> int:
    """``./study plan``: print the plans of these parameters, measure nothing."""
    minutes = 0.0
    for study in values["study"]:
        made = build(study, values)
        minutes += made["estimate"]["minutes"]
        print("\n".join(lines(made)))
    print(f"together about {minutes:.1f} minutes of measuring; nothing was measured")
    return 0
