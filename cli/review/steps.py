"""What a review does, in which order and how long it takes; what is done is remembered."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli import parameters, paths, plan
from cli.problem import Problem
from experiment import plan as plans

STATE = "state.json"
#: Minutes that a step takes beside measuring: setting up, tables and figures.
BESIDE = 0.5
#: The measuring steps, the most telling first: name, studies, preset.
MEASURED = (
    ("quick", ("processes", "gauges"), "quick"),
    ("paper", ("processes",), "paper"),
    ("accounts", ("accounts",), "paper"),
    ("scaling", ("processes",), "scaling"),
)
#: What is tried in their place when another preset is asked for.
TRIED = ("processes", "gauges")


@dataclass(frozen=True)
class Step:
    """One step; ``studies`` is empty where nothing is measured. ``left_out`` says why, if it is."""

    name: str
    what: str
    minutes: float
    studies: tuple[str, ...] = ()
    preset: str = ""
    left_out: str = ""


def planned(minutes: float, preset: str | None) -> list[Step]:
    """The steps that fit into so many minutes, the others with the reason.

    Args:
        minutes: the most that all of them may take.
        preset: measure this one alone, in place of all measuring steps.

    Raises:
        Problem: a plan cannot be made.
    """
    doctor = Step("doctor", "what this machine can measure", BESIDE)
    figures = Step("figures", "every shipped table again from the shipped raw data", 1.5)
    measuring = _measuring(preset)
    if not measuring:
        raise Problem(f"neither {' nor '.join(TRIED)} has a preset {preset}: choose another")
    first, *others = measuring
    steps, left = [], minutes
    for step in [doctor, first, figures, *others]:
        if step.minutes > left:
            why = f"{step.minutes:.0f} minutes, more than the {left:.0f} left of {minutes:g}"
            step = Step(**{**vars(step), "left_out": why})
        else:
            left -= step.minutes
        steps.append(step)
    return steps


def _measuring(preset: str | None) -> list[Step]:
    wanted = [(preset, TRIED, preset)] if preset else MEASURED
    steps = []
    for name, studies, chosen in wanted:
        known = tuple(
            s for s in studies if s in parameters.STUDIES and chosen in plans.preset_names(s)
        )
        if known:
            cost = sum(_minutes(study, chosen) for study in known)
            what = f"measure {' and '.join(known)}, preset {chosen}"
            steps.append(Step(name, what, cost + BESIDE * len(known), known, chosen))
    return steps


def _minutes(study: str, preset: str) -> float:
    values = parameters.resolve({"study": study, "preset": preset})
    return float(plan.build(study, values)["estimate"]["minutes"])


def lines(steps: Sequence[Step]) -> list[str]:
    """The plan for a reader."""
    doing = [step for step in steps if not step.left_out]
    width = max(len(step.name) for step in steps)
    text = [f"  {step.name:<{width}}  {step.minutes:5.1f} min  {step.what}" for step in doing]
    text += [f"  {s.name:<{width}}  left out   {s.what}: {s.left_out}" for s in steps if s.left_out]
    total = sum(step.minutes for step in doing)
    return [*text, f"  together about {total:.0f} minutes; nothing is asked in between"]


class State:
    """What was done in a folder, written down after each step."""

    def __init__(self, output: Path, preset: str | None) -> None:
        """Begin, or go on with what was begun here. Raises Problem if that was another review."""
        self._file = output / STATE
        self._steps: dict[str, dict[str, Any]] = {}
        if self._file.exists():
            content = paths.read_json(self._file)
            if content.get("preset") != preset:
                raise Problem(
                    f"the review in {output} was begun with {_named(content.get('preset'))}, not"
                    f" {_named(preset)}: repeat that, or choose another --output"
                )
            self._steps = dict(content.get("steps", {}))
        self._preset = preset

    def done(self, name: str) -> bool:
        """Whether a step is done and need not be done again."""
        return bool(self._steps.get(name, {}).get("done"))

    def note(self, name: str, **what: Any) -> None:
        """Write down how a step ended."""
        self._steps[name] = what
        temporary = self._file.with_suffix(f".{os.getpid()}")
        text = json.dumps({"preset": self._preset, "steps": self._steps}, indent=1) + "\n"
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(self._file)
        except OSError as error:
            raise paths.unwritable(self._file, error) from None

    def told(self, name: str) -> Mapping[str, Any]:
        """What was written down of a step."""
        return self._steps.get(name, {})


def _named(preset: Any) -> str:
    return f"--preset {preset}" if preset else "the usual presets"


def begun(output: Path, step: Step) -> bool:
    """Whether the last session in a folder is this step's, so that it is gone on with."""
    with contextlib.suppress(Problem):
        session = paths.read_json(output / "session.json")
        values = session.get("parameters", {})
        return bool(
            values.get("preset") == step.preset
            and values.get("study") == list(step.studies)
            and session.get("runs")
        )
    return False
