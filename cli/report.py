"""``./study report``: one self-contained page of what was found, from executed notebooks."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cli import environment, figures, parameters, paths, results
from cli.problem import Failed, Problem

NAME = "report.html"
#: The largest page, in bytes: it has to travel by mail.
LARGEST = 5_000_000
#: What one cell of a notebook may take, in seconds; nothing is measured in it.
DEADLINE_S = 300
#: Presets in the order of their weight; those after QUICK show that a machine works, no more.
PRESETS = ("paper", "article", "scaling", "quick", "smoke")
ENOUGH = PRESETS.index("quick")

Summary = dict[str, Any]


def command(words: Sequence[str]) -> int:
    """Make the page and say where it is.

    Raises:
        Problem: no finished run, or a folder that cannot be written.
        Failed: a notebook did not run to its end.
    """
    output = _arguments(words)
    folder = paths.writable_folder(output / "processed")
    index = _index(output)
    chosen = choose(index["runs"])
    if not chosen:
        raise Problem(f"no finished run in {output / 'raw'}: measure one with ./study run")
    from cli.page import make  # nbconvert and jinja2 take a second to load

    with tempfile.TemporaryDirectory(prefix="probetax-") as private:
        executed = execute(chosen, output, Path(private))
        page = make.page(index, chosen, executed, output).encode()
    target = folder / NAME
    try:
        target.with_suffix(".new").write_bytes(page)
        target.with_suffix(".new").replace(target)
    except OSError as error:
        raise paths.unwritable(target, error) from None
    print(f"{target}: {len(chosen)} runs, {len(page) / 1e6:.1f} MB")
    if len(page) > LARGEST:
        raise Failed(f"the page is larger than {LARGEST / 1e6:g} MB: show fewer runs (--output)")
    if index["errors"]:
        raise Failed("\n".join(["left out:", *index["errors"]]))
    return 0


def _index(output: Path) -> Summary:
    """All runs and sessions; made again unless everything is younger than what it is made from."""
    raw, file = output / "raw", output / "processed" / "index.json"
    if file.is_file():
        known = paths.read_json(file)
        found = {(path.parts[-3], path.parts[-2]) for path in raw.glob("*/*/manifest.json")}
        folders = [(paths.raw(output, s) / n, paths.processed(output, s, n)) for s, n in found]
        young = all(results.current(*pair, before=file) for pair in folders)
        if young and found == {(s["study"], s["run"]) for s in known["runs"]}:
            return known
    return figures.index(output)


def choose(summaries: Sequence[Summary]) -> list[Summary]:
    """The newest finished run of each study and preset, by study, the weightiest preset first.

    Presets that only show that a machine works are left out where a study has any other.
    """
    newest: dict[tuple[str, str], Summary] = {}
    for summary in sorted(summaries, key=lambda s: str(s["run"])):
        if summary["finished"] and (paths.NOTEBOOKS / f"{summary['study']}.ipynb").is_file():
            newest[summary["study"], summary["preset"]] = summary
    best: dict[str, int] = {}
    for study, preset in newest:
        best[study] = min(_weight(preset), best.get(study, ENOUGH + len(PRESETS)))
    order = {study: n for n, study in enumerate(parameters.STUDIES)}
    kept = [
        (order[study], _weight(preset), preset, study)
        for study, preset in newest
        if _weight(preset) == best[study] or _weight(preset) < ENOUGH
    ]
    return [newest[study, preset] for _, _, preset, study in sorted(kept)]


def _weight(preset: str) -> int:
    return PRESETS.index(preset) if preset in PRESETS else 0


def execute(chosen: Sequence[Summary], output: Path, private: Path) -> list[Path]:
    """Execute the study's notebook for each run, as many at a time as there are CPUs.

    Nothing is measured: the notebooks show runs that are on the disk.
    """
    targets = [private / f"{summary['run']}.ipynb" for summary in chosen]
    words = [
        [
            *(str(paths.NOTEBOOKS / f"{summary['study']}.ipynb"), str(target)),
            *(json.dumps({"run": summary["run"], "output": str(output)}), str(DEADLINE_S)),
        ]
        for summary, target in zip(chosen, targets, strict=True)
    ]
    # papermill takes seconds to load: once for each CPU, not for each notebook
    workers = min(os.cpu_count() or 1, len(words))
    shares = [list(itertools.chain(*words[n::workers])) for n in range(workers)]
    variables = environment.jupyter(private)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda share: _execute(share, variables), shares))
    return targets


def _execute(words: Sequence[str], variables: Mapping[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cli.execute", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=variables,
        cwd=paths.ROOT,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise Failed(f"a notebook failed: {said[0].removeprefix('probetax: ')}")


def _arguments(words: Sequence[str]) -> Path:
    """``[--output FOLDER]``."""
    given = {}
    rest = list(words)
    if rest[:1] == ["--output"]:
        given["output"] = "".join(rest[1:2])
        rest = rest[2:]
    if rest:
        raise Problem(f"report takes no '{rest[0]}', only --output FOLDER")
    output: Path = parameters.resolve(given)["output"]
    return output
