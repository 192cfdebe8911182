"""The parameters of a run, declared once: for ``./study run``, for papermill and for the notebooks.

papermill guesses types from text, so that ``-p resume false`` arrives as the text ``'false'`` (true
as a condition), ``010`` as 10 and ``1e3`` as a float; hence each value's type is checked, never
converted silently.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli import paths
from cli.problem import Problem, did_you_mean
from experiment import backends, plan

STUDIES = ("processes", "gauges", "accounts", "crossover", "cores", "sensor")
MOST_RUNS = 200  # blocks of one run
RUN_NAME = re.compile(r"\d{8}T\d{6}Z-[a-z0-9-]+-[0-9a-f]{8}")


class Unfit(ValueError):
    """A value is not what its parameter wants; the text says what would be."""


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Unfit(f"a whole number from {low:,} to {high:,}")
        return value

    return check


def _number(low: float, high: float) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not low <= value <= high:
            raise Unfit(f"a number from {low:g} to {high:g}")
        return float(value)

    return check


def _choices(known: Iterable[str]) -> Callable[[Any], str]:
    names = list(known)

    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise Unfit(f"one of {', '.join(names)}")
        if value not in names:
            raise Unfit(f"one of {', '.join(names)}{_near(value, names)}")
        return value

    return check


def _near(value: str, names: list[str]) -> str:
    hint = did_you_mean(value, names)
    return hint if "did you mean" in hint else ""


def _many(item: Callable[[Any], Any], what: str) -> Callable[[Any], list[Any]]:
    """A list, or its items in one text separated by commas, or a single item; each only once."""

    def check(value: Any) -> list[Any]:
        if isinstance(value, str):
            items: list[Any] = [_plain(part.strip()) for part in value.split(",")]
        else:
            items = list(value) if isinstance(value, list | tuple) else [value]
        if not items:
            raise Unfit(f"{what}; the list is empty")
        checked = [item(part) for part in items]
        if len(set(checked)) != len(checked):
            raise Unfit(f"{what}, each once")
        return checked

    return check


def _plain(text: str) -> int | str:
    return int(text) if re.fullmatch(r"-?(0|[1-9][0-9]*)", text) else text


def _arm(value: Any) -> str:
    if not isinstance(value, str) or not value or "\n" in value:
        raise Unfit("names of arms, such as proc_stat,sched_switch")
    return value


def _folder(value: Any) -> Path:
    if not isinstance(value, str | Path) or not str(value).strip() or "\0" in str(value):
        raise Unfit("the path of a folder")
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError:  # "~nobody": a user whom this machine does not know
        raise Unfit("the path of a folder; ~name wants a user of this machine") from None


def _resume(value: Any) -> bool | str:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and RUN_NAME.fullmatch(value):
        return value
    raise Unfit("True, False (so written for papermill) or the name of an unfinished run")


@dataclass(frozen=True)
class Parameter:
    """One declared parameter. None stands for the default; a default of None is the preset's."""

    name: str
    default: Any
    check: Callable[[Any], Any]
    help: str


@functools.cache
def _preset_names() -> list[str]:
    return list(dict.fromkeys(name for study in STUDIES for name in plan.preset_names(study)))


def declared() -> dict[str, Parameter]:
    """Every parameter of a run by name, in the order they are shown."""
    rows = (
        Parameter("study", "processes,gauges", _many(_choices(STUDIES), "studies"),
                  "which studies, separated by commas"),
        Parameter("preset", "quick", _choices(_preset_names()), "what is measured, how long"),
        Parameter("runs", None, _whole(2, MOST_RUNS), "blocks per arm, the warm-up not counted"),
        Parameter("window_s", None, _number(0.2, 3600), "seconds of one measured window"),
        Parameter("interval_ms", None, _whole(10, 600_000), "milliseconds between scrapes"),
        Parameter("process_counts", None, _many(_whole(20, 30_000), "process counts"),
                  "processes on the machine, e.g. 100,600"),
        Parameter("arms", None, _many(_arm, "names of arms"),
                  "collectors to measure, by name or YAML file"),
        Parameter("seed", None, _whole(0, 2**63 - 1), "seed of the order of trials"),
        Parameter("backend", backends.HERE, _choices(backends.BACKENDS),
                  "where it runs: here, or exact, a virtual machine that counts instructions"),
        Parameter("guest", None, _choices(backends.GUESTS),
                  "backend exact: kernel and architecture of the virtual machine"),
        Parameter("minutes", None, _number(0.1, 10_000), "at most so many minutes a study"),
        Parameter("resume", False, _resume, "go on with the last session, or with a run by name"),
        Parameter("output", str(paths.DATA), _folder, "folder for raw/ and processed/"),
    )  # fmt: skip
    return {row.name: row for row in rows}


def resolve(given: Mapping[str, Any]) -> dict[str, Any]:
    """Check values by name and fill in the defaults.

    Raises:
        Problem: an unknown name, a wrong type or a value out of range; one line for each.
    """
    known = declared()
    problems = [
        f"unknown parameter '{name}'{did_you_mean(name, known)}"
        for name in given
        if name not in known
    ]
    values: dict[str, Any] = {}
    for name, parameter in known.items():
        value = given.get(name)
        if value is None:
            value = parameter.default
        if value is None:  # left to the preset
            values[name] = None
            continue
        try:
            values[name] = parameter.check(value)
        except Unfit as unfit:
            kind = "the text " if isinstance(value, str) else ""
            problems.append(f"parameter {name} is {kind}{value!r}; it must be {unfit}")
    if not problems and values.get("runs") is not None and values.get("minutes") is not None:
        problems.append("give runs or minutes, not both: minutes choose the number of runs")
    if not problems and values.get("guest") is not None and values["backend"] != backends.EXACT:
        problems.append(f"guest is {values['guest']}, which only backend exact has")
    if problems:
        raise Problem("\n".join(problems))
    return values


def from_text(text: str) -> Any:
    """The value that a command-line argument stands for; what is not plainly typed stays text."""
    if text in ("None", "none", ""):
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"-?(0|[1-9][0-9]*)", text):
        return int(text)
    if re.fullmatch(r"-?(0|[1-9][0-9]*)\.[0-9]+", text):
        return float(text)
    return text


def lines(values: Mapping[str, Any]) -> list[str]:
    """What is in force, one aligned line each."""
    width = max(map(len, values))
    return [f"{name:<{width}}  {_shown(value)}" for name, value in values.items()]


def _shown(value: Any) -> str:
    if value is None:
        return "(the preset's)"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values as JSON and papermill can carry them."""
    return {name: str(v) if isinstance(v, Path) else v for name, v in values.items()}
