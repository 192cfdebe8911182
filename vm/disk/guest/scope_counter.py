"""Whether the counter that is read of a systemd scope is the one that systemd reports.

Prints both, in ns, once the scope has come to rest after a second of work.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from experiment.accounting.systemd import SystemdScope  # noqa: E402

#: A process keeps the CPU time that systemd-run spent before it entered the scope.
_WORK = (
    "import time\nsince = time.process_time()\n"
    "while time.process_time() < since + 1: pass\ntime.sleep(600)"
)
_SHOW = ("systemctl", "show", "--property=CPUUsageNSec", "--value")


def main() -> int:
    """0 if the scope held just its process and was read without asking systemd."""
    scope = SystemdScope().group("counter")
    process = subprocess.Popen([*scope.launch_prefix(), "/usr/bin/python3", "-c", _WORK])
    try:
        time.sleep(10)
        scope.prepare()
        while (before := scope.cpu_ns()) < 1_000_000_000 or before != scope.cpu_ns():
            time.sleep(1)
        asked = subprocess.run([*_SHOW, scope.unit], capture_output=True, text=True, check=True)
        print(scope.cpu_ns(), int(asked.stdout))
        return 0 if scope.pids() == [process.pid] and scope._counter else 1
    finally:
        scope.destroy()
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
