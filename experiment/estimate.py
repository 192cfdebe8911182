"""How long a plan takes and what it writes, said before it starts. Rough, and on the high side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from experiment import loads, sensor_loads
from experiment.backends import PRESENT_IN_GUEST

#: Starting, attaching, stopping, and the fsync of the row.
OVERHEAD_S = 0.1
#: Windows begin and end half-way between two scrapes: half an interval passes before the window.
EDGE_INTERVALS = 0.5
#: A change of the process count: ending the old processes, starting the new, verifying them.
LEVEL_CHANGE_S = 0.1
PER_PROCESS_S = 1 / 5000
#: Paced external work sleeps so long before each exchange, which is two context switches, and
#: before each exec, open or send. The caches cool as they do on a machine with a few wake-ups a
#: second on each CPU; back to back they never do.
PAUSE_S = 0.010
#: Turns of external work in one trial: one to warm up, one without the arm, two with it, and one
#: without it again, so that a steady drift of the machine is the same on both sides.
TURNS = 5
#: One event of external work, by workload and pace.
EVENT_S = {
    "switch": {"hot": 5e-6, "paced": PAUSE_S / 2 + 5e-5},
    "exec": {"hot": 1.5e-4, "paced": PAUSE_S + 1e-3},
    "open": {"hot": 6e-6, "paced": PAUSE_S + 1e-3},
    "send": {"hot": 6e-6, "paced": PAUSE_S + 1e-3},
}
#: The exact machine: seconds of a boot, and of the guest in a second of one of the host's cores.
BOOT_S = 14.0
EMULATED = 4.0
_CORES = 2
#: Of a trial whose load keeps the guest busy: instructions that a host's core emulates in a
#: second, and those that the guest takes for a second of idling, a switch of the load, reading
#: /proc of a process, and starting and ending one.
EMULATED_PER_S = 6e7
IDLE_INSTRUCTIONS, SWITCH_INSTRUCTIONS = 1.5e6, 7e3
READ_INSTRUCTIONS, FORK_INSTRUCTIONS = 3.2e4, 2.5e5
#: Loading a sensor: the verifier goes through all of its programs.
LOAD_INSTRUCTIONS = 1.5e8
#: Switches a second of each thread that presses the scheduler: it sleeps for 10 ms, and wakes up.
STRESS_SWITCHES_PER_S = 150
#: A change of the load of context switches, and what each of its tasks adds.
LOAD_CHANGE_S = 0.3
PER_TASK_S = 1 / 3000
#: What an interpreter and a compilation add to setting an arm up.
PYTHON_SETUP_S = 0.6
BCC_SETUP_S = 1.5

_ROW_BYTES = 350
_SCRAPE_BYTES = 20
_PLAN_TRIAL_BYTES = 230
_MANIFEST_BYTES = 16_000


def setup_seconds(arm: Mapping[str, Any]) -> float:
    """Time until an arm is ready, beyond the overhead of any trial."""
    if arm["ready"] != "fd3":
        return float(arm["ready"]["after_s"])
    if "bcc" in arm["needs"]:
        return BCC_SETUP_S
    return PYTHON_SETUP_S if arm["language"].lower().startswith("python") else 0.0


def trial_seconds(trial: Mapping[str, Any], arm: Mapping[str, Any] | None) -> float:
    """Set-up, edges and window of one trial, without a change of the process count.

    An empty window has no arm.
    """
    fixed = OVERHEAD_S + (setup_seconds(arm) if arm else 0.0)
    if trial["kind"] == "external":
        return fixed + external_seconds(trial)
    if trial["kind"] == "sensor":  # three turns without it; those with it end before a tick
        interval_s, turn_s = trial["interval_ms"] / 1000, turn_seconds(trial)
        ticks = (2 * turn_s + OVERHEAD_S) // interval_s + 1
        return float(fixed + OVERHEAD_S + 3 * turn_s + (ticks + 0.25) * interval_s)
    if trial["kind"] == "from_start":  # getting ready is part of the window
        return OVERHEAD_S + float(trial["window_s"])
    if trial["kind"] == "cores":
        return float(fixed + trial["window_s"] + 2 * trial["interval_ms"] / 1000)
    if trial["kind"] == "fidelity":
        load = loads.known_use(trial)
        return fixed + load.delay_s + load.seconds
    edge: float = EDGE_INTERVALS * trial["interval_ms"] / 1000
    return fixed + edge + float(trial["window_s"])


def external_seconds(trial: Mapping[str, Any]) -> float:
    """All turns of one trial."""
    return TURNS * turn_seconds(trial)


def pause_seconds(trial: Mapping[str, Any]) -> float:
    """How long external work idles before each exchange, exec, open or send; 0: not at all."""
    if trial.get("pause_us") is not None:
        return float(trial["pause_us"] / 1e6)
    return PAUSE_S if trial.get("pace") == "paced" else 0.0


def turn_seconds(trial: Mapping[str, Any]) -> float:
    """The fixed count of work, made once."""
    if "event" in trial:
        event_s = sensor_loads.EVENTS[trial["event"]].seconds
        return float(trial["events"] * (event_s + pause_seconds(trial)))
    each = EVENT_S[trial.get("workload", "switch")][trial["pace"]]
    if trial.get("pause_us"):  # an exchange is two switches
        each += (pause_seconds(trial) - PAUSE_S) / 2
    return float(trial["events"] * each)


def minutes(
    trials: Iterable[Mapping[str, Any]],
    arms: Mapping[str, Mapping[str, Any]],
    exact: bool = False,
) -> float:
    """Minutes of measuring: every trial, and every change of the process count between them.

    ``exact``: minutes of two of the host's cores, on which the blocks are emulated side by side.
    """
    seconds = 0.0
    state: dict[str, Any] = {}
    blocks: set[int] = set()
    for trial in trials:
        if exact and trial["block"] not in blocks:  # a boot
            blocks.add(trial["block"])
            state = {}
            seconds += BOOT_S * EMULATED
        arm = arms.get(trial["arm"])
        if exact and {"point", "stress_threads", "event"} & set(trial):
            seconds += EMULATED * _emulation_seconds(state, trial, arm)
            continue
        seconds += _change_seconds(state, trial) + trial_seconds(trial, arm)
    if exact:
        seconds /= EMULATED * min(_CORES, max(1, len(blocks)))
    return seconds / 60


def _change_seconds(state: dict[str, Any], trial: Mapping[str, Any]) -> float:
    """What it takes to bring the machine from the state of the trial before to this one's."""
    seconds = 0.0
    load = (
        trial.get("switches_per_s", trial.get("stress_threads", 0)),
        trial.get("switching_tasks", trial.get("stress_threads", 0)),
    )
    if load != state.get("load", (0, 0)):
        seconds += LOAD_CHANGE_S + load[1] * PER_TASK_S
    level, threads = trial["processes"], trial.get("threads_per_process", 1)
    if level is not None and (level, threads) != state.get("idle"):
        seconds += LEVEL_CHANGE_S + level * threads * PER_PROCESS_S
        state["idle"] = level, threads
    state["load"] = load
    return seconds


