"""What the simulations of `statistics.validation` found, as the text and tables of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.contrasts import WIDE_SPREAD
from analysis.statistics.noise_models import NOISES
from analysis.statistics.permutation import ALPHA
from analysis.statistics.validation import BLOCKS, COVERAGE_TARGET, TESTED_BLOCKS
from analysis.text import Table

Row = dict[str, Any]
TITLES = {
    "normal": "normal",
    "lognormal": "log-normal",
    "t3": "heavy-tailed (t, 3 degrees of freedom)",
    "drift": "drifting, both arms",
    "outliers": "outliers on both sides, 1 run in 10",
    "bursts": "bursts of host load, 1 run in 10",
    "hidden": "the same bursts, unseen by the accounts",
}
DECLARED = tuple(n for n in BLOCKS if n in TESTED_BLOCKS)


def wide(row: Row) -> bool:
    """True for cells beyond the spreads of the shipped runs."""
    return bool(max(row["cv_numerator"], row["cv_denominator"]) >= WIDE_SPREAD)


def table(name: str, rows: Sequence[Row]) -> Table:
    """All cells of one table, for CSV."""
    return Table(name, list(rows[0]), [list(row.values()) for row in rows], [], [])


def rounded(row: Row) -> Row:
    """The row as its CSV file has it, so that the page follows from the files alone."""
    return {key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()}


def smallest(rows: Sequence[Row]) -> int | None:
    """Fewest declared blocks from which on every row meets its target; None if none of them do."""
    good = [n for n in DECLARED if all(r["outcome"] == "meets" for r in rows if r["blocks"] == n)]
    found = None
    for n in reversed(DECLARED):
        if n not in good:
            break
        found = n
    return found


def _range(values: Sequence[float]) -> str:
    low, high = (f"{v:.1f}" for v in (min(values), max(values)))
    return low if low == high else f"{low}–{high}"


def _worst(rows: Sequence[Row]) -> str:
    words = {row["outcome"] for row in rows}
    if "fails" in words:
        return " ✗"
    return " (c)" if "conservative" in words else ""


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return Table("", [], [], head, rows).markdown()


def by_noise(rows: Sequence[Row]) -> str:
    """Coverage of the ratio's interval: lowest and highest of the shapes, by noise and blocks."""
    shown = []
    for noise in NOISES:
        here = [row for row in rows if row["noise"] == noise and not wide(row)]
        line = [TITLES[noise]]
        for n in DECLARED:
            cells = [row for row in here if row["blocks"] == n]
            line.append(_range([row["coverage"] for row in cells]) + _worst(cells))
        plain = [row["plain_fieller"] for row in here if row["blocks"] in DECLARED]
        stated = [row["stated"] for row in here if row["blocks"] in DECLARED]
        shown.append([*line, _range(plain), f"{min(stated):.0f}"])
    head = ["noise", *(f"{n} blocks" for n in DECLARED), "plain Fieller, all blocks"]
    return _markdown([*head, "least share stated"], shown)


def exceptions(rows: Sequence[Row]) -> str:
    """Noise and shape by noise and shape that do not meet the target everywhere, and from when."""
    shown = []
    keys = ("noise", "ratio", "cv_numerator", "cv_denominator")
    for key in dict.fromkeys(tuple(row[k] for k in keys) for row in rows):
        here = [r for r in rows if tuple(r[k] for k in keys) == key and r["blocks"] in DECLARED]
        if all(row["outcome"] == "meets" for row in here):
            continue
        found = smallest(here)
        bad = [row for row in here if row["outcome"] != "meets"]
        said = ", ".join(f"{row['coverage']:.1f} at {row['blocks']}" for row in bad)
        kind = "too short" if any(r["outcome"] == "fails" for r in bad) else "conservative"
        shape = f"{key[1]:g}×, {100 * key[2]:.0f} and {100 * key[3]:.0f} %"
        shown.append(
            [TITLES[key[0]], shape, said, kind, "more than 20" if not found else str(found)]
        )
    head = ["noise", "ratio and spreads", "coverage outside 93–97 %", "interval is"]
    return _markdown([*head, "meets from (blocks)"], shown)


