"""The page's content from the index of summaries, the executed notebooks and the documents."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.claims import render
from analysis.claims.answer import NOT_YET
from cli import paths
from cli.claims import judged
from cli.page import assemble, findings, notebook, prose
from cli.page.assemble import Document, Entry, Executed, StudyPage
from cli.page.figures import WIDE, Figures
from cli.page.notebook import Shown
from cli.review import MINUTES

#: Documents that the page holds, by file below the root, and their anchors.
DOCUMENTS = {"docs/methodology.md": "method", "data/README.md": "data"}
#: What differs between two runs on one machine without making it another.
PASSING = ("boot", "uptime_s", "steal_percent", "memory_mb")

Summary = Mapping[str, Any]


def page(index: Summary, chosen: Sequence[Summary], executed: Sequence[Path], output: Path) -> str:
    """The report.

    Args:
        index: all runs and sessions, as ``analysis.report.process_all`` returns it.
        chosen: the runs that are shown, by study.
        executed: the executed notebook of each.
        output: the folder that holds raw/ and processed/.
    """
    figures = Figures(output / "processed")
    studies = _studies(chosen, executed, notebook.Renderer(figures))
    documents = [_document(file, anchor) for file, anchor in DOCUMENTS.items()]
    anchors = {summary["run"]: f"run-{summary['run']}" for summary in chosen}
    contrasts = _linked("of", findings.contrasts(chosen), anchors)
    entries = judged(dict(index))
    judged_rows = _linked("id", findings.claims(entries), anchors)
    claims = [row for row in judged_rows if row["verdict"] != NOT_YET]
    pooled = findings.sessions(index.get("sessions", []))
    verdicts = [Entry("Published claims", "claims"), Entry("Declared contrasts", "contrasts")]
    verdicts += [Entry("Sessions", "sessions")] if pooled else []
    return assemble.page(
        {
            "title": "What monitoring costs",
            "sentences": [study[0]["sentence"] for study in _by_study(chosen)],
            "runs": f"{len(chosen)} of {len(index['runs'])} runs",
            "contents": assemble.contents(verdicts, studies, documents),
            "claims": claims,
            "waiting": render.waiting(entries).replace("`", ""),
            "unmeasured": [{**row, "because": ""} for row in judged_rows if row not in claims],
            "counted": f"Of {len(entries)} claims: {render.counted(entries)}".replace("`", ""),
            "contrasts": contrasts,
            "twins": findings.twins(index["a_a"]),
            "pooled": pooled,
            "session_pages": _sessions(output / "processed" / "sessions", figures),
            "studies": studies,
            "documents": documents,
            "machines": _machines(chosen, output),
            "again": _again(chosen, output),
        }
    )


def _by_study(chosen: Sequence[Summary]) -> list[list[Summary]]:
    groups = itertools.groupby(chosen, key=lambda summary: str(summary["study"]))
    return [list(group) for _, group in groups]


def _linked(
    key: str, rows: Iterable[dict[str, str]], anchors: Mapping[str, str]
) -> list[dict[str, str]]:
    """Rows of which one cell leads to their run, where the page shows that."""
    return [
        {**row, f"{key}_anchor": anchors[row["run"]]} if row["run"] in anchors else row
        for row in rows
    ]


def _studies(
    chosen: Sequence[Summary], executed: Sequence[Path], render: notebook.Renderer
) -> list[StudyPage]:
    pages = [
        Executed(s["run"], f"Preset {s['preset']}", f"data/raw/{s['study']}/{s['run']}", read)
        for s, read in zip(chosen, map(notebook.read, executed), strict=True)
    ]
    left = iter(pages)
    return [
        assemble.study(str(group[0]["study"]), list(itertools.islice(left, len(group))), render)
        for group in _by_study(chosen)
    ]


def _sessions(folder: Path, figures: Figures) -> list[Shown]:
    """Figures and tables over sessions; there is no notebook of them."""
    made = []
    for group in sorted(folder.glob("*/")):
        html = ""
        for file in sorted(group.glob(f"**/*{WIDE}")):
            stem = file.name.removesuffix(WIDE)
            alt = file.with_name(f"{stem}.alt.txt").read_text(encoding="utf-8").strip()
            name = str(file.with_name(stem).relative_to(folder.parent))
            html += figures.html(file.read_text(encoding="utf-8"), alt, name)
            caption = file.with_name(f"{stem}.caption.txt")
            html += prose.fragment(caption.read_text(encoding="utf-8"))
        tables = [file.read_text(encoding="utf-8") for file in sorted(group.glob("**/*.md"))]
        folded = "".join(prose.fragment(table) for table in tables)
        html += f"<details><summary>Tables of these sessions</summary>{folded}</details>"
        made.append(Shown(group.name, html))
    return made


def _document(file: str, anchor: str) -> Document:
    names = {Path(name).name: target for name, target in DOCUMENTS.items()}
    source = (paths.ROOT / file).read_text(encoding="utf-8")
    return assemble.document(anchor, prose.document(source, anchor, shift=1, anchors=names))


def _machines(chosen: Sequence[Summary], output: Path) -> list[dict[str, Any]]:
    """Every machine of the runs that are shown, with what is known of it."""
    machines: dict[str, dict[str, Any]] = {}
    for summary in chosen:
        folder = paths.raw(output, summary["study"]) / summary["run"]
        rows = _flat(paths.read_json(folder / "manifest.json")["fingerprint"])
        key = repr([row for row in rows if row["key"] not in PASSING])
        found = machines.setdefault(
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
        for n, found in enumerate(machines.values(), 1)
    ]


def _flat(fingerprint: Mapping[str, Any]) -> list[dict[str, str]]:
    rows = []
    for key, value in fingerprint.items():
        if isinstance(value, Mapping):
            rows += [{**row, "key": f"{key}.{row['key']}"} for row in _flat(value)]
        else:
            rows.append({"key": key, "value": "—" if value is None else str(value)})
    return rows


def _again(chosen: Sequence[Summary], output: Path) -> list[dict[str, str]]:
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
        folder = paths.raw(output, summary["study"]) / summary["run"]
        plan = paths.read_json(folder / "manifest.json")["plan"]
        seed = f" --seed {plan['seed']}" if plan.get("seed") is not None else ""
        rows.append(
            {
                "command": f"./study run {summary['study']} --preset {summary['preset']}{seed}",
                "what": f"a run like {summary['run']}",
                "minutes": f"{plan['estimate']['minutes']:.0f}",
            }
        )
    return [{"minutes": "1", **row} for row in rows]
