"""Reads one run from data/raw and checks it against data/schema.json and its own plan."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from analysis import exclusion
from analysis.order import in_order
from analysis.run_table import AGAIN, RunError, empty, fault, read
from analysis.schema import file_of, schema, versions

__all__ = ["Run", "RunError", "find_runs", "load_run"]

# What a row repeats from its planned trial: a difference means that the two do not belong together.
PLANNED = [
    "block", "position", "kind", "arm", "replica", "statistics", "pace", "workload",
    "variant", "load",
]  # fmt: skip
# What the analysis looks up in the plan's entries.
NEEDED: dict[str, dict[str, type]] = {
    "trials": {"trial": int, "block": int, "kind": str, "arm": str},
    "contrasts": dict.fromkeys(("id", "numerator", "denominator", "statistics"), str),
    "a_a": {"arm": str, "statistics": str},
}
PACED: dict[str, type] = {"pace": str}


@dataclass(frozen=True)
class Run:
    """One run as measured. `finished` is False while planned trials have no row yet.

    `trials` lack the blocks that the plan's own limits leave out; `excluded` says which and why,
    and `disturbances` are the warnings about them.
    """

    path: Path
    manifest: dict[str, Any]
    trials: pd.DataFrame
    scrapes: pd.DataFrame
    finished: bool
    excluded: tuple[exclusion.Excluded, ...] = ()
    disturbances: tuple[str, ...] = ()
    cores: pd.DataFrame = field(default_factory=lambda: empty("cores"))

    @property
    def name(self) -> str:
        return str(self.manifest["run"])

    @property
    def study(self) -> str:
        return str(self.manifest["study"])

    @property
    def plan(self) -> dict[str, Any]:
        plan: dict[str, Any] = self.manifest["plan"]
        return plan

    @property
    def arms(self) -> dict[str, dict[str, Any]]:
        """Arms of the plan by name, as in their YAML files, in the order of tables and figures."""
        arms: dict[str, dict[str, Any]] = self.plan["arms"]
        return {arm: arms[arm] for arm in in_order(arms)}

    def title(self, arm: str) -> str:
        """The arm's label in tables and figures."""
        return str(self.arms.get(arm, {}).get("title") or arm)


def find_runs(raw: Path) -> list[Path]:
    """Folders of runs under data/raw/<study>/, oldest first. None is not an error."""
    return sorted(
        {
            p.parent
            for name in ("manifest.json", file_of("trials"))
            for p in Path(raw).glob(f"*/*/{name}")
        }
    )


def _manifest(path: Path) -> dict[str, Any]:
    file = path / "manifest.json"
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise fault(file, None, "no such file", "is this the folder of a run?") from None
    except json.JSONDecodeError as error:
        raise fault(file, error.lineno, f"not JSON ({error.msg})", AGAIN) from None
    except (OSError, UnicodeDecodeError) as error:
        raise fault(file, None, f"unreadable ({error})", AGAIN) from None
    if not isinstance(manifest, dict):
        raise fault(file, 1, "not a JSON object", AGAIN)
    if type(manifest.get("schema")) is not int or manifest["schema"] not in versions():
        cause = (
            f"schema {manifest.get('schema')!r}, this version reads schemas 1 to {versions()[-1]}"
        )
        raise fault(file, None, cause, "use the version of the package that made the run")
    for key, entry in schema()["manifest"].items():
        kind = {"integer": int, "string": str, "object": dict, "array": list}[entry["type"]]
        # null says the same as absence: earlier versions wrote it where a value could not be known
        if manifest.get(key) is None and entry["required"]:
            raise fault(file, None, f"key {key!r} is missing", AGAIN)
        if manifest.get(key) is not None and not isinstance(manifest[key], kind):
            raise fault(file, None, f"{key!r} is not of type {entry['type']}", AGAIN)
    _check_plan(file, manifest["plan"])
    return manifest


