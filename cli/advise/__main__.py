"""``python3 -B -I -S <root>/cli/advise``: the command without any set-up.

Isolated mode leaves the clone out of the import path, hence the lines below.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

    from cli.advise import command

    sys.exit(command.main(sys.argv[1:]))
