"""The command line of ``./study advise``, checked."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cli.arguments import Parser
from cli.problem import Problem

INTERVALS = (1.0, 15.0, 60.0)
SECONDS = 60.0
LONGEST = 86_400.0
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")


@dataclass(frozen=True)
class Asked:
    """What was asked. intervals: s; those of a fleet's nodes that name none."""

    seconds: float
    intervals: tuple[float, ...]
    given: bool  # numbers instead of this machine's
    processes: float
    switches: float
    threads: float | None
    active: float | None
    fleet: Path | None
    output: Path | None
    now: str | None
    coefficients: Path | None
    model: str | None
    calibrate: bool
    json: bool


def _parser() -> Parser:
    parser = Parser(
        prog="./study advise",
        allow_abbrev=False,
        description="Which way of collecting the CPU time of every process costs least here."
        " Watches this machine, or takes numbers, or a fleet's.",
    )
    add = parser.add_argument
    add("--seconds", metavar="N", help="watch this machine for so long (60)")
    add("--processes", metavar="N", help="instead of watching: processes of a machine")
    add("--switches", metavar="RATE", help="and its context switches a second")
    add("--threads", metavar="N", help="all of its threads, not fewer than processes")
    add("--active", metavar="N", help="distinct tasks that run in an interval")
    add("--interval", metavar="S", help="seconds between two scrapes; several as 1,15,60")
    add("--fleet", metavar="FILE.csv", help="columns node, processes, switches/s; also threads,"
        " active, interval")  # fmt: skip
    add("--output", metavar="FILE.csv", help="with --fleet: every node's answer")
    add("--now", metavar="ARM", help="with --fleet: what is taken to run now (proc_stat)")
    add("--coefficients", metavar="FILE", help="costs of another calibrated machine")
    add("--model", metavar="RUN", help="the run whose costs are taken, where there are several")
    add("--calibrate", action="store_true", help="measure this machine's costs first (root)")
    add("--json", action="store_true", help="the answer as JSON")
    return parser


def parse(words: Sequence[str]) -> Asked:
    """Check a command line. Raises Problem; prints help and exits for --help."""
    options = _parser().parse_args(list(words))
    _together(options)
    processes = _number(options, "processes", low=1)
    threads = _number(options, "threads", low=1)
    if processes and threads and threads < processes:
        raise Problem("--threads are all of the machine's, so not fewer than --processes")
    return Asked(
        _number(options, "seconds", low=1, high=LONGEST) or SECONDS,
        _intervals(options.interval),
        processes is not None,
        processes or 0.0,
        _number(options, "switches") or 0.0,
        threads,
        _number(options, "active"),
        _path(options.fleet, "--fleet"),
        _path(options.output, "--output"),
        options.now,
        _path(options.coefficients, "--coefficients"),
        options.model,
        options.calibrate,
        options.json,
    )


def _together(options: argparse.Namespace) -> None:
    """Raise Problem for options that contradict each other, or lack another."""
    given = options.processes is not None
    if given != (options.switches is not None):
        raise Problem("--processes and --switches are given together")
    for name in ("threads", "active"):
        if getattr(options, name) is not None and not given:
            raise Problem(f"--{name} goes with --processes and --switches")
    if given and options.seconds is not None:
        raise Problem("--seconds is for watching this machine: leave it out, or the numbers")
    if options.fleet is not None and (given or options.seconds is not None):
        raise Problem("--fleet brings its own numbers: leave out the others")
    for name in ("output", "now"):
        if getattr(options, name) is not None and options.fleet is None:
            raise Problem(f"--{name} goes with --fleet")
    if options.calibrate and options.coefficients is not None:
        raise Problem("--calibrate measures the costs that --coefficients would bring: choose one")


def _number(
    options: argparse.Namespace, name: str, low: float = 0.0, high: float = 1e15
) -> float | None:
    text = getattr(options, name)
    return None if text is None else _checked(text, f"--{name}", low, high)


def _checked(text: str, name: str, low: float, high: float) -> float:
    value = float(text) if _NUMBER.fullmatch(text.strip()) else math.nan
    if not low <= value <= high:
        hint = " (a decimal point, no commas)" if re.search(r"\d,\d", text) else ""
        raise Problem(f"{name} is '{text}': give a number from {low:g} to {high:,.0f}{hint}")
    return value


def _intervals(text: str | None) -> tuple[float, ...]:
    if text is None:
        return INTERVALS
    values = [_checked(part, "--interval", 1e-3, LONGEST) for part in text.split(",")]
    return tuple(dict.fromkeys(values))


def _path(text: str | None, name: str) -> Path | None:
    if text is None:
        return None
    if not text.strip() or "\0" in text:
        raise Problem(f"{name} is empty: give a file")
    return Path(text)