def _emulation_seconds(
    state: dict[str, Any], trial: Mapping[str, Any], arm: Mapping[str, Any] | None
) -> float:
    """What a trial that keeps the guest busy takes of one of the host's cores."""
    lasts = trial_seconds(trial, arm)
    stress = trial.get("stress_threads", 0)
    processes = trial["processes"] or PRESENT_IN_GUEST + stress
    switches = trial.get("switches_per_s", stress * STRESS_SWITCHES_PER_S)
    each: float = IDLE_INSTRUCTIONS + switches * SWITCH_INSTRUCTIONS
    instructions: float = lasts * each
    if "event" in trial:
        of_one = sensor_loads.EVENTS[trial["event"]].instructions
        instructions += LOAD_INSTRUCTIONS + TURNS * trial["events"] * of_one
    if arm and arm["source"] == "proc":
        scrapes = lasts * 1000 / trial["interval_ms"]
        instructions += scrapes * processes * READ_INSTRUCTIONS
    if _change_seconds(state, trial):
        threads = trial.get("threads_per_process", 1)
        instructions += (trial["processes"] or stress) * threads * FORK_INSTRUCTIONS
    return instructions / EMULATED_PER_S


def disk_mb(trials: Iterable[Mapping[str, Any]]) -> float:
    """Megabytes of raw data, logs left out."""
    size = float(_MANIFEST_BYTES)
    for trial in trials:
        size += _ROW_BYTES + _PLAN_TRIAL_BYTES
        if trial["kind"] == "cost":
            size += _SCRAPE_BYTES * (1000 * trial["window_s"] / trial["interval_ms"] + 2)
    return size / 1e6
