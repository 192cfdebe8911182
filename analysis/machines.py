"""Many machines at once: the verdict of every run, and each contrast over all of them.

For hundreds of runs the tables and figures of each one are beside the point.  Here a run is loaded,
checked and judged as ever, but only its declared contrasts are kept, and the unit of what is said
of all of them is the machine: one mean of each arm a machine, over its sessions (see `sessions` and
`pooled`).  A machine is a host name, CPU model, number of CPUs, kernel release and architecture.

    <processed>/machines/<study>-<preset>/  summary.json, tables/machines (a row a run and contrast)
                                            and tables/over_machines (a row a contrast)
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from analysis import workers
from analysis.contrasts import evaluate
from analysis.crossover.conditions import has_points
from analysis.exact import BACKEND
from analysis.levels import at
from analysis.load import RunError, find_runs, load_run
from analysis.measures import Measures
from analysis.pooled import decide, over_means
from analysis.sessions import HELD, MACHINE, machine_key, plain
from analysis.tables import machines as tables
from analysis.write import put, put_json, rounded

CHUNK = 8  # runs that a worker takes at a time
QUANTILES = (0.05, 0.5, 0.95)
Summary = dict[str, Any]


def brief(run_dir: Path) -> Summary | str:
    """A run's declared contrasts with their verdicts, or one line on why it cannot be used."""
    try:
        run = load_run(run_dir, brief=True)
    except RunError as error:
        return str(error)
    fingerprint = run.manifest["fingerprint"]
    made: Summary = {
        "study": run.study,
        "preset": run.manifest["preset"],
        "backend": str(run.plan.get("backend") or "here"),
        "run": run.name,
        "host": run.name.partition("-")[2].rpartition("-")[0],
        "fingerprint": {key: fingerprint.get(key) for key in MACHINE},
        "interval_ms": run.plan.get("interval_ms"),
        "blocks": int(run.plan.get("blocks") or 0),
        "trials": len(run.trials),
        "contrasts": [],
    }
    if has_points(run):
        return made  # its contrasts are of points, not of numbers of processes
    for e in evaluate(Measures(run), beside=()):
        keys = ("id", "numerator", "denominator", "statistics", "measure", "verdict", "why")
        entry = {key: e[key] for key in keys}
        entry |= at(e["level"])
        entry["titles"] = [run.title(e[side]) for side in ("numerator", "denominator")]
        if (c := e["comparison"]) is not None:
            entry |= {"x": c.numerator.estimate, "y": c.denominator.estimate}
            entry |= {"ratio": c.ratio, "difference": c.difference, "blocks": len(c.blocks)}
        made["contrasts"].append(entry)
    return made


def machines(
    raw_root: Path | str, processed_root: Path | str, jobs: int | None = None
) -> dict[str, Any]:
    """Judge every run below data/raw, write what they say together, and return it.

    Keys groups (a study and preset each, see `_group`), runs, trials, errors (a line a bad run).
    """
    found = find_runs(Path(raw_root))
    count = min(jobs or os.cpu_count() or 1, -(-len(found) // CHUNK))
    if count > 1:
        with workers.pool(count) as pool:
            done = list(pool.map(brief, found, chunksize=CHUNK))
    else:
        done = [brief(run) for run in found]
    runs = [entry for entry in done if not isinstance(entry, str)]
    runs = [s for s in runs if s["backend"] != BACKEND]  # the emulator is one machine everywhere
    kinds = dict.fromkeys((s["study"], s["preset"]) for s in runs)
    groups = []
    for study, preset in sorted(kinds):
        here = [s for s in runs if (s["study"], s["preset"]) == (study, preset)]
        group = _group(study, preset, here)
        folder = Path(processed_root) / "machines" / f"{study}-{preset}"
        for table in (tables.machines(here), tables.over_machines(group)):
            put(folder / "tables" / f"{table.name}.csv", table.csv())
            put(folder / "tables" / f"{table.name}.md", table.markdown())
        groups.append(rounded(plain(group)))
        put_json(folder / "summary.json", groups[-1])
    return {
        "groups": groups,
        "runs": len(runs),
        "trials": sum(s["trials"] for s in runs),
        "errors": [entry for entry in done if isinstance(entry, str)],
    }


def _group(study: str, preset: str, runs: Sequence[Summary]) -> dict[str, Any]:
    """One study and preset over its machines.

    Keys study, preset, runs, machines, kinds (of machines: CPU and kernel), generalises, contrasts
    [{id, titles, processes, statistics, measure, machines, verdicts (of the runs), quantiles (of
    the machines' ratios), pooled (see `pooled`; None with fewer than two machines)}].
    """
    nodes = {(s["host"], *machine_key(s)) for s in runs}
    declared: dict[tuple[Any, ...], list[tuple[Summary, dict[str, Any]]]] = {}
    for s in runs:
        for e in s["contrasts"]:
            same = ("id", "numerator", "denominator", "statistics", "processes", "measure")
            declared.setdefault((*(e[k] for k in same), s["interval_ms"]), []).append((s, e))
    contrasts = []
    for held in declared.values():
        means: dict[tuple[str, ...], list[tuple[float, float]]] = {}
        for s, e in held:
            if e.get("x") is not None and e["blocks"] >= max(2, HELD * s["blocks"]):
                node = (s["host"], *machine_key(s))
                means.setdefault(node, []).append((e["x"], e["y"]))
        each = np.array([np.mean(pairs, axis=0) for pairs in means.values()]).reshape(-1, 2)
        x, y = each[:, 0], each[:, 1]
        ratios = x[y > 0] / y[y > 0]
        like = held[0][1]
        keys = ("id", "numerator", "denominator", "titles", "processes", "statistics", "measure")
        entry = {key: like[key] for key in keys} | {"interval_ms": held[0][0]["interval_ms"]}
        entry |= {"machines": len(each), "verdicts": dict(Counter(e["verdict"] for _, e in held))}
        entry["quantiles"] = (
            [float(q) for q in np.quantile(ratios, QUANTILES)] if len(ratios) else []
        )
        entry["pooled"] = over_means(x, y, len(declared)) if len(each) > 1 else None
        contrasts.append(entry)
    decide([entry["pooled"] for entry in contrasts], "machines")
    kinds = len({machine_key(s) for s in runs})
    return {
        "study": study,
        "preset": preset,
        "runs": len(runs),
        "machines": len(nodes),
        "kinds": kinds,
        "generalises": f"over machines such as these {len(nodes)}, of {kinds} kinds of CPU and "
        "kernel, as far as they were drawn at random",
        "contrasts": contrasts,
    }
