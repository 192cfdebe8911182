"""What follows from several runs together: sessions of one preset, and the A/A rate.

    <processed>/sessions/<study>-<preset>-<machine>/    summary.json, tables, the forest plot
    <processed>/noise/tables/a_a.csv, .md               every A/A pair
    <processed>/beside/                                 exact instructions beside live time

Everything is made from the runs' summaries; nothing is read from the raw data again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis import beside, sessions
from analysis.exact import BACKEND
from analysis.figures import beside as figure_beside
from analysis.figures import kinds
from analysis.figures import sessions as forest
from analysis.statistics.permutation import ALPHA, smallest_p
from analysis.statistics.series import rate
from analysis.tables import beside as tables_beside
from analysis.tables import sessions as tables
from analysis.text import Table
from analysis.write import drop_stale, listed, put, put_json, rounded

SUMMARY = "summary.json"
Summary = dict[str, Any]


def across(summaries: Sequence[Summary], root: Path, draw: bool = True) -> dict[str, Any]:
    """Write what follows from these runs below `root`; the keys that index.json gains by it.

    Sessions, noise and the A/A rate are of live runs alone: where nothing is sampled there are
    none.

    Keys a_a {pairs, told_apart, rate}: of the pairs with enough blocks for p < .05; noise; sessions
    (see `sessions.groups` and `sessions.pool`).
    """
    _beside(summaries, root / "beside", draw)
    summaries = [s for s in summaries if s.get("backend") != BACKEND]
    able = [
        s["a_a"] for s in summaries if s["a_a"] and smallest_p(s["a_a"].get("blocks", 0)) < ALPHA
    ]
    pairs = [p for pair in able if (p := pair.get("p")) is not None]
    apart = sum(p < ALPHA for p in pairs)
    found = rate(apart, len(pairs))
    _put_table(root / "noise", tables.a_a(list(summaries), found))
    groups = [_group(entry, root / "sessions", draw) for entry in sessions.groups(summaries)]
    _drop_old(root / "sessions", {entry["folder"] for entry in groups})
    return {
        "a_a": {"pairs": len(pairs), "told_apart": apart, "rate": sessions.plain(found)},
        "noise": _noise(summaries),
        "sessions": groups,
    }


def _beside(summaries: Sequence[Summary], out: Path, draw: bool) -> None:
    rows = beside.beside(summaries)
    before = listed(out / SUMMARY)
    files: list[Path] = []
    if rows:
        files += _put_table(out, tables_beside.exact_beside_live(rows))
        sources = {arm: about for s in summaries for arm, about in s["sources"].items()}
        drawn = figure_beside.plotted(rows, sources)
        if draw:
            files += kinds.write(
                out / "figures",
                figure_beside.NAME,
                drawn,
                figure_beside.caption(drawn),
                figure_beside.alt(drawn),
                lambda width: figure_beside.draw(drawn, width),
            )
        names = sorted(path.relative_to(out).as_posix() for path in files)
        put_json(out / SUMMARY, {"rows": rows, "files": names})
        drop_stale(out, before, names)
    elif before:
        drop_stale(out, [*before, SUMMARY], [])


def _noise(summaries: Sequence[Summary]) -> dict[str, Any]:
    """Order effects of all runs: each run's own, and how many autocorrelations stand out."""
    series = [
        e["p_order"] for s in summaries for e in s["noise"]["contrasts"] if e["p_order"] is not None
    ]
    related = sum(p < ALPHA for p in series)
    return {
        "autocorrelation": {"series": len(series), "below_05": related},
        "runs": [
            {
                "run": s["run"],
                "drift_percent_per_block": s["drift_percent_per_block"],
                **s["noise"]["position_percent"],
            }
            for s in summaries
        ],
    }


def _group(entry: dict[str, Any], root: Path, draw: bool) -> dict[str, Any]:
    runs = entry["runs"]
    folder = f"{entry['study']}-{entry['preset']}-{entry['machine']}"
    boots = {s["fingerprint"].get("boot") for s in runs}
    made: dict[str, Any] = {
        "study": entry["study"],
        "preset": entry["preset"],
        "machine": runs[-1]["machine"],
        "folder": folder,
        "runs": [s["run"] for s in runs],
        "left_out": entry["left_out"],
        "boots": None if None in boots else len(boots),
        "generalises": sessions.generalises(runs),
        "contrasts": sessions.pool(runs),
        "variance": sessions.variance(runs),
    }
    by_name = {s["run"]: s for s in runs}
    for contrast in made["contrasts"]:
        used = [by_name[s["run"]] for s in contrast["per_session"] if not s["reason"]]
        contrast["generalises"] = sessions.generalises(used) if contrast["pooled"] else None
    out = root / folder
    before = listed(out / SUMMARY)
    files = [p for t in (tables.sessions, tables.variance) for p in _put_table(out, t(made))]
    rows = forest.plotted(made)
    if draw and any(row["value"] is not None for row in rows):
        text = f"{forest.caption(made, rows)} {made['machine']}."
        files += kinds.write(
            out / "figures",
            forest.NAME,
            rows,
            text,
            forest.alt(made, rows),
            lambda width: forest.draw(made, rows, width),
        )
    names = sorted(path.relative_to(out).as_posix() for path in files)
    summary: dict[str, Any] = rounded(sessions.plain({**made, "files": names}))
    put_json(out / SUMMARY, summary)
    drop_stale(out, before, names)
    return summary


def _put_table(folder: Path, table: Table) -> list[Path]:
    return [
        put(folder / "tables" / f"{table.name}.csv", table.csv()),
        put(folder / "tables" / f"{table.name}.md", table.markdown()),
    ]


def _drop_old(root: Path, now: set[str]) -> None:
    """Remove what was written for sessions that are no longer there."""
    for summary in root.glob(f"*/{SUMMARY}"):
        if summary.parent.name not in now:
            drop_stale(summary.parent, [*listed(summary), SUMMARY], [])
