"""``./study exact``: whether the exact machine repeats itself, and what was shipped."""

from __future__ import annotations

import csv
import gzip
import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis import exact as analysed
from analysis import levels, load
from cli import exact_lock, kernels, parameters, paths, runner
from cli import plan as plans
from cli.arguments import Parser
from cli.exact_lock import Entry, Spread
from cli.problem import Failed, Problem
from cli.progress import Progress
from experiment import backends
from vm import image, programs
from vm import problem as vm_problem

SAME, MISMATCH, OTHER_INPUTS = 0, 1, 3


def command(words: Sequence[str]) -> int:
    """0 the same digits; 1 they differ with the same inputs; 3 inputs differ. Raises Problem."""
    parser = Parser(prog="./study exact", description=__doc__, allow_abbrev=False)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--verify", action="store_true", help="measure twice, compare with what is shipped"
    )
    what.add_argument("--images", action="store_true", help="make the images of all guests")
    what.add_argument(
        "--kernels", action="store_true", help="try every collector on every guest's kernel"
    )
    parser.add_argument("study", nargs="?", default="processes", choices=parameters.STUDIES)
    parser.add_argument("--preset", default="exact")
    parser.add_argument("--guest", default=backends.GUESTS[0], choices=backends.GUESTS)
    parser.add_argument("--write", action="store_true", help="ship these digits from now on")
    options = parser.parse_args(words)
    try:
        if options.images:
            return images()
        if options.kernels:
            return kernels.command()
        return verify(options.study, options.preset, options.guest, options.write)
    except vm_problem.Problem as problem:
        raise Problem(str(problem)) from None


def images() -> int:
    """Make every image and its programs, or find them. Raises vm.problem.Problem."""
    for guest in backends.GUESTS:
        kernel, architecture = guest.split("-", 1)
        made = image.build(kernel, architecture, say=_say)
        binaries = programs.build(made, paths.ROOT / "bpf", say=_say)
        release = made.inputs["kernel_release"]
        print(
            f"{guest}: Linux {release}, image {made.digest[:12]}, programs {binaries.digest[:12]}"
        )
    return SAME


def _say(line: str) -> None:
    print(f"probetax: {line}", flush=True)


def verify(study: str, preset: str, guest: str, write: bool) -> int:
    """Measure twice and compare. Raises Problem or Failed."""
    values = parameters.resolve(
        {"study": study, "preset": preset, "backend": backends.EXACT, "guest": guest}
    )
    made = plans.build(study, values)
    print("\n".join(plans.lines(made)))
    print(f"measured twice: about {2 * made['estimate']['minutes']:.0f} minutes", flush=True)
    with tempfile.TemporaryDirectory(prefix="probetax-verify-") as folder:
        first, second = (_measure(made, Path(folder) / name) for name in ("first", "second"))
        return judge(first, second, exact_lock.key(study, preset, guest), write)


def _measure(made: Mapping[str, Any], out: Path) -> Path:
    progress = Progress(f"{made['study']}, {out.name} time", told=made["notes"])
    try:
        runner.run(made, out, False, progress)
    finally:
        progress.close()
    return out


def judge(first: Path, second: Path, key: str, write: bool = False) -> int:
    """Say whether two runs are the same, and the same as what is shipped under that key."""
    entry = read(first)
    if entry.digest != digest(second):
        raise Failed(f"{key}: two boots with the same inputs differ: {_where(first, second)}")
    print(f"{key}: two boots, the same digits: sha256 {entry.digest}")
    if write:
        exact_lock.store(key, entry)
        print(f"written to {exact_lock.FILE}")
        return SAME
    shipped = exact_lock.load(key)
    if shipped is None:
        raise Problem(f"nothing is shipped for {key}; known: {', '.join(exact_lock.known())}")
    if shipped.digest == entry.digest:
        print("the same as shipped, to the last digit")
        return SAME
    inputs = exact_lock.differences(shipped.inputs, entry.inputs)
    if not inputs:
        print(f"MISMATCH: the inputs are as shipped, the digits are not: {shipped.digest}")
    else:
        print(f"other inputs than shipped ({shipped.digest}):")
        print("\n".join(f"  {line}" for line in inputs))
    print("\n".join(f"  {line}" for line in exact_lock.changes(shipped, entry)))
    return OTHER_INPUTS if inputs else MISMATCH


def digest(run: Path) -> str:
    """SHA-256 of a run's rows: trials.csv, then the text of its scrapes."""
    packed = run / "scrapes.csv.gz"
    scrapes = gzip.decompress(packed.read_bytes()) if packed.exists() else b""
    return hashlib.sha256((run / "trials.csv").read_bytes() + scrapes).hexdigest()


def read(run: Path) -> Entry:
    """What a lock would hold of a run.

    Raises:
        analysis.load.RunError: the run is damaged.
        Problem: it is unfinished, and what is missing would be no difference to anything.
    """
    loaded = load.load_run(run, brief=True)
    if not loaded.finished:
        planned = len(loaded.manifest["plan"]["trials"])
        raise Problem(f"{run} has {len(loaded.trials)} of {planned} trials: finish it first")
    return Entry(
        digest=digest(run),
        inputs={**loaded.manifest["exact"], "plan": loaded.manifest["plan_hash"]},
        cells={_named(cell): _spread(cell["total"]) for cell in analysed.cells(loaded)},
        ratios={
            entry["name"]: _spread(entry["ratio"])
            for entry in analysed.comparisons(loaded)
            if entry["ratio"].high is not None
        },
    )


def _named(cell: Mapping[str, Any]) -> str:
    level = int(cell["level"])
    other = "" if level == levels.LEFT_ALONE else f" at {levels.text(level)}"
    where = f" at {level} processes" if level >= 0 else other
    return f"{cell['arm']}{where}" + (", statistics on" if cell["statistics"] == "on" else "")


def _spread(digits: analysed.Digits) -> Spread:
    assert digits.low is not None and digits.median is not None and digits.high is not None
    return Spread(digits.low, digits.median, digits.high)


def _rows(run: Path) -> list[dict[str, str]]:
    with open(run / "trials.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _where(first: Path, second: Path) -> str:
    """The first place where two runs differ."""
    for one, other in zip(_rows(first), _rows(second), strict=False):
        for name in one:
            if one[name] != other[name]:
                return f"trial {one['trial']} ({one['arm']}) has {name} {one[name]}, {other[name]}"
    return "in their scrapes, or in the number of their rows"
