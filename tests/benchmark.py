"""Speed and size, measured on demand and not as timed tests: ``python tests/benchmark.py``.

Prints each figure beside its limit; exits 1 if one is over. ``--setup`` and ``--suite`` add the two
that take minutes: a first set-up in a fresh clone (packages already there are not counted
again) and the whole test suite. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from experiment import plan  # noqa: E402
from experiment.accounting import machine  # noqa: E402
from experiment.workloads import IdleProcesses  # noqa: E402

#: name, measured, limit, unit
Figure = tuple[str, float, float, str]


def quick_minutes() -> Iterator[Figure]:
    """Measuring time that the plans of ``./study run`` announce."""
    minutes = 0.0
    for study in ("processes", "gauges"):
        made = plan.build(
            study, "quick", root=ROOT, python=sys.executable, system_python="/usr/bin/python3"
        )
        minutes += made["estimate"]["minutes"]
    yield "quick, both studies", minutes, 5, "min of measuring"


def harness() -> Iterator[Figure]:
    """What the harness used inside the windows of the shipped runs, from their raw rows."""
    for path in sorted((ROOT / "data" / "raw").glob("*/*/trials.csv")):
        rows = pd.read_csv(path).dropna(subset=["harness_ns", "window_ns"])
        share = 100 * rows["harness_ns"].sum() / rows["window_ns"].sum()
        yield f"harness, {path.parent.name}", share, 0.05, "% of a core"
        woken = float((rows["harness_wakeups"] > 0).mean() * 100)
        yield f"windows with a wake-up, {path.parent.name}", woken, 5, "%"


def idle_memory(count: int = 5000) -> Iterator[Figure]:
    """Memory that 5,000 idle processes take from the machine, kernel included."""
    before = _available_mb()
    with tempfile.TemporaryDirectory() as folder:
        load = IdleProcesses(str(ROOT / "bpf" / "build"), Path(folder) / "log")
        began = time.monotonic()
        load.ensure(machine.processes() + count)
        seconds = time.monotonic() - began
        used = before - _available_mb()
        load.stop()
    yield f"{count:,} idle processes", used, 2048, "MB"
    yield f"starting {count:,} idle processes", seconds, 10, "s"


def _available_mb() -> float:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("/proc/meminfo has no MemAvailable")


def figures() -> Iterator[Figure]:
    """Every table and figure of the shipped data, made anew."""
    with tempfile.TemporaryDirectory() as folder:
        code = "import sys; from analysis.report import process_all; process_all(*sys.argv[1:])"
        began = time.monotonic()
        subprocess.run(
            [sys.executable, "-c", code, str(ROOT / "data" / "raw"), folder], check=True, cwd=ROOT
        )
        yield "figures of the shipped data", time.monotonic() - began, 30, "s"


def fleet(trials: int = 200_000) -> Iterator[Figure]:
    """The verdicts of many machines: made-up runs of some 400 trials, one a machine."""
    sys.path.insert(0, str(ROOT / "tests" / "analysis"))
    import synthetic

    arms = [*synthetic.PROCESSES, "psutil_processes"]
    pairs = (("proc_stat", "sched_switch_published"), ("proc_stat", "sched_switch"))
    contrasts = [synthetic.contrast(*pair, level) for pair in pairs for level in (100, 600)]
    twin = ("proc_stat", "off", 600)
    made = synthetic.make_plan(arms, [100, 600], 12, a_a=twin, rounds=2, contrasts=contrasts)
    with tempfile.TemporaryDirectory() as folder:
        few = [synthetic.write_run(Path(folder) / str(n), made, seed=n) for n in range(8)]
        manifest = json.loads((few[0] / "manifest.json").read_text(encoding="utf-8"))
        count = -(-trials // len(made["trials"]))
        for n in range(count):
            name = f"20240601T000000Z-node{n}-00000000"
            run = Path(folder) / "raw" / "processes" / name
            shutil.copytree(few[n % len(few)], run)
            (run / "manifest.json").write_text(json.dumps({**manifest, "run": name}))
        code = (
            "import os, resource, sys; from analysis.machines import machines;"
            "found = machines(*sys.argv[1:]); of = resource.getrusage;"
            "own = of(resource.RUSAGE_SELF).ru_maxrss;"
            "child = of(resource.RUSAGE_CHILDREN).ru_maxrss;"
            "print(found['trials'], own + os.cpu_count() * child)"
        )
        command = [sys.executable, "-c", code, str(Path(folder) / "raw"), folder]
        began = time.monotonic()
        done = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True)
        seconds = time.monotonic() - began
    read, kilobytes = map(int, done.stdout.split())
    yield f"{read:,} trials of {count} machines", seconds, 20, "s"
    yield "memory for that, all processes", kilobytes / 1024, 2048, "MB"


def size() -> Iterator[Figure]:
    """What git stores of this checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    files = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    yield "repository", sum(f.stat().st_size for f in files if f.is_file()) / 1e6, 60, "MB"
    for run in sorted((ROOT / "data" / "raw").glob("*/*")):
        raw = sum(f.stat().st_size for f in run.rglob("*") if f.is_file()) / 1e6
        yield f"raw data, {run.name}", raw, 5, "MB"


def setup() -> Iterator[Figure]:
    """A first set-up in a fresh clone."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        began = time.monotonic()
        subprocess.run([str(clone / "vm" / "provision.sh")], check=True, stdout=sys.stderr)
        yield "set-up", (time.monotonic() - began) / 60, 5, "min"


def suite() -> Iterator[Figure]:
    """The README's test command."""
    began = time.monotonic()
    subprocess.run([str(ROOT / "study"), "test"], check=True, stdout=sys.stderr)
    yield "./study test", (time.monotonic() - began) / 60, 10, "min"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--setup", action="store_true", help="a first set-up, minutes")
    parser.add_argument("--suite", action="store_true", help="the whole test suite, minutes")
    options = parser.parse_args()
    chosen = [quick_minutes, harness, idle_memory, figures, fleet, size]
    chosen += [setup] * options.setup + [suite] * options.suite
    over = 0
    for measure in chosen:
        for name, value, limit, unit in measure():
            over += value > limit
            mark = "over" if value > limit else "ok"
            print(f"{mark:<5} {name:<64} {value:>9.3g}  of at most {limit:g} {unit}", flush=True)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
