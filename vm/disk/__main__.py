"""``python -m vm.disk COMMAND``: build, boot and check the machine with systemd."""

from __future__ import annotations

import argparse
import platform
import signal
import sys
import time
from pathlib import Path

from vm.disk import boot, check, image
from vm.problem import Problem
from vm.result import GuestFailed

#: Everything under emulation on two slow CPUs, with room to spare.
DEADLINE_S = 3600.0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m vm.disk",
        description="A Debian machine with systemd on a disk image, set up by vm/provision.sh.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in {
        "build": "build the image unless it is there, and say where",
        "check": "boot it; doctor, a short run through papermill, BCC, systemd scopes; a verdict",
        "shell": "boot it with the console at this terminal (poweroff or Ctrl-A X ends it)",
    }.items():
        command = commands.add_parser(name, help=text, allow_abbrev=False)
        if name != "build":
            command.add_argument("--accel", default="tcg", choices=("tcg", "kvm"))
        if name == "check":
            command.add_argument("results", type=Path, help="folder for what is found; must be new")
            command.add_argument("--deadline", type=float, default=DEADLINE_S, metavar="SECONDS")
    return parser


def main() -> int:
    """Exit 0; 1 where the check found something; 2 for what the user can put right."""
    options = _parser().parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):  # cleaned up as after Ctrl-C
        signal.signal(number, signal.default_int_handler)
    try:
        return _dispatch(options)
    except Problem as error:
        print("\n".join(f"probetax: {line}" for line in str(error).splitlines()), file=sys.stderr)
        return 2
    except GuestFailed as error:
        shown = [f"  | {''.join(c for c in line if c.isprintable())}" for line in error.console]
        print("\n".join([*shown, f"probetax: {error}"]), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _dispatch(options: argparse.Namespace) -> int:
    def tell(text: str) -> None:
        print(text if text.startswith("probetax: ") else f"probetax: {text}", flush=True)

    if options.command == "check" and options.results.exists():
        raise Problem(f"{options.results} exists: give a new folder")
    began = time.monotonic()
    disk = image.build(say=tell)
    tell(f"{disk.file} ({time.monotonic() - began:.0f} s)")
    if options.command == "shell":
        return boot.shell(disk, options.accel)
    if options.command == "check":
        return _check(disk, options, tell)
    return 0


def _check(disk: image.Disk, options: argparse.Namespace, tell: image.Say) -> int:
    job = image.GUEST / "check"
    outcome = boot.run_job(disk, job, options.results, options.deadline, options.accel, tell)
    if outcome.status:  # what would have followed is missing too
        found = [f"the job ended with status {outcome.status}: see {outcome.folder}/log"]
    else:
        found = check.problems(outcome.folder)
    for line in found:
        tell(f"not as it should be: {line}")
    verdict = f"{len(found)} problem{'s' * (len(found) > 1)}" if found else "everything works"
    tell(f"{verdict} on {platform.machine()}, {outcome.seconds:.0f} s; {outcome.folder}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
