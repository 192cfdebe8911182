"""Where the page's numbers come from: runs, the machines that measured them, how to do it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cli import paths
from cli.review import MINUTES

#: What differs between two runs on one machine without making it another.
PASSING = ("boot", "uptime_s", "steal_percent", "memory_mb")

Summary = Mapping[str, Any]


def _manifest(summary: Summary, output: Path) -> dict[str, Any]:
    return paths.read_json(paths.raw(output, summary["study"]) / summary["run"] / "manifest.json")


def of_run(summary: Summary, output: Path) -> str:
    """Where a run lies, when it was measured and by which commit, where that is known."""
    source = _manifest(summary, output).get("source") or {}
    commit = source.get("commit")
    by = f", by commit {commit[:12]}" if commit else ""
    changed = " with changes" if commit and source.get("changed") else ""
    started = str(summary["started_utc"])[:16].replace("T", " ")
    return f"{summary['study']}/{summary['run']}, measured {started} UTC{by}{changed}"


def machines(chosen: Sequence[Summary], output: Path) -> list[dict[str, Any]]:
    """Every machine of the runs that are shown, with what is known of it."""
    known: dict[str, dict[str, Any]] = {}
    for summary in chosen:
        rows = _flat(_manifest(summary, output)["fingerprint"])
        key = repr([row for row in rows if row["key"] not in PASSING])
        found = known.setdefault(
            key, {"title": summary["machine"], "rows": rows, "named": [], "boots": set()}
        )
        found["named"].append(f"{summary['study']} {summary['preset']}")
        found["boots"] |= {row["value"] for row in rows if row["key"] == "boot"}
    return [
        {
            "anchor": f"machine-{n}",
            "title": found["title"],
            "rows": found["rows"],
            "runs": f"{', '.join(found['named'])}; {len(found['boots'])} boot"
            + ("s" if len(found["boots"]) != 1 else ""),
        }
        for n, found in enumerate(known.values(), 1)
    ]


def _flat(fingerprint: Mapping[str, Any]) -> list[dict[str, str]]:
    rows = []
    for key, value in fingerprint.items():
        if isinstance(value, Mapping):
            rows += [{**row, "key": f"{key}.{row['key']}"} for row in _flat(value)]
        else:
            rows.append({"key": key, "value": "—" if value is None else str(value)})
    return rows


def again(chosen: Sequence[Summary], output: Path) -> list[dict[str, str]]:
    """The commands that make the page, check it, and measure each of its runs anew."""
    rows = [
        {"command": "./study figures", "what": "every table and figure from data/raw"},
        {"command": "./study report", "what": "this page from data/raw"},
        {
            "command": "./study review",
            "what": "measure anew and set each claim beside the shipped one",
            "minutes": f"at most {MINUTES}",
        },
    ]
    for summary in chosen:
        plan = _manifest(summary, output)["plan"]
        seed = f" --seed {plan['seed']}" if plan.get("seed") is not None else ""
        rows.append(
            {
                "command": f"./study run {summary['study']} --preset {summary['preset']}{seed}",
                "what": f"a run like {summary['run']}",
                "minutes": f"{plan['estimate']['minutes']:.0f}",
            }
        )
    return [{"minutes": "1", **row} for row in rows]
