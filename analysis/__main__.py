"""python -m analysis RUN_DIR OUT_DIR: all that follows from one run, without the commands."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from analysis.load import RunError
from analysis.report import process


def main() -> int:
    """Exit 0: done; 2: raw data that cannot be used; 1: a folder that cannot be written."""
    parser = argparse.ArgumentParser(prog="python -m analysis", description=__doc__)
    parser.add_argument("run", type=Path, help="folder of one run, data/raw/<study>/<run>")
    parser.add_argument("out", type=Path, help="folder for tables, figures and summary.json")
    arguments = parser.parse_args()
    try:
        summary = process(arguments.run, arguments.out)
    except RunError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        place = error.filename or arguments.out
        print(f"{place}: {error.strerror}; give a folder that can be written", file=sys.stderr)
        return 1
    print(summary["sentence"])
    for warning in summary["warnings"]:
        print(f"note: {warning}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
