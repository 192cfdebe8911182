"""The runner's command line: ``python3 -I -S <root>/experiment PLAN OUT [--resume]``.

Isolated mode leaves this folder's parent out of the import path, hence the line below.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiment import doctor, guard  # noqa: E402
from experiment.run_folder import RunError  # noqa: E402
from experiment.runner import execute, load_plan  # noqa: E402


def main() -> int:
    """0 finished, 130 interrupted, 2 bad input."""
    parser = argparse.ArgumentParser(prog="experiment", description="Execute a plan.")
    parser.add_argument("plan", type=Path, nargs="?", help="plan.json")
    parser.add_argument("out", type=Path, nargs="?", help="the run's folder")
    parser.add_argument("--resume", action="store_true", help="go on with an unfinished run")
    parser.add_argument("--doctor", action="store_true", help="print what works here, as JSON")
    parser.add_argument("--repair", action="store_true", help="remove what killed runs have left")
    options = parser.parse_args()
    if options.repair:
        guard.repair()
        return 0
    if options.doctor:
        json.dump(doctor.report({}), sys.stdout)
        return 0
    if not options.plan or not options.out:
        parser.error("a plan and an output folder are needed")
    try:
        status = execute(load_plan(options.plan), options.out, options.resume)
    except RunError as error:
        print(f"probetax: {error}", file=sys.stderr)
        return 2
    return 0 if status == "finished" else 130


if __name__ == "__main__":
    sys.exit(main())
