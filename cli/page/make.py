"""The page's content from the index of summaries, the executed notebooks and the documents."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.claims import render
from analysis.claims.answer import NOT_YET
from cli import paths
from cli.claims import judged
from cli.page import assemble, findings, notebook, origin, prose
from cli.page.assemble import Document, Entry, Executed, StudyPage
from cli.page.figures import Figures

#: Documents that the page holds, by file below the root, and their anchors.
DOCUMENTS = {
    "docs/methodology.md": "method",
    "docs/validation.md": "validation",
    "data/README.md": "data",
}

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
    studies = _studies(chosen, executed, output, notebook.Renderer(figures))
    documents = _documents(figures)
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
            "studies": studies,
            "documents": documents,
            "machines": origin.machines(chosen, output),
            "again": origin.again(chosen, output),
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
    chosen: Sequence[Summary], executed: Sequence[Path], output: Path, render: notebook.Renderer
) -> list[StudyPage]:
    pages = [
        Executed(s["run"], f"Preset {s['preset']}", origin.of_run(s, output), read)
        for s, read in zip(chosen, map(notebook.read, executed), strict=True)
    ]
    left = iter(pages)
    return [
        assemble.study(str(group[0]["study"]), list(itertools.islice(left, len(group))), render)
        for group in _by_study(chosen)
    ]


def _documents(figures: Figures) -> list[Document]:
    """The documents that there are."""
    there = {name: anchor for name, anchor in DOCUMENTS.items() if (paths.ROOT / name).is_file()}
    made = []
    for name, anchor in there.items():
        file = paths.ROOT / name
        source = file.read_text(encoding="utf-8")
        picture = _picture(file.parent, figures)
        home = Path(name).parent.as_posix()
        text = prose.document(source, anchor, 1, home, there, picture)
        made.append(assemble.document(anchor, text))
    return made


def _picture(folder: Path, figures: Figures) -> prose.Picture:
    """Draws the SVG files beside a document; of others the alt text stays."""

    def draw(url: str, alt: str) -> str:
        file = folder / url
        if file.suffix != ".svg" or not file.is_file():
            return html.escape(alt)
        return figures.html(file.read_text(encoding="utf-8"), alt, "")

    return draw
