"""``./study compare-upstream PATH``: the article's own collectors in the same blocks as ours."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cli import environment, parameters, paths, results, runner, runs
from cli import plan as plans
from cli.arguments import Parser
from cli.broker import ask_for_root
from cli.problem import Failed, Interrupted, Problem
from cli.progress import Progress
from cli.upstream import arms, build, tree
from experiment.run_folder import run_name

PARAMETERS = ("preset", "runs", "minutes", "output")


def command(words: Sequence[str]) -> int:
    """Build, measure study after study, and print what was found. Raises Problem or Failed."""
    path, studies, given = _parse(words)
    base = {study: parameters.resolve({**given, "study": study}) for study in studies}
    source = tree.find(path, [program for study in studies for program in tree.of_study(study)])
    made: dict[str, dict[str, Any]] = {}
    told = []
    for study in studies:
        folder = build.build(source, tree.of_study(study), say)
        ask_for_root()
        made[study], notes = plan(study, base[study], source, folder)
        told += notes
    for line in told:
        say(line)
    minutes = sum(float(one["estimate"]["minutes"]) for one in made.values())
    for one in made.values():
        print("\n".join(plans.lines(one)))
    say(f"measuring about {minutes:.1f} minutes; keep the machine quiet")
    found = [measure(one, base[study]["output"]) for study, one in made.items()]
    for processed in found:
        print(f"\n{results.findings(processed)}")
    return 0


def say(line: str) -> None:
    """One line of what is going on."""
    print(f"probetax: {line}", flush=True)


def _parse(words: Sequence[str]) -> tuple[Path, list[str], dict[str, Any]]:
    """(path of the clone, studies, parameters that were given). Raises Problem."""
    parser = Parser(prog="./study compare-upstream", description=__doc__, allow_abbrev=False)
    parser.add_argument("path", metavar="PATH", help=f"{tree.WANTED}; it is only read")
    parser.add_argument(
        "studies", nargs="*", metavar="STUDY", help="processes, gauges (alone: both)"
    )
    known = parameters.declared()
    for name in PARAMETERS:
        parser.add_argument(f"--{name}", metavar="VALUE", help=known[name].help)
    options = parser.parse_args(words)
    studies = list(dict.fromkeys(options.studies)) or list(tree.OURS)
    for study in studies:
        if study not in tree.OURS:
            raise Problem(f"the clone has no collectors for '{study}', only for processes, gauges")
    texts = {name: getattr(options, name) for name in PARAMETERS}
    given = {name: parameters.from_text(text) for name, text in texts.items() if text is not None}
    return Path(options.path).expanduser().absolute(), studies, given


def plan(
    study: str, values: dict[str, Any], source: tree.Tree, folder: Path
) -> tuple[dict[str, Any], list[str]]:
    """(the plan with the clone's arms and contrasts, one line for each that does not start).

    Raises Problem if none starts.
    """
    programs = tree.of_study(study)
    reasons = {program.name: arms.why_not(program, folder) for program in programs}
    notes = [
        f"{study}: the clone's {name} does not start and is left out: {reason}"
        for name, reason in reasons.items()
        if reason is not None
    ]
    started = [program for program in programs if reasons[program.name] is None]
    if not started:
        raise Problem("\n".join([*notes, f"{study}: nothing of the clone is left to compare"]))
    # what a file says depends on the interval, which the preset may set
    interval_ms = int(plans.build(study, {**values, "minutes": None})["interval_ms"])
    with tempfile.TemporaryDirectory(prefix="probetax-upstream-") as private:
        files = [
            str(arms.write(arms.describe(program, source, folder, interval_ms), Path(private)))
            for program in started
        ]
        made = plans.build(study, {**values, "arms": [*tree.OURS[study], *files]})
    arms.add_contrasts(made, started)
    made["notes"] += notes
    return made, notes


def measure(made: dict[str, Any], output: Path) -> Path:
    """Run a plan and analyse it; the folder of what was found.

    Raises Interrupted or Failed, with how to go on.
    """
    study, name = str(made["study"]), run_name(made)
    raw, processed = paths.raw(output, study) / name, paths.processed(output, study, name)
    user = environment.behind_sudo()
    new = paths.absent(processed)
    paths.writable_folder(raw.parent)
    progress = Progress(study, told=made["notes"])
    try:
        runner.run(made, raw, False, progress)
    except (Interrupted, Failed) as problem:
        how = f"go on with ./study run --resume {name} --output '{output}'"
        raise type(problem)(f"{problem}; {how}") from None
    finally:
        progress.close()
    left, planned = runs.trials_left(raw)
    if left:
        raise Failed(f"{study}: {left} of {planned} trials have no row in {raw}")
    results.process(raw, processed)
    if user:
        for place in [*new, *processed.rglob("*")]:
            with contextlib.suppress(OSError):
                os.chown(place, user.uid, user.gid, follow_symlinks=False)
    return processed
