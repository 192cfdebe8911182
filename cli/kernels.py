"""``./study exact --kernels``: which collector loads on which kernel, tried in each exact guest.

One boot for each guest, in which every arm is started, attached, and scraped for a moment. What did
not load stands there in the kernel's words.
"""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli import paths, runner
from cli.problem import Failed
from experiment import arms as arm_files
from experiment import backends, estimate, perturbations, plan

PAGE = paths.ROOT / "docs" / "kernels.md"
TABLE = paths.ROOT / "docs" / "kernels.csv"
COMMAND = "./study exact --kernels"
COLUMNS = ("guest", "release", "study", "arm", "loads", "status", "reason")
#: Statuses of a row whose collector was attached, whatever came of the window.
_ATTACHED = ("ok", "invalid")
_INTERVAL_MS, _WINDOW_S = 200, 0.4

Row = dict[str, str]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Tried:
    """What became of each arm on one guest: a run's rows by arm."""

    guest: str
    release: str
    rows: Mapping[str, Mapping[str, str]]


def command(
    guests: Iterable[str] = backends.GUESTS,
    page: Path = PAGE,
    table: Path = TABLE,
    say: Say = print,
) -> int:
    """Try every arm on every guest, then write the page and the table.

    Raises Problem or Failed if a guest cannot be booted; then neither is written.
    """
    arms = arm_files.load_all(paths.ROOT)
    tried = []
    for guest in guests:
        say(f"probetax: {guest}: {len(arms)} collectors")
        tried.append(run(guest, arms))
        lacking = sum(row["status"] not in _ATTACHED for row in tried[-1].rows.values())
        say(f"probetax: {guest}: {len(arms) - lacking} load, {lacking} do not")
    found = records(tried, arms)
    table.write_text(as_csv(found), encoding="utf-8")
    page.write_text(as_page(tried, found), encoding="utf-8")
    say(f"probetax: {page}, {table}")
    return 0


def smoke_plan(guest: str, arms: Mapping[str, arm_files.Arm]) -> dict[str, Any]:
    """A plan of one block: each arm once, as the machine is, statistics off."""
    made = plan.build("accounts", "smoke", root=paths.ROOT, backend=backends.EXACT, guest=guest)
    trials = [
        {
            "trial": number,
            "block": 1,
            "position": number,
            "kind": "cost",
            "arm": name,
            "replica": 1,
            "statistics": "off",
            "processes": None,
            "interval_ms": _INTERVAL_MS,
            "window_s": _WINDOW_S,
        }
        for number, name in enumerate(arms, 1)
    ]
    minutes = round(estimate.minutes(trials, arms, exact=True), 2)
    return made | {
        "arms": dict(arms),
        "trials": trials,
        "blocks": 1,
        "contrasts": [],
        "notes": [],
        "perturbations": [perturbations.of_block(1, _INTERVAL_MS)],
        "estimate": made["estimate"] | {"minutes": minutes},
    }


def run(guest: str, arms: Mapping[str, arm_files.Arm]) -> Tried:
    """Boot a guest and try every arm. Raises Problem or Failed."""
    with tempfile.TemporaryDirectory(prefix="probetax-kernels-") as folder:
        out = Path(folder) / "run"
        runner.run(smoke_plan(guest, arms), out, False, lambda event: None)
        with open(out / "trials.csv", encoding="utf-8", newline="") as file:
            rows: dict[str, Mapping[str, str]] = {row["arm"]: row for row in csv.DictReader(file)}
        manifest = paths.read_json(out / "manifest.json")
    absent = [name for name in arms if name not in rows]
    if absent:
        raise Failed(f"{guest} has no row of {', '.join(absent)}")
    return Tried(guest, str(manifest["fingerprint"]["release"]), rows)


def records(tried: Iterable[Tried], arms: Mapping[str, arm_files.Arm]) -> list[Row]:
    """One row for each guest and arm, by study and arm within a guest."""
    ordered = sorted(arms.values(), key=lambda arm: (str(arm["study"]), str(arm["name"])))
    return [
        {
            "guest": one.guest,
            "release": one.release,
            "study": arm["study"],
            "arm": arm["name"],
            "loads": "yes" if one.rows[arm["name"]]["status"] in _ATTACHED else "no",
            "status": one.rows[arm["name"]]["status"],
            "reason": one.rows[arm["name"]]["reason"],
        }
        for one in tried
        for arm in ordered
    ]


def as_csv(found: Iterable[Row]) -> str:
    """The records as the CSV beside the page."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    return text.getvalue()


def as_page(tried: Iterable[Tried], found: Iterable[Row]) -> str:
    """The page: a line for each arm, a column for each guest, reasons below."""
    guests = list(tried)
    cells: dict[tuple[str, str], dict[str, str]] = {}
    reasons: dict[str, int] = {}
    for row in found:
        cell = row["loads"]
        if cell == "no":
            reason = row["reason"] or row["status"]
            cell = f"no [{reasons.setdefault(reason, len(reasons) + 1)}]"
        cells.setdefault((row["study"], row["arm"]), {})[row["guest"]] = cell
    heads = [f"{one.release} ({one.guest.partition('-')[2]})" for one in guests]
    lines = [
        "# Which collector loads on which kernel",
        "",
        f"Made by `{COMMAND}`, also as [CSV](kernels.csv): each guest of the exact machine is",
        "booted, and every collector started there, attached and scraped. Whether what it reports",
        "is right is not asked here: fidelity trials do that.",
        "",
        f"| study | collector | {' | '.join(heads)} |",
        f"| :-- | :-- | {' | '.join('---' for _ in heads)} |",
    ]
    for (study, arm), by_guest in cells.items():
        shown = " | ".join(by_guest[one.guest] for one in guests)
        lines.append(f"| {study} | `{arm}` | {shown} |")
    if reasons:
        lines += ["", "Why not:", ""]
        lines += [f"{number}. {_plain(reason)}" for reason, number in reasons.items()]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """A reason as Markdown text: a name such as ``__x_y`` is no emphasis."""
    return "".join(f"\\{c}" if c in "\\`*_<>[]|" else c for c in text)
