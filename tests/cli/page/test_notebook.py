"""Executed notebooks as parts: prose once, outputs by run, what is looked up folded."""

from __future__ import annotations

from pathlib import Path

from nbformat import v4, write

from cli.page import notebook
from cli.page.figures import Figures

SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M 0 0"/></svg>'


def executed(folder: Path) -> Path:
    shown = v4.new_output("display_data", {"text/markdown": "**found**", "text/plain": "object"})
    told = {"image/svg+xml": {"alt": "a dot", "figure": ""}}
    drawn = v4.new_output("display_data", {"image/svg+xml": SVG}, metadata=told)
    printed = v4.new_output("stream", text="0 %\r50 %\r100 %\ndone <b>\n")
    cells = [
        v4.new_markdown_cell("# Study\n\nwhy\n\n## Method\n\nhow"),
        v4.new_code_cell("plan(study)", outputs=[printed]),
        v4.new_markdown_cell("## What was found\n\nwords"),
        v4.new_code_cell("findings(study)", outputs=[shown, drawn]),
        v4.new_markdown_cell("## Tables"),
        v4.new_code_cell("tables(study)", outputs=[shown]),
    ]
    write(v4.new_notebook(cells=cells), folder / "executed.ipynb")
    return folder / "executed.ipynb"


def test_parts_follow_the_headings(tmp_path: Path) -> None:
    parts = notebook.read(executed(tmp_path))
    assert [part.title for part in parts] == ["Study", "Method", "What was found", "Tables"]
    assert [part.displays for part in parts] == [False, False, True, True]


def test_outputs_are_rendered_and_inputs_only_where_the_run_was_made(tmp_path: Path) -> None:
    parts = notebook.read(executed(tmp_path))
    made = notebook.Renderer(Figures(tmp_path)).outcome(parts)
    assert [part.title for part in made.shown] == ["What was found"]
    assert [part.title for part in made.folded] == ["Tables"]
    (found,) = made.shown
    assert "<strong>found</strong>" in found.html and 'aria-label="a dot"' in found.html
    assert "findings(study)" not in found.html and "object" not in found.html
    assert found.html.startswith("<p>words</p>")
    again = notebook.Renderer(Figures(tmp_path)).outcome(parts, explained=False)
    assert "words" not in again.shown[0].html
    assert "plan(study)" in made.made and "done &lt;b&gt;" in made.made


def test_a_bar_is_shown_as_it_stood_at_the_end() -> None:
    assert notebook.last_states("0 %\r50 %\r100 %\nnext\r\n") == "100 %\nnext\n"
