"""Exact instructions beside live time: where the caches decide, not the instructions.

    scrape   instructions in the collector's cgroup for a scrape (exact run), and the CPU time of
             the same cgroup for a scrape (live run, headline's own account, statistics off)
    event    instructions that a program adds to one context switch (exact accounts run), and the
             time it adds to one, paced and hot (live accounts run)

    ns per instruction = live time / exact instructions

On one machine the same instructions take much the same time while the caches are warm.  What takes
several times more of it a piece waits for memory: polling once a second and a program on a hook
find their data and their code gone from the caches.  The two are counted on different kernels and
processors' models, so that a ratio of a few tens of percent says nothing.

Made from the newest finished run of each kind, by study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.exact import BACKEND, NS_PER_INSTRUCTION

Summary = Mapping[str, Any]
Row = dict[str, Any]
#: Presets of both, the weightiest first.
PRESETS = ("exact", "exact_scaling", "paper", "scaling", "article", "quick")


def beside(summaries: Sequence[Summary]) -> list[Row]:
    """One row per arm and condition that both a live and an exact run have.

    Keys kind (scrape, event), arm, title, at (process count or pace; None: left alone),
    stress_threads, instructions, live_ns, live_low, live_high, ns_per_instruction, low, high,
    exact_run, live_run.
    """
    rows: list[Row] = []
    for study in dict.fromkeys(str(s["study"]) for s in summaries):
        live = _newest(summaries, study, "here")
        exact = _newest(summaries, study, BACKEND, _architecture(live) if live else None)
        if exact is None or live is None:
            continue
        runs = {"exact_run": exact["run"], "live_run": live["run"]}
        rows += [{**row, **runs} for row in (*_scrapes(exact, live), *_events(exact, live))]
    return rows


def _architecture(run: Summary) -> str | None:
    found: str | None = run["fingerprint"].get("architecture")
    return found


def _newest(
    summaries: Sequence[Summary], study: str, backend: str, architecture: str | None = None
) -> Summary | None:
    """`architecture`: of that one alone, since other processors have other instructions."""
    found = [
        s
        for s in summaries
        if s["study"] == study and s["finished"] and (s.get("backend") or "here") == backend
    ]
    if architecture:
        found = [s for s in found if _architecture(s) == architecture]
    ranked = [p for p in PRESETS if any(s["preset"] == p for s in found)]
    found = [s for s in found if ranked and s["preset"] == ranked[0]]
    return max(found, key=lambda s: str(s["run"]), default=None)


def _row(
    kind: str, of: Summary, at: Any, instructions: float, ns: Row, threads: int | None = None
) -> Row | None:
    estimate, low, high = (ns.get(key) for key in ("estimate", "low", "high"))
    if estimate is None or instructions <= 0:
        return None
    each = {"low": low, "high": high, "ns_per_instruction": estimate}
    return {
        **{"kind": kind, "arm": of["arm"], "title": of["title"], "at": at},
        **{"stress_threads": threads, "instructions": instructions},
        **{"live_ns": estimate, "live_low": low, "live_high": high},
        **{key: None if v is None else v / instructions for key, v in each.items()},
    }


def _scrapes(exact: Summary, live: Summary) -> list[Row]:
    """The collector's own account at every level that both have."""
    interval_ns = float(live["interval_ms"] or 0) * 1e6
    times = {_place(cell): cell["agent"] for cell in live["cells"]}
    rows = []
    for cell in exact["exact"]["cells"]:
        agent = times.get(_place(cell))
        count = cell["agent"]["median"]
        if cell["statistics"] == "off" and agent and count:
            keys = ("estimate", "low", "high")
            ns = {k: None if agent[k] is None else agent[k] / 100 * interval_ns for k in keys}
            threads = cell.get("stress_threads")
            rows.append(_row("scrape", cell, cell["processes"], count, ns, threads))
    return [row for row in rows if row]


def _place(cell: Summary) -> tuple[str, int | None, int | None]:
    return cell["arm"], cell["processes"], cell.get("stress_threads")


def _events(exact: Summary, live: Summary) -> list[Row]:
    """What each program adds to a context switch."""
    times = {(e["arm"], e["workload"], e["pace"]): e["external_off"] for e in live["accounts"]}
    rows = []
    for e in exact["accounts"]:
        ns = times.get((e["arm"], e["workload"], e["pace"]))
        added = (e["external_off"] or {}).get("estimate")
        if e["workload"] == "switch" and ns and added:
            count = added / NS_PER_INSTRUCTION
            rows.append(_row("event", e, e["pace"], count, ns))
    return [row for row in rows if row]
