"""Everything derived from a run: tables, figures and a summary, in one folder.

    <out>/summary.json                      what the rest of the package reads
    <out>/tables/<name>.csv, .md            article, arms, verdicts, methods, scaling, ...
    <out>/figures/<name>-<width>.svg, ...   with .csv, .caption.txt and .alt.txt beside

Each file is complete or absent, and replaces the old one only when it is complete. `summary.json`
is written last: where it is, everything it names is there.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from analysis import workers
from analysis.across import across
from analysis.figures import kinds
from analysis.load import RunError, find_runs, load_run
from analysis.results import compute
from analysis.schema import file_of
from analysis.sentence import sentence
from analysis.summary import summarise
from analysis.tables import (
    accounts,
    article,
    cores,
    costs,
    crossover,
    exact,
    frontier,
    instrument,
    optimisations,
    sensor,
    stability,
)
from analysis.write import drop_stale, listed, put, put_json, rounded

__all__ = ["process", "process_all", "sentence"]

SUMMARY = "summary.json"
# Of levels: where those are design points, a row would be one of sixty that have little in common.
OF_LEVELS = (costs.arms, costs.parts, costs.methods, article.article, instrument.crosscheck)
TABLES = (
    article.article,
    costs.arms,
    costs.parts,
    cores.source,
    cores.core_accuracy,
    cores.threads,
    sensor.hooks,
    sensor.hook_shares,
    optimisations.optimisations,
    optimisations.interactions,
    optimisations.pairs,
    sensor.trie,
    sensor.losses,
    exact.instructions_per_scrape,
    exact.instructions_per_process,
    exact.exact_contrasts,
    crossover.model,
    crossover.held_out,
    crossover.points,
    crossover.point_verdicts,
    frontier.break_even,
    frontier.fleet,
    costs.verdicts,
    costs.methods,
    costs.scaling,
    instrument.fidelity,
    accounts.accounts_of_one_cost,
    accounts.cost_of_statistics,
    accounts.external_of_nothing,
    instrument.calibration,
    instrument.crosscheck,
    instrument.noise,
    stability.variance,
    stability.independence,
    stability.position,
    instrument.harness,
)


def process(run_dir: Path | str, out_dir: Path | str, draw: bool = True) -> dict[str, Any]:
    """Write everything that follows from a run into a folder, and return its summary.

    draw: False leaves the figures out, and removes those that an earlier call made: for many runs.

    Raises RunError for raw data that cannot be used (nothing is written) and OSError for a folder
    that cannot be written.
    """
    out = Path(out_dir)
    results = compute(load_run(run_dir))
    before = listed(out / SUMMARY)
    files: list[Path] = []
    for make in TABLES:
        if results.has_points and make in OF_LEVELS:
            continue
        table = make(results)
        if table is not None:
            files.append(put(out / "tables" / f"{table.name}.csv", table.csv()))
            files.append(put(out / "tables" / f"{table.name}.md", table.markdown()))
    drawn, left_out = kinds.make(results, out / "figures") if draw else ([], {})
    files += drawn
    names = sorted(path.relative_to(out).as_posix() for path in files)
    found = {**summarise(results), "figures_left_out": left_out, "files": names}
    summary: dict[str, Any] = rounded(found)
    put_json(out / SUMMARY, summary)
    drop_stale(out, before, names)
    return summary


def _try(run_dir: Path, out_dir: Path, draw: bool) -> dict[str, Any] | str:
    try:
        return process(run_dir, out_dir, draw)
    except RunError as error:
        return str(error)


def _size(pair: tuple[Path, Path]) -> int:
    trials = pair[0] / file_of("trials")
    return trials.stat().st_size if trials.exists() else 0


def process_all(
    raw_root: Path | str,
    processed_root: Path | str,
    jobs: int | None = None,
    draw: bool = True,
) -> dict[str, Any]:
    """Process every run under data/raw into <processed_root>/<study>/<run>, some at a time.

    draw: False leaves every figure out (see `process`).

    Returns, and writes to index.json, {"runs": [summary...], "errors": [one line a bad run]} and
    what follows from the runs together (see `across`): "sessions", "noise", and "a_a", how often
    two identical arms were told apart at p < .05, which should be one in twenty. A bad run does not
    keep the others from being processed.
    """
    found = find_runs(Path(raw_root))
    root = Path(processed_root)
    outs = [root / path.parent.name / path.name for path in found]
    count = min(jobs or os.cpu_count() or 1, len(found))
    if count > 1:
        with workers.pool(count) as pool:
            waiting = {  # the largest first, so that no worker ends long before the others
                run: pool.submit(_try, run, out, draw)
                for run, out in sorted(zip(found, outs, strict=True), key=_size, reverse=True)
            }
            done = [waiting[run].result() for run in found]
    else:
        done = [_try(run, out, draw) for run, out in zip(found, outs, strict=True)]
    runs = [entry for entry in done if not isinstance(entry, str)]
    index = {
        "runs": runs,
        "errors": [entry for entry in done if isinstance(entry, str)],
        **across(runs, root, draw),
    }
    put_json(root / "index.json", index)
    return index
