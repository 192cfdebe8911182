"""The command: from what was asked to what is said."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cli import paths
from cli.advise import calibrated, coefficients, fleet, fleet_text, model, observe, plain, text
from cli.advise.arguments import Asked, parse
from cli.advise.coefficients import Model
from cli.advise.point import Point, outside, possible_active
from cli.advise.survey import NOW, point, survey
from cli.problem import Problem, did_you_mean, exit_code

SHIPPED = paths.DATA / "advice.json"


def main(words: Sequence[str]) -> int:
    """The exit code; see :func:`cli.problem.exit_code`."""
    return exit_code(lambda: command(words))


def command(words: Sequence[str]) -> int:
    """Answer. Raises Problem for whatever the user can put right."""
    asked = parse(words)
    nodes = fleet.read(asked.fleet) if asked.fleet else []  # what is wrong is said before measuring
    if asked.calibrate:
        from cli.advise import calibrate  # needs what the project needs

        # what the run says of itself is no part of the answer as JSON
        aside = contextlib.redirect_stdout(sys.stderr) if asked.json else contextlib.nullcontext()
        with aside:
            calibrate.measure()
    models = _models(asked)
    chosen = coefficients.choose(models, asked.model)
    content = _fleet(asked, chosen, nodes) if asked.fleet else _machine(asked, models, chosen)
    print(content)
    sys.stdout.flush()
    return 0


def _models(asked: Asked) -> list[Model]:
    """Of the named file; else this machine's own, if it was calibrated, before the shipped ones."""
    if asked.coefficients is not None:
        return coefficients.load(asked.coefficients)
    own = calibrated.models(_note)
    shipped = SHIPPED.exists() or not own
    found = [*own, *(coefficients.load(SHIPPED, empty=True) if shipped else [])]
    if not found:
        raise Problem(
            f"{SHIPPED} holds no costs yet: measure this machine's with ./study advise --calibrate,"
            " or give --coefficients FILE"
        )
    return found


def _machine(asked: Asked, models: list[Model], chosen: Model) -> str:
    if asked.given:
        points, told, seen = _given(asked, chosen)
    else:
        points, told, seen = _watched(asked, chosen)
    answers = [model.answer(chosen, point) for point in points]
    if asked.json:
        made = plain.about(chosen)
        made |= {"observed": seen, "answers": [plain.answer(chosen, found) for found in answers]}
        return _json(made)
    lines = [*told, *text.measured_where(chosen), *text.machine(chosen, answers)]
    beyond = [found.point for found in answers if found.outside]
    for other in models if beyond else []:
        covered = [p.interval_s for p in beyond if not outside(other, p)]
        if other.is_time and covered:
            every = ", ".join(text.count(interval) for interval in covered)
            lines.append(f"every {every} s was measured on {other.machine}: --model {other.run}")
    return "\n".join(lines)


def _given(asked: Asked, chosen: Model) -> tuple[list[Point], list[str], None]:
    """Points of a machine whose numbers were given, and what is assumed of it."""
    node = fleet.Node("", asked.processes, asked.switches, asked.threads, asked.active)
    told = [f"{text.count(asked.processes)} processes, {text.count(asked.switches)} context"
            " switches a second, as given"]  # fmt: skip
    least = chosen.region["threads"][0]
    if asked.threads is None or asked.threads - asked.processes < least:
        why = "were not given" if asked.threads is None else "are fewer than were measured"
        told.append(f"threads {why}: taken as {text.count(least)} beyond the first of each process,"
                    " the fewest measured; /proc costs more with more")  # fmt: skip
    if asked.active is None:
        told.append("active tasks were not given: every number that is possible is allowed for")
    return [point(chosen, node, every) for every in asked.intervals], told, None


def _watched(asked: Asked, chosen: Model) -> tuple[list[Point], list[str], dict[str, Any]]:
    """Points of this machine, watched."""
    observe.whole()
    _note(f"watching this machine for {asked.seconds:g} s; nothing is attached")
    seen = observe.machine(asked.seconds, asked.intervals, _countdown(asked.seconds))
    extra = max(chosen.region["threads"][0], seen.threads - seen.processes)
    points = []
    for every in asked.intervals:
        ran = seen.active[every]
        active = (ran, ran) if ran is not None else (
            seen.longest,
            max(seen.longest, possible_active(
                chosen, seen.processes, extra, seen.switches_per_s, every)[1]),
        )  # fmt: skip
        points.append(Point(seen.processes, extra, seen.switches_per_s, every, active))
    rates = f"{text.number(seen.slowest)} to {text.number(seen.fastest)}"
    told = [
        f"this machine, watched for {seen.seconds:.0f} s: {seen.processes:,.0f} processes,"
        f" {seen.threads:,.0f} threads, {text.number(seen.switches_per_s)} context switches"
        f" a second ({rates})",
        f"the reading took {100 * seen.own_share:.2g} % of a core, and"
        f" {text.number(seen.own_switches)} of these switches a second",
    ]
    if extra > seen.threads - seen.processes:
        told.append(
            f"fewer threads than on the measured machine: taken as {text.count(extra)} beyond the"
            " first of each process"
        )
    return points, told, vars(seen)


def _fleet(asked: Asked, chosen: Model, nodes: list[fleet.Node]) -> str:
    assert asked.fleet is not None
    now = asked.now or NOW
    known = [arm.name for arm in chosen.arms]
    if asked.now is not None and now not in known:
        raise Problem(f"no collector '{now}'{did_you_mean(now, known)}")
    if asked.output is not None and asked.output.resolve() == asked.fleet.resolve():
        raise Problem("--output would overwrite the fleet's file: choose another")
    own = all(node.interval is not None for node in nodes)
    intervals: tuple[float | None, ...] = (None,) if own else asked.intervals
    found = [survey(chosen, nodes, every, now) for every in intervals]
    if asked.output is not None:
        _write(asked.output, fleet_text.as_csv(chosen, found))
    if asked.json:
        made = plain.about(chosen)
        return _json(made | {"fleets": [plain.fleet(chosen, one) for one in found]})
    lines = [f"{asked.fleet}: {len(nodes):,} nodes", *text.measured_where(chosen)]
    least = chosen.region["threads"][0]
    if any(node.threads is None or node.threads - node.processes < least for node in nodes):
        lines.append("nodes without threads, or with fewer than were measured: taken as the fewest"
                     " measured; /proc costs more with more")  # fmt: skip
    if any(node.active is None for node in nodes):
        lines.append("nodes without active: every number of active tasks that is possible is"
                     " allowed for")  # fmt: skip
    asked_of = {answer.interval_s for one in found for answer in one.nodes if not answer.outside}
    lines += text.beyond(chosen, sorted(asked_of))
    for one in found:
        lines += fleet_text.lines(chosen, one)
    if asked.output is not None:
        lines += ["", f"every node's answer: {asked.output}"]
    return "\n".join(lines)


def _write(path: Path, content: str) -> None:
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise paths.unwritable(path, error) from None


def _json(made: dict[str, Any]) -> str:
    return json.dumps(made, indent=1, ensure_ascii=False, allow_nan=False, default=str)


def _note(said: str) -> None:
    print(f"probetax: {said}", file=sys.stderr, flush=True)


def _countdown(seconds: float) -> Callable[[float], None]:
    """Shows on a terminal how long is left; elsewhere nothing."""

    def tell(elapsed: float) -> None:
        if sys.stderr.isatty():
            left = max(0.0, seconds - elapsed)
            end = "\r" if left else "\r\033[K"
            print(f"probetax: {left:3.0f} s left", end=end, file=sys.stderr, flush=True)

    return tell