def _check_plan(file: Path, plan: dict[str, Any]) -> None:
    """Everything the analysis looks up in a plan is there and of its type."""
    for key in ("arms", "trials"):
        if not plan.get(key):
            raise fault(file, None, f"the plan has no {key}", AGAIN)
    arms = plan["arms"]
    if not isinstance(arms, dict) or not all(isinstance(arm, dict) for arm in arms.values()):
        raise fault(file, None, "the plan's arms are not objects by name", AGAIN)
    pair = plan.get("a_a")
    parts = {"trials": plan["trials"], "contrasts": plan.get("contrasts") or []}
    for part, entries in {**parts, "a_a": [pair] if pair else []}.items():
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            raise fault(file, None, f"the plan's {part} are not objects in a list", AGAIN)
        for number, entry in enumerate(entries):
            needed = {**NEEDED[part], **(PACED if entry.get("kind") == "external" else {})}
            for key, kind in needed.items():
                if not isinstance(entry.get(key), kind):
                    state = "of another type" if key in entry else "missing"
                    cause = f"entry {number} of the plan's {part}: {key!r} is {state}"
                    raise fault(file, None, cause, AGAIN)
            if not isinstance(entry.get("processes"), int | None):
                cause = f"entry {number} of the plan's {part}: 'processes' is no whole number"
                raise fault(file, None, cause, AGAIN)


def _against_plan(path: Path, plan: dict[str, Any], trials: pd.DataFrame, lines: list[int]) -> None:
    planned = {int(trial["trial"]): trial for trial in plan["trials"]}
    file = path / file_of("trials")
    numbers = trials["trial"].tolist()
    for number, line in zip(numbers, lines, strict=True):
        if number not in planned:
            raise fault(file, line, f"trial {number} is not in the plan", AGAIN)
    for key in PLANNED:
        for number, value, line in zip(numbers, trials[key].tolist(), lines, strict=True):
            wanted = planned[number].get(key)
            if wanted is None or value is pd.NA or value == wanted:
                continue  # an arm that could not start has no pace to record
            cause = f"trial {number} has {key} {value}, the plan says {wanted}"
            raise fault(file, line, cause, AGAIN)


def load_run(path: Path | str, brief: bool = False) -> Run:
    """Read and check one run; brief: without its scrapes and the warnings about its blocks.

    Raises RunError (one line: file, line, cause, cure) for a missing, corrupt or half-written file,
    another schema version, a missing column, a duplicate trial or a row that is not in the plan.
    """
    path = Path(path)
    manifest = _manifest(path)
    version = int(manifest["schema"])
    trials, lines = read(path, "trials", version)
    _against_plan(path, manifest["plan"], trials, lines)
    finished = {int(t["trial"]) for t in manifest["plan"]["trials"]} <= set(
        trials["trial"].astype(int)
    )
    kept, left_out = exclusion.apply(manifest["plan"], trials)
    doubts = () if brief else tuple(exclusion.warnings(manifest["plan"], trials, left_out))
    if brief or (not finished and not (path / file_of("scrapes")).exists()):
        return Run(path, manifest, kept, empty("scrapes"), finished, left_out, doubts)
    scrapes = _of_trials(path, "scrapes", version, trials, finished)
    cores = empty("cores")
    if (trials["kind"] == "cores").any() and (path / file_of("cores")).exists():
        cores = _of_trials(path, "cores", version, trials, finished)
    return Run(path, manifest, kept, scrapes, finished, left_out, doubts, cores)


def _of_trials(
    path: Path, table: str, version: int, trials: pd.DataFrame, finished: bool
) -> pd.DataFrame:
    """A table of samples, each of which has to be of a trial with a row of its own."""
    samples, lines = read(path, table, version)
    known = samples["trial"].isin(trials["trial"]).to_numpy(dtype=bool)
    if finished and not known.all():
        at = int((~known).argmax())
        cause = f"trial {samples['trial'].iloc[at]} has no row in {file_of('trials')}"
        raise fault(path / file_of(table), lines[at], cause, AGAIN)
    return samples
