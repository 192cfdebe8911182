"""Shows a session's results in a notebook, as they are on the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from IPython import display as ipython

from cli import index, results
from cli.session import Session

# IPython's display functions carry no types
markdown: Any = ipython.Markdown
svg: Any = ipython.SVG
display: Any = ipython.display

#: The figures a notebook shows: the width of a page.
WIDE = "-7in.svg"
#: The one that comes first, whatever its name.
FIRST = "table_points"


def everything(session: Session) -> None:
    """Findings, the article's table and the figures of every study."""
    for study in session.studies:
        display(markdown(f"### {study}"))
        findings(session, study)
        _tables(session.processed(study), ("article", "arms", "cost_parts"))
        figures(session, study)


def findings(session: Session, study: str) -> None:
    """The measured sentence, the verdicts, and what to beware of."""
    folder = session.processed(study)
    found = results.summary(folder)
    display(markdown(f"**{found['sentence']}**"))
    _tables(folder, ("verdicts",))
    for warning in found["warnings"]:
        display(markdown(f"- {warning}"))
    display(markdown(f"{found['machine']}; verdicts generalise {found['generalises']}."))


def sessions(session: Session, study: str) -> None:
    """The pooled verdicts and their figure, if this run is one of several sessions on one machine.

    They are made by ``./study figures``, from every run together.
    """
    for file in sorted((session.output / "processed" / "sessions").glob(f"*/{results.SUMMARY}")):
        found = results.summary(file.parent)
        if found["study"] != study or session.runs[study] not in found["runs"]:
            continue
        display(markdown(f"**{len(found['runs'])} sessions of preset {found['preset']}, pooled**"))
        _tables(file.parent, ("sessions",))
        figure = file.parent / "figures" / f"sessions{WIDE}"
        if figure.exists():
            display(
                svg(filename=str(figure)), metadata={"image/svg+xml": _told(figure, "sessions")}
            )
            caption = figure.with_name("sessions.caption.txt").read_text(encoding="utf-8")
            display(markdown(caption))


def claims(session: Session) -> None:
    """What the articles claim, judged by this session's runs alone."""
    from analysis.claims import render
    from cli.claims import judged

    mine = {(study, session.runs[study]) for study in session.studies}
    display(markdown(render.compact(judged(index.of(session.output, mine)))))


def tables(session: Session, study: str) -> None:
    """Every table of a run but the verdicts, which stand with the findings."""
    folder = session.processed(study)
    names = [path.stem for path in sorted((folder / "tables").glob("*.md"))]
    _tables(folder, [name for name in names if name != "verdicts"])


def _tables(folder: Path, names: tuple[str, ...] | list[str]) -> None:
    for name in names:
        file = folder / "tables" / f"{name}.md"
        if file.exists():
            display(markdown(file.read_text(encoding="utf-8")))


def figures(session: Session, study: str) -> None:
    """Every figure with its caption; one that was left out is named with the reason."""
    folder = session.processed(study)
    found = results.summary(folder)
    names = [name for name in found["files"] if name.endswith(WIDE)]
    for file in [folder / name for name in sorted(names, key=lambda name: FIRST not in name)]:
        if file.exists():
            name = file.name.removesuffix(WIDE)
            display(svg(filename=str(file)), metadata={"image/svg+xml": _told(file, name)})
            display(markdown(file.with_name(f"{name}.caption.txt").read_text(encoding="utf-8")))
    for name, reason in found["figures_left_out"].items():
        display(markdown(f"No figure {name}: {reason}."))


def _told(file: Path, name: str) -> dict[str, str]:
    """What travels with a figure in the executed notebook: its alt text and where it lies."""
    alt = file.with_name(f"{name}.alt.txt").read_text(encoding="utf-8").strip()
    study, run, figures = file.parts[-4:-1]
    return {"alt": alt, "figure": f"{study}/{run}/{figures}/{name}"}
