"""Reads claims.yml, what the articles claim with the criterion of each; refuses all else."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CLAIMS_YML = Path(__file__).resolve().parents[1] / "claims.yml"

KINDS = ("ratio", "level", "bound", "model", "advice")
# What a published number's name ends in: its unit as it is shown.
UNITS = {
    "sd_percent_core": "% of a core",
    "percent_core": "% of a core",
    "change_percent": "% change",
    "percent": "%",
    "million_instructions": "million instructions",
    "context_switches": "context switches",
    "cores_per_1000_nodes": "cores per 1,000 nodes",
    "ratio": "times",
    "ms": "ms",
    "us": "µs",
    "mb": "MB",
}
# Keys of each mapping and their types; a name with "?" may be left out.
Shape = Mapping[str, type | tuple[type, ...]]
TEXT_OR_NONE = (str, type(None))
FILE: Shape = {"declared": str, "limits": dict, "rules": dict, "sources": list, "claims": list}
LIMITS: Shape = dict.fromkeys(
    ("within_factor", "widest_factor", "misfit", "flat_share", "zero_ms"),
    (int, float),
)
SHARES = ("misfit", "flat_share")  # limits that are shown in percent
SOURCE: Shape = {
    **{"key": str, "title": str, "author": TEXT_OR_NONE, "year": (int, type(None))},
    **{"url": TEXT_OR_NONE, "code": str, "machine": str, "protocol": str, "note?": str},
    "studies": dict,
}
REPRODUCED: Shape = {"proc": str, "ebpf": str, "headline_processes": (int, type(None))}
CLAIM: Shape = {
    **{"id": str, "kind": str, "what": str, "published": dict, "cell?": dict},
    **{"criterion": dict, "table": str, "figure": str, "meanwhile?": str, "declared?": str},
}
CELL: Shape = {"study": str, "processes": (int, type(None))}
CRITERION: Shape = {"rule": str, "study": str, "presets": list}
# Where a cost model answers, which comes before the runs of levels; interval_s for a fleet's nodes.
MODEL: Shape = {"study": str, "presets": list, "interval_s?": (int, float)}
PAIR: Shape = {"hook": str, "polling": str}
LINE: Shape = {"rising": str, "flat": str, "slope": str, "model?": dict}
OF_TABLE: Shape = {"measure": str, "stress_threads": int, "architecture?": str}
OF_PAIR: Shape = {"pair": str, "expect": list, "value": str, "beside?": list, "depends?": str}
RULES: Mapping[str, Shape] = {
    "ratio": {"contrast": dict, "expect": list, "value": str, "beside?": str},
    "direction": {"contrast": dict, "expect": list},
    "level": {"cell": dict, "values": dict},
    "line": LINE,
    "flat": LINE,
    "rises": {"arm": str, "calibrated": dict},
    "fleet": {"contrast": dict, "expect": list, "value": str, "nodes": int, "model?": dict},
    "left_out": {"arm": str, "processes": int},
    "bound": {"search": list, "pairs": list, "never": str},
    "accuracy": {"arm": str, "also": dict},
    "published_ratio": {**OF_TABLE, "expect": list, "value": str},
    "published_level": {**OF_TABLE, "values": dict},
    "sensor_ratio": OF_PAIR,
    "byte_accounting": {"load": str},
    "frontier": {"pair": dict, "processes": int, "interval_s": (int, float)},
}


class ClaimsError(ValueError):
    """claims.yml is not as it should be; the text is one line: file, place, cause."""


@dataclass(frozen=True)
class Source:
    """An article. None: its text does not say."""

    key: str
    title: str
    author: str | None
    year: int | None
    url: str | None
    code: str
    machine: str
    protocol: str
    studies: dict[str, dict[str, Any]]
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """One published claim; `published` by name, the unit in the name; `criterion` by argument."""

    id: str
    kind: str
    what: str
    published: dict[str, float]
    criterion: dict[str, Any]
    table: str
    figure: str
    cell: dict[str, Any] | None = None
    meanwhile: str = ""
    declared: str = ""  # of its own criterion; empty: the file's

    @property
    def source(self) -> str:
        """Key of its source: PROC of PROC-3."""
        return self.id.rpartition("-")[0]


@dataclass(frozen=True)
class Ledger:
    """The file: sources and claims in their order, limits by name, each rule in words.

    declared: since when the criteria are what they are, UTC, as runs have it in started_utc; a
    claim whose own criterion is younger says so itself.
    """

    sources: tuple[Source, ...]
    claims: tuple[Claim, ...]
    limits: dict[str, float]
    rules: dict[str, str]
    declared: str

    def source(self, key: str) -> Source:
        return next(source for source in self.sources if source.key == key)


class _Loader(yaml.SafeLoader):
    """Safe loader that refuses a key given twice, of which PyYAML keeps the last."""


def _unique(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node)
        if key in seen:
            line = key_node.start_mark.line + 1
            raise ClaimsError(f"line {line}: key {key!r} is given twice")
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique)


def _near(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(str(word), list(known), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(sorted(known))}"


def _check(place: str, value: Any, shape: Shape) -> dict[str, Any]:
    """The mapping itself, if it has the shape's keys, no other, and each of its type."""
    if not isinstance(value, dict):
        raise ClaimsError(f"{place}: not a mapping of keys to values")
    known = {key.rstrip("?"): kind for key, kind in shape.items()}
    for key in value:
        if key not in known:
            raise ClaimsError(f"{place}: unknown key {key!r}{_near(key, known)}")
    for key in shape:
        if not key.endswith("?") and key not in value:
            raise ClaimsError(f"{place}: key {key!r} is missing")
    for key, entry in value.items():
        if not isinstance(entry, known[key]) or isinstance(entry, bool):
            raise ClaimsError(f"{place}: {key!r} is {entry!r}, of another type than it should be")
    return value


