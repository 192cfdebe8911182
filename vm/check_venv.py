"""Tells a whole virtual environment from one whose installation was cut off.

pip takes a package for installed once its metadata is there; here every file that a package's
RECORD lists must exist in its recorded length. Exit 0, or 1 with one line.
"""

import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path


def whole(dist: Distribution) -> bool:
    """Say whether every recorded file is there; bytecode may be missing, it is made again."""
    recorded = [file for file in dist.files or [] if file.suffix != ".pyc"]
    for file in recorded:
        place = Path(str(dist.locate_file(file)))
        if not place.exists() or (file.size is not None and place.stat().st_size != file.size):
            return False
    return bool(recorded)


def damaged() -> list[str]:
    """Name this environment's distributions that are not whole."""
    own = [dist for dist in distributions() if str(dist.locate_file("")).startswith(sys.prefix)]
    return sorted({str(dist.metadata["Name"]) for dist in own if not whole(dist)})


if __name__ == "__main__":
    broken = damaged()
    if broken:
        print(f"the virtual environment is damaged: {', '.join(broken)}")
    sys.exit(1 if broken else 0)
