"""What a tool reports of each CPU beside a duty cycle on every one of them that is known."""

from __future__ import annotations

import os
import select
import time
from typing import Any

from experiment import core_loads, core_reports, workloads
from experiment.accounting import machine
from experiment.collector import Collector, Failed, Unavailable
from experiment.trials.common import COUNTERS, Row, Setting, running

#: The load outlasts the window by so many intervals, so that a last report still falls into it.
_BEYOND = 1.6
#: Where the kernel accounts what ran on each CPU, to the nanosecond.
_ACCOUNTS = (
    "/proc/schedstat",
    "/sys/fs/cgroup/cpuacct/cpuacct.usage_percpu",
    "/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage_percpu",
)


def measure(trial: dict[str, Any], setting: Setting, row: Row, samples: list[Row]) -> None:
    """Fill the row, and the samples: known and reported percent by report and CPU."""
    arm = setting.arms[trial["arm"]]
    how = core_reports.form(arm)
    if how is None:
        raise Unavailable("this arm reports no CPU by itself")
    interval_ms = int(trial["interval_ms"])
    words = _load(trial, setting.paths["build"])
    row.update(interval_ms=interval_ms)
    kept = setting.log_folder / f"{trial['trial']}-{trial['arm']}.reports"
    records = kept if how == "records" else None
    try:
        with running(trial, setting, interval_ms, records, output=records is None) as (
            collector,
            _,
            setup_ns,
        ):
            row.update(setup_ns=setup_ns, processes=machine.processes())
            began = time.monotonic_ns()
            _discard(collector)
            with workloads.started(words) as process:
                lines = _listen(collector, began + _lasts_ns(trial))
                collector.check_alive()
                closing = collector.stop()
                known = workloads.report(process, 30 + 5 * trial["window_s"])
            row.update(window_ns=time.monotonic_ns() - began)
        row.update({name: closing.get(name) for name in COUNTERS})
        found = (
            core_reports.read_records(kept.read_text())
            if how == "records"
            else core_reports.printed(how, lines)
        )
    finally:
        kept.unlink(missing_ok=True)
    samples += [{"trial": trial["trial"], **r} for r in core_reports.against(found, known["cpus"])]
    row["scrapes"] = len({sample["scrape"] for sample in samples})
    if not samples:
        raise Failed("no report lies wholly within the load's time")


def account_of_cpus() -> str | None:
    """The file that tells what ran on each CPU; None where this kernel has none."""
    return next((path for path in _ACCOUNTS if os.access(path, os.R_OK)), None)


def _load(trial: dict[str, Any], build: str) -> list[str]:
    """The command of the duty cycle. Raises Unavailable where a CPU's other use is not known."""
    account = account_of_cpus()
    if account is None:
        raise Unavailable(
            "neither /proc/schedstat (CONFIG_SCHEDSTATS) nor cpuacct.usage_percpu of cgroup v1 is"
            " here: what else ran on a CPU cannot be known"
        )
    seconds = -(-int(1000 * trial["window_s"] + _BEYOND * trial["interval_ms"]) // 1000)
    return [
        os.path.join(build, core_loads.PROGRAM),
        *("--duty", str(trial["duty_percent"]), "--burst-us", str(trial["burst_us"])),
        *("--seconds", str(seconds), "--others", account),
    ]


def _lasts_ns(trial: dict[str, Any]) -> int:
    """How long the tool is listened to."""
    return round(1e9 * float(trial["window_s"]) + 1e6 * int(trial["interval_ms"]))


def _discard(collector: Collector) -> None:
    """Forget what the tool printed before anybody listened: nobody knows when."""
    while collector.output is not None and select.select([collector.output], [], [], 0)[0]:
        if not os.read(collector.output, 1 << 16):
            return


def _listen(collector: Collector, until_ns: int) -> list[core_reports.Line]:
    """The lines that the tool prints until then, each with the moment it came."""
    lines: list[core_reports.Line] = []
    rest = b""
    while (left := until_ns - time.monotonic_ns()) > 0:
        if collector.output is None:
            time.sleep(left / 1e9)
            continue
        if not select.select([collector.output], [], [], left / 1e9)[0]:
            break
        data = os.read(collector.output, 1 << 16)
        now = time.monotonic_ns()
        if not data:
            break  # it has ended; the caller says why
        *whole, rest = (rest + data).split(b"\n")
        lines += [(now, line.decode(errors="replace")) for line in whole]
    return lines
