"""``python -m cli COMMAND``: the commands behind ``./study``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from cli import parameters
from cli.arguments import Parser
from cli.problem import Problem, did_you_mean, exit_code

HALF_WIDTH = "half_width"  # of ./study plan alone: no parameter of a run
COMMANDS = (
    "run", "plan", "figures", "claims", "validate", "report", "review", "doctor", "lab", "exact",
    "compare-upstream", "advise",
)  # fmt: skip


def measuring(command: str, words: Sequence[str]) -> dict[str, Any]:
    """The parameters that a command line gives. Raises Problem for an unknown name."""
    parser = Parser(prog=f"./study {command}", allow_abbrev=False)
    parser.add_argument(
        "studies",
        nargs="*",
        metavar="STUDY",
        help="processes, gauges, accounts, crossover, cores (alone: the first two)",
    )
    known = parameters.declared()
    for name, parameter in known.items():
        option = "--" + name.replace("_", "-")
        parser.add_argument(option, dest=name, metavar="VALUE", help=parameter.help)
    if command == "plan":
        about = "say how many blocks the primary ratio to so many percent needs, as 10%%"
        parser.add_argument("--half-width", dest=HALF_WIDTH, metavar="PERCENT", help=about)
    parser.add_argument(
        *("-p", "--parameter"),
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="the same as --NAME VALUE, as papermill takes it",
    )
    options, rest = parser.parse_known_args(words)
    for word in rest:
        hint = did_you_mean(word, ["--" + name.replace("_", "-") for name in known])
        raise Problem(f"unknown option '{word}'{hint}")
    texts = {name: text for name in known if (text := getattr(options, name)) is not None}
    given = {name: parameters.from_text(text) for name, text in texts.items()}
    for name, text in options.parameter:
        given[name] = parameters.from_text(text)
    if getattr(options, HALF_WIDTH, None) is not None:
        given[HALF_WIDTH] = getattr(options, HALF_WIDTH)
    if options.studies:
        if "study" in given:
            raise Problem("the study is given twice: by name and by --study")
        given["study"] = ",".join(options.studies)
    return given


def dispatch(command: str, words: Sequence[str]) -> int:
    """Run a command. Raises Problem for whatever the user can put right."""
    # each imports what it needs: the doctor answers without waiting for pandas
    if command == "run":
        from cli import run

        return run.command(measuring(command, words))
    if command == "plan":
        from cli import plan

        given = measuring(command, words)
        wanted = given.pop(HALF_WIDTH, None)
        half_width = None if wanted is None else plan.percent(wanted)
        return plan.command(parameters.resolve(given), half_width)
    if command == "figures":
        from cli import figures

        return figures.command(words)
    if command == "claims":
        from cli import claims

        return claims.command(words)
    if command == "report":
        from cli import report

        return report.command(words)
    if command == "review":
        from cli.review import command as review

        return review.command(words)
    if command == "validate":
        from cli import validate

        return validate.command(words)
    if command == "doctor":
        from cli import doctor

        return doctor.command(words)
    if command == "lab":
        from cli import lab

        return lab.command(words)
    if command == "exact":
        from cli import exact

        return exact.command(words)
    if command == "compare-upstream":
        from cli.upstream import command as upstream

        return upstream.command(words)
    if command == "advise":
        from cli.advise import command as advise

        return advise.command(words)
    raise Problem(f"unknown command '{command}'{did_you_mean(command, COMMANDS)}")


def main() -> int:
    """The exit code of the command that the command line names."""
    command, *words = sys.argv[1:] or ["help"]
    return exit_code(lambda: dispatch(command, words))


if __name__ == "__main__":
    sys.exit(main())
