"""The clone's collectors as arms: a YAML file each, and the contrasts with ours."""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cli import paths
from cli.runner import sudo_is_free
from cli.upstream.tree import Program, Tree
from experiment import power
from experiment.presets import MAX_CONTRASTS

QUESTIONS = {
    "processes": "CPU time of every process since the previous scrape",
    "gauges": "CPU time of the machine by mode",
}
#: How long a collector is watched before it counts as started, in seconds.
TRIED_S = 2.0
DEADLINE_S = 60
#: Starts it where the runner would, in mounts with tracefs, and as root where that can be.
_TRY = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
from experiment import mounts
mounts.prepare()
child = subprocess.Popen(sys.argv[3:], stdin=subprocess.DEVNULL)
try:
    child.wait(float(sys.argv[2]))
    sys.exit(f"ended with status {child.returncode}, and said nothing")
except subprocess.TimeoutExpired:
    child.terminate()
try:
    child.wait(10)
except subprocess.TimeoutExpired:
    child.kill()
    sys.exit("does not end when it is told to (SIGTERM)")
"""


def describe(program: Program, tree: Tree, build: Path, interval_ms: int) -> dict[str, Any]:
    """The arm of one program; see :mod:`experiment.arms` for the keys.

    It does not say when it is attached nor when it scrapes: it sleeps an interval, then reads. So
    the window begins a whole number of intervals after its start, as if it had said so, and its
    scrapes are counted by its sleeps.
    """
    differences = [
        f"Built unchanged from commit {tree.commit}, sources sha256 {tree.digest[:16]}",
        "Sleeps an interval and then works: a little less often than once an interval",
        "Adds the values up and forgets them",
    ]
    if program.ebpf:
        differences.append("Its own call that turns the kernel's statistics on is refused")
    if program.hook == "bpf_timer":
        differences.append("What its timer does in the kernel is not seen: only its reader is")
    binary = str(build / program.name).replace("{", "{{").replace("}", "}}")
    return {
        "name": program.arm,
        "study": program.study,
        "title": program.title,
        "summary": f"{program.name} of the article's repository, as it is there.",
        "source": "ebpf" if program.ebpf else "proc",
        "language": "C",
        "question": QUESTIONS[program.study],
        "fields": list(program.fields),
        "differences": differences,
        "command": [binary, "--interval-ms", "{interval_ms}", "--quiet"],
        "needs": list(program.needs),
        "context": "both" if program.ebpf else "none",
        "hook": program.hook,
        "programs": 1 if program.ebpf else 0,
        "ready": {"after_s": math.ceil(1000 / interval_ms) * interval_ms / 1000},
        "sleeps_per_scrape": 1,
    }


def write(arm: Mapping[str, Any], folder: Path) -> Path:
    """A YAML file of the arm; JSON values are YAML too."""
    file = folder / f"{arm['name']}.yaml"
    text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in arm.items())
    file.write_text(text, encoding="utf-8")
    return file


def why_not(program: Program, build: Path) -> str | None:
    """Start it as a run would; None if it goes on, else what it said as it ended."""
    words = [paths.SYSTEM_PYTHON, "-I", "-S", "-B", "-c", _TRY, str(paths.ROOT), str(TRIED_S)]
    words += [str(build / program.name), "--interval-ms", "100", "--quiet"]
    if program.ebpf and os.geteuid() and sudo_is_free():
        words = ["sudo", "-n", *words]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", timeout=DEADLINE_S,
        )  # fmt: skip
    except OSError as error:
        return f"{words[0]}: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"no answer within {DEADLINE_S} s"
    said = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return None if done.returncode == 0 else (said or ["no reason given"])[0]


def add_contrasts(made: dict[str, Any], programs: Sequence[Program]) -> None:
    """Declare in a plan: each program against ours of its kind, and the clone's two as a pair.

    They stand where the plan's first contrast does, or its A/A pair, and join Holm's family.
    """
    place = made["contrasts"][0] if made["contrasts"] else made["a_a"]
    statistics, processes = place["statistics"], place["processes"]
    here = {
        trial["arm"]
        for trial in made["trials"]
        if trial["kind"] == "cost"
        and (trial["statistics"], trial["processes"]) == (statistics, processes)
    }
    # a reader whose timer's work in the kernel is not seen is compared with none
    whole = [program for program in programs if program.hook != "bpf_timer"]
    pairs = [(program.arm, program.against) for program in whole]
    if len(whole) == 2:
        pairs.append((whole[0].arm, whole[1].arm))
    declared = {frozenset((one["numerator"], one["denominator"])) for one in made["contrasts"]}
    for numerator, denominator in pairs:
        pair = frozenset((numerator, denominator))
        if not pair <= here or pair in declared or len(made["contrasts"]) >= MAX_CONTRASTS:
            continue
        level = "" if processes is None else f"_{processes}"
        contrast = {
            "id": f"{numerator}_vs_{denominator}{level}",
            "numerator": numerator,
            "denominator": denominator,
            "statistics": statistics,
            "processes": processes,
        }
        made["contrasts"].append(contrast)
    made["estimate"]["smallest_adjusted_p"] = power.smallest_adjusted_p(
        made["blocks"], len(made["contrasts"])
    )