def unit_of(name: str) -> str:
    """Unit of a published number by its name. Raises ClaimsError for a name without one."""
    for suffix, unit in UNITS.items():
        if name == suffix or name.endswith(f"_{suffix}"):
            return unit
    raise ClaimsError(f"the number {name!r} has no unit in its name; units: {', '.join(UNITS)}")


def _claim(place: str, entry: Any, sources: set[str]) -> Claim:
    claim = Claim(**_check(place, entry, CLAIM))
    if claim.source not in sources:
        raise ClaimsError(f"{place}: no source of this key{_near(claim.source, sources)}")
    if claim.kind not in KINDS:
        raise ClaimsError(f"{place}: unknown kind {claim.kind!r}{_near(claim.kind, KINDS)}")
    for name, number in claim.published.items():
        if not isinstance(number, int | float) or isinstance(number, bool):
            raise ClaimsError(f"{place}: published {name!r} is {number!r}, not a number")
        try:
            unit_of(name)
        except ClaimsError as error:
            raise ClaimsError(f"{place}: {error}") from None
    if claim.cell is not None:
        _check(f"{place}, cell", claim.cell, CELL)
    rule = str(claim.criterion.get("rule"))
    if rule not in RULES:
        raise ClaimsError(f"{place}, criterion: unknown rule {rule!r}{_near(rule, RULES)}")
    _check(f"{place}, criterion", claim.criterion, {**CRITERION, **RULES[rule]})
    for key, shape in (("model", MODEL), ("pair", PAIR)):
        if isinstance(claim.criterion.get(key), dict):
            _check(f"{place}, criterion, {key}", claim.criterion[key], shape)
    if claim.declared:
        _declared(f"{place}, declared", claim.declared)
    judged = claim.criterion.get("value")
    for name in claim.criterion.get("values", [judged] if judged else []):
        if name not in claim.published:
            raise ClaimsError(f"{place}, criterion: {name!r} is not among its published numbers")
    return claim


def parse(text: str) -> Ledger:
    """The ledger in a YAML text.

    Raises ClaimsError (one line) for whatever is not as the shapes above say.
    """
    try:
        document = yaml.load(text, Loader=_Loader)  # noqa: S506
    except yaml.YAMLError as error:
        raise ClaimsError(f"not YAML: {' '.join(str(error).split())}") from None
    return checked(document)


def checked(document: Any) -> Ledger:
    """The ledger in a document that was read. Raises ClaimsError, as `parse` does."""
    _check("the file", document, FILE)
    limits = _check("limits", document["limits"], LIMITS)
    rules = _check("rules", document["rules"], dict.fromkeys(RULES, str))
    sources = []
    for number, entry in enumerate(document["sources"], 1):
        source = Source(**_check(f"source {number}", entry, SOURCE))
        for study, about in source.studies.items():
            _check(f"source {source.key}, study {study}", about, REPRODUCED)
        sources.append(source)
    claims: list[Claim] = []
    keys = {source.key for source in sources}
    for number, entry in enumerate(document["claims"], 1):
        name = entry.get("id") if isinstance(entry, dict) else None
        place = f"claim {name if isinstance(name, str) else number}"
        claims.append(_claim(place, entry, keys))
        if sum(claim.id == claims[-1].id for claim in claims) > 1:
            raise ClaimsError(f"{place}: given twice")
    declared = _declared("declared", document["declared"])
    return Ledger(tuple(sources), tuple(claims), limits, rules, declared)


def _declared(place: str, text: str) -> str:
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text):
        raise ClaimsError(f"{place}: {text!r} is no UTC time such as 2026-01-31T12:00:00Z")
    return text


@functools.cache
def ledger() -> Ledger:
    """The package's own claims.yml. Raises ClaimsError."""
    try:
        return parse(CLAIMS_YML.read_text(encoding="utf-8"))
    except ClaimsError as error:
        raise ClaimsError(f"{CLAIMS_YML.name}: {error}") from None
