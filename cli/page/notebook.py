"""Executed notebooks as parts of the page: nbconvert renders the cells, this says which and where.

A study's notebook is executed once for each run that is shown. Its prose is the same each time and
appears once; what its cells displayed appears under each run.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import TemplateExporter

from cli.page import prose
from cli.page.figures import Figures

HERE = Path(__file__).parent
#: nbconvert's own templates, and not those that a user may have put before them.
TEMPLATES = Path(sys.prefix) / "share" / "jupyter" / "nbconvert" / "templates"
HEADING = re.compile(r"^(?=##? )", re.M)
#: Parts that are there to be looked up: folded, after the others.
LOOKED_UP = ("Tables",)
# nbformat and nbconvert carry no types
Cell = Any
read_notebook: Any = nbformat.read
v4: Any = nbformat.v4
exporter: Any = TemplateExporter


@dataclass
class Part:
    """What stands under one heading of a notebook."""

    title: str
    prose: list[Cell] = field(default_factory=list)
    code: list[Cell] = field(default_factory=list)

    @property
    def displays(self) -> bool:
        """Whether its cells displayed something, rather than only printed."""
        return any(
            output.output_type in ("display_data", "execute_result")
            for cell in self.code
            for output in cell.outputs
        )


@dataclass(frozen=True)
class Shown:
    """A title and what stands below it, as HTML."""

    title: str
    html: str


@dataclass(frozen=True)
class Outcome:
    """What the notebook displayed of one run: in full, to be looked up, and how it was made."""

    shown: list[Shown]
    folded: list[Shown]
    made: str


def read(file: Path) -> list[Part]:
    """The parts of an executed notebook; the first holds its title and what follows that."""
    parts = [Part("")]
    for cell in read_notebook(file, as_version=4).cells:
        if cell.cell_type == "code":
            parts[-1].code.append(cell)
        elif cell.cell_type == "markdown":
            for text in HEADING.split(cell.source):
                marks, _, rest = text.partition(" ")
                if marks in ("#", "##"):
                    title, _, text = rest.partition("\n")
                    parts.append(Part(title.strip()))
                if text.strip():
                    parts[-1].prose.append(v4.new_markdown_cell(text))
    return [part for part in parts if part.title or part.prose or part.code]


class Renderer:
    """Renders parts of executed notebooks for one page."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        filters = {
            "fragment": prose.fragment,
            "figure": self._figure,
            "last_states": last_states,
        }
        paths = [str(HERE), str(TEMPLATES)]
        made: dict[str, Any] = {
            "file_extension": ".html",
            "template_file": "cells.html.j2",
            "template_paths": paths,
            "filters": filters,
        }
        self._outputs = exporter(**made, exclude_input=True)
        self._whole = exporter(**made)

    def prose(self, part: Part) -> str:
        """The prose of a part."""
        return self._render(self._outputs, part.prose)

    def outcome(self, parts: Sequence[Part], explained: bool = True) -> Outcome:
        """What the notebook displayed of its run; ``explained``: with the prose before it."""
        shown: list[Shown] = []
        folded: list[Shown] = []
        for part in parts:
            if part.displays:
                where = folded if part.title in LOOKED_UP else shown
                cells = [*(part.prose if explained else []), *part.code]
                where.append(Shown(part.title, self._render(self._outputs, cells)))
        printing = [cell for part in parts if not part.displays for cell in part.code]
        return Outcome(shown, folded, self._render(self._whole, printing))

    def _render(self, through: Any, cells: Sequence[Cell]) -> str:
        notebook = v4.new_notebook(cells=list(cells))
        return str(through.from_notebook_node(notebook)[0])

    def _figure(self, output: Cell) -> str:
        told = output.metadata.get("image/svg+xml", {})
        source = output.data["image/svg+xml"]
        return self._figures.html(source, told.get("alt", ""), told.get("figure", ""))


def last_states(printed: str) -> str:
    """Printed text with only the last state of each line that was written over (a bar)."""
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in printed.split("\n"))
