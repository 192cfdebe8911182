"""Puts the page together: what stands where, and the table of contents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2

from cli.page.notebook import Outcome, Part, Renderer, Shown
from cli.page.prose import Text

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Entry:
    """A line of the table of contents."""

    text: str
    anchor: str
    below: list[Entry] = field(default_factory=list)


@dataclass(frozen=True)
class Executed:
    """A notebook as it was executed for one run."""

    run: str
    title: str
    origin: str
    parts: list[Part]

    @property
    def anchor(self) -> str:
        return f"run-{self.run}"


@dataclass(frozen=True)
class RunPage:
    """One run under its study."""

    title: str
    anchor: str
    origin: str
    outcome: Outcome


@dataclass(frozen=True)
class StudyPage:
    """A study: its prose once, then its runs."""

    title: str
    anchor: str
    before: list[Shown]
    runs: list[RunPage]
    after: list[Shown]


@dataclass(frozen=True)
class Document:
    """A document of the repository as a part of the page."""

    anchor: str
    title: str
    html: str
    below: list[Entry]


def study(name: str, executed: Sequence[Executed], render: Renderer) -> StudyPage:
    """A study from its notebook as executed for each of its runs, the main one first."""
    parts = executed[0].parts
    shows = [n for n, part in enumerate(parts) if part.displays]
    first = shows[0] if shows else len(parts)

    def prose(some: Iterable[Part]) -> list[Shown]:
        alone = [part for part in some if part.prose and not part.displays]
        return [Shown(part.title, render.prose(part)) for part in alone]

    def run(n: int, e: Executed) -> RunPage:
        return RunPage(e.title, e.anchor, e.origin, render.outcome(e.parts, explained=n == 0))

    return StudyPage(
        title=next((part.title for part in parts if part.title), name),
        anchor=f"study-{name}",
        before=prose(parts[:first]),
        runs=[run(n, e) for n, e in enumerate(executed)],
        after=prose(parts[first:]),
    )


def document(anchor: str, text: Text) -> Document:
    """A document under an anchor; its second level goes into the table of contents."""
    below = [Entry(h.text, h.anchor) for h in text.headings if h.level == 3]
    return Document(anchor, text.title, text.html, below)


def contents(
    verdicts: Sequence[Entry], studies: Sequence[StudyPage], documents: Sequence[Document]
) -> list[Entry]:
    """The table of contents."""
    made = [Entry("Verdicts", "verdicts", list(verdicts))]
    for page in studies:
        made.append(Entry(page.title, page.anchor, [Entry(r.title, r.anchor) for r in page.runs]))
    made += [Entry(document.title, document.anchor, document.below) for document in documents]
    return [*made, Entry("The machine", "machine"), Entry("How to run it again", "again")]


def page(values: Mapping[str, Any]) -> str:
    """The whole page. What is HTML already is marked as such in the template, all else escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined
    )
    style = (HERE / "page.css").read_text(encoding="utf-8")
    return environment.get_template("page.html.j2").render({**values, "style": style})