def levels(rows: Sequence[Row]) -> str:
    """False positives of the test: range over noises of identical arms, and of unlike ones."""
    shown = []
    for n in TESTED_BLOCKS:
        here = [row for row in rows if row["blocks"] == n]
        same = [row["rate"] for row in here if row["identical"] == "yes"]
        unlike = [row["rate"] for row in here if row["identical"] != "yes"]
        attainable = next(row["attainable"] for row in here)
        shown.append([str(n), f"{attainable:.1f}", _range(same), _range(unlike)])
    head = ["blocks", "attainable level, %", "identical arms, %", "equal means, unlike noise, %"]
    return _markdown(head, shown)


def powers(rows: Sequence[Row]) -> str:
    """Power at the effect that is called detectable."""
    shown = [
        [
            str(row["blocks"]),
            str(row["contrasts"]),
            f"{row['effect_in_sd']:.2f}",
            f"{row['power']:.1f} ± {row['monte_carlo_error']:.1f}",
        ]
        for row in rows
    ]
    head = ["blocks", "contrasts", "effect, sd of the differences", "found, %"]
    return _markdown(head, shown)


def with_bursts(rows: Sequence[Row]) -> str:
    """How often the interval holds the ratio without bursts, and the one with them, by blocks."""
    shown = []
    for noise in ("bursts", "hidden"):
        here = [row for row in rows if row["noise"] == noise and not wide(row)]
        for key, text in (("coverage", "without bursts"), ("with_bursts", "all runs")):
            cells = [[r[key] for r in here if r["blocks"] == n] for n in DECLARED]
            shown.append([TITLES[noise], text, *(_range(values) for values in cells)])
    return _markdown(["noise", "truth asked for", *(f"{n} blocks" for n in DECLARED)], shown)


def sentence(coverage: Sequence[Row], tests: Sequence[Row]) -> str:
    """The result in one paragraph."""
    inside = [r for r in coverage if r["blocks"] in DECLARED and not wide(r)]
    beyond = [r for r in coverage if r["blocks"] in DECLARED and wide(r)]
    words = [row["outcome"] for row in inside]
    long = [row["coverage"] for row in inside if row["outcome"] == "conservative"]
    short = [row for row in inside if row["outcome"] == "fails"]
    bad = [row for row in beyond if row["outcome"] == "fails"]
    plain = [row for row in inside if row["plain_fieller"] < COVERAGE_TARGET[0]]
    same = [row["rate"] for row in tests if row["identical"] == "yes"]
    error = max(row["monte_carlo_error"] for row in inside)
    text = (
        f"**{words.count('meets')} of {len(inside)} cells** with spreads like the shipped runs' "
        f"(up to 60 %) and 6 to 20 blocks have a 95 % interval of the ratio that holds the truth "
        f"in 93–97 % of the simulations (Monte Carlo error at most {error:.1f} points); "
        f"{len(long)} are conservative"
        + (f" (up to {max(long):.1f} %)" if long else "")
        + f", {len(short)} too short. Plain Fieller is too short in {len(plain)} of them"
        + (f" (down to {min(r['plain_fieller'] for r in plain):.1f} %)" if plain else "")
        + ". "
    )
    if bad:
        text += (
            f"At a spread of 100 %, beyond those runs, {len(bad)} of {len(beyond)} cells are too "
            f"short (down to {min(r['coverage'] for r in bad):.1f} %), at most with "
            f"{max(r['blocks'] for r in bad)} blocks. "
        )
    return text + (
        f"Two identical arms are told apart at p < {ALPHA:g} in {_range(same)} % of the tests: the "
        "exact test keeps the level that its number of blocks can attain."
    )
