"""The digests that are shipped, what they were made of, and what differs from them.

``data/exact.lock.json`` holds, by study, preset and guest, the SHA-256 of a run's rows, every input
that decides them, and the figures that rest on them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from cli import paths

FILE = paths.DATA / "exact.lock.json"
_NAMES = {
    "qemu": "QEMU",
    "kernel": "kernel",
    "packages": "the guest's packages",
    "libraries": "libraries that programs are built against",
    "compilers": "compilers",
    "programs": "collectors",
    "project": "the runner's files",
    "counter": "the counter",
    "turns": "how QEMU's threads take turns",
    "plan": "the plan",
}


class Spread(NamedTuple):
    """Lowest, middle and highest of the perturbations."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Entry:
    """One run as shipped: instructions per scrape by cell, and ratios, over the perturbations."""

    digest: str
    inputs: Mapping[str, Any]
    cells: Mapping[str, Spread]
    ratios: Mapping[str, Spread]


def key(study: str, preset: str, guest: str) -> str:
    """The name of an entry."""
    return f"{study}/{preset}/{guest}"


def _all() -> dict[str, Any]:
    return paths.read_json(FILE) if FILE.exists() else {}


def known() -> list[str]:
    """The names of all entries."""
    return sorted(_all()) or ["none"]


def load(name: str) -> Entry | None:
    """An entry, None if there is none. Raises Problem for a damaged file."""
    held = _all().get(name)
    if held is None:
        return None
    cells, ratios = (
        {what: Spread(*numbers) for what, numbers in held[part].items()}
        for part in ("cells", "ratios")
    )
    return Entry(held["digest"], held["inputs"], cells, ratios)


def store(name: str, entry: Entry) -> None:
    """Add or replace an entry."""
    text = json.dumps({**_all(), name: asdict(entry)}, indent=1, sort_keys=True) + "\n"
    temporary = FILE.with_suffix(".new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(FILE)


def differences(shipped: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """One line for each input that is not as shipped: its name, then shipped and here."""
    lines: list[str] = []
    for name in sorted({*shipped, *here}):
        one, other = shipped.get(name), here.get(name)
        if one == other:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            parts = [
                f"{part} {_short(one.get(part))}, here {_short(other.get(part))}"
                for part in sorted({*one, *other})
                if one.get(part) != other.get(part)
            ]
            lines.append(f"{_NAMES.get(name, name)}: {'; '.join(parts)}")
        else:
            lines.append(f"{_NAMES.get(name, name)}: {_short(one)}, here {_short(other)}")
    return lines


def _short(value: Any) -> str:
    text = "absent" if value is None else str(value)
    return text[:12] if len(text) == 64 else text


def changes(shipped: Entry, here: Entry) -> Iterator[str]:
    """The largest relative difference of a cost, and the ratios that left their shipped range."""
    both = [
        (abs(here.cells[cell].middle / one.middle - 1), cell, one.middle, here.cells[cell].middle)
        for cell, one in shipped.cells.items()
        if cell in here.cells and one.middle
    ]
    if both:
        largest, cell, before, now = max(both)
        yield (
            f"largest difference of a cost: {100 * largest:.3g} % ({cell}:"
            f" {before:,.0f} instructions a scrape shipped, {now:,.0f} here)"
        )
    moved = 0
    for name, one in shipped.ratios.items():
        other = here.ratios.get(name)
        if other is None:
            yield f"ratio {name}: {one.middle:.4g} shipped, none here"
        elif other.high < one.low or other.low > one.high:
            moved += 1
            yield (
                f"ratio {name}: {one.middle:.4g} [{one.low:.4g}, {one.high:.4g}] shipped,"
                f" {other.middle:.4g} [{other.low:.4g}, {other.high:.4g}] here"
            )
    if not moved:
        yield "every ratio's range meets the shipped one"
