"""Markdown as HTML for the report: wide tables scroll in a box of their own, links stay inside."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import mistune

#: From the path of a picture and its alt text to HTML.
Picture = Callable[[str, str], str]
TAG = re.compile(r"<[^>]+>")
NOT_PLAIN = re.compile(r"[^a-z0-9]+")
#: Characters up to which a table's cell stays on one line.
SHORT = 26
PLUGINS = ("table", "strikethrough")
TITLE = re.compile(r"^# (.+)\n", re.M)


@dataclass(frozen=True)
class Heading:
    """A heading that the table of contents can lead to."""

    level: int
    text: str
    anchor: str


@dataclass
class Text:
    """A document as HTML: its title is taken out, its headings are listed."""

    title: str
    html: str
    headings: list[Heading] = field(default_factory=list)


def slug(text: str) -> str:
    """A heading's text as a part of an anchor: ``What was found`` is ``what-was-found``."""
    return NOT_PLAIN.sub("-", text.lower()).strip("-")


def scroll_box(table: str, label: str = "table") -> str:
    """A table in a box that scrolls by itself, by keyboard too, where the page is too narrow."""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(label)}">'
        f"{table}</div>\n"
    )


class _Renderer(mistune.HTMLRenderer):
    """Headings below those of the page, tables in boxes, no link that leads out of the page.

    Raw HTML is left out: of what is shown only comments are written so.
    """

    def __init__(
        self,
        prefix: str,
        shift: int,
        home: str,
        anchors: Mapping[str, str],
        picture: Picture | None,
    ) -> None:
        super().__init__(escape=True)
        self._home = home
        self._picture = picture
        self._prefix = prefix
        self._shift = shift
        self._anchors = anchors
        self.headings: list[Heading] = []

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        level = min(level + self._shift, 6)
        if not self._prefix:
            return f"<h{level}>{text}</h{level}>\n"
        plain = html.unescape(TAG.sub("", text))
        anchor = f"{self._prefix}-{slug(plain)}"
        taken = {heading.anchor for heading in self.headings}
        while anchor in taken:
            anchor += "-"
        self.headings.append(Heading(level, plain, anchor))
        return f'<h{level} id="{anchor}">{text}</h{level}>\n'

    def table(self, text: str) -> str:
        return scroll_box(f"<table>\n{text}</table>")

    def table_cell(self, text: str, align: str | None = None, head: bool = False) -> str:
        if head:
            return f'<th scope="col">{text}</th>\n'
        width = len(html.unescape(TAG.sub("", text)))
        return f'<td class="{"long" if width > SHORT else "short"}">{text}</td>\n'

    def link(self, text: str, url: str, title: str | None = None) -> str:
        try:
            parts = urlsplit(url)
        except ValueError:  # no address at all
            return text
        if parts.scheme in ("http", "https"):
            return super().link(text, url, title)
        target = posixpath.normpath(posixpath.join(self._home, parts.path))
        anchor = self._anchors.get(target)
        return text if anchor is None else f'<a href="#{anchor}">{text}</a>'

    def image(self, text: str, url: str, title: str | None = None) -> str:
        # a file beside the document would not travel with the page
        return text if self._picture is None else self._picture(url, html.unescape(text))

    def block_html(self, html: str) -> str:
        return ""

    def inline_html(self, html: str) -> str:
        return ""


def document(
    source: str,
    prefix: str = "",
    shift: int = 2,
    home: str = "",
    anchors: Mapping[str, str] | None = None,
    picture: Picture | None = None,
) -> Text:
    """Render Markdown.

    Args:
        source: the text; a level-1 heading in it becomes the title and is left out of the HTML.
        prefix: what the headings' anchors begin with; without it they have none.
        shift: levels by which headings move down, so that they fit below the page's own.
        home: the folder of the document below the root, from which its links lead.
        anchors: anchors of the documents that the page holds, by file below the root.
        picture: what draws a picture; without it only its alt text stands there.
    """
    title = TITLE.search(source)
    if title:
        source = source[: title.start()] + source[title.end() :]
    renderer = _Renderer(prefix, shift, home, anchors or {}, picture)
    return Text(title[1].strip() if title else "", _html(source, renderer), renderer.headings)


def fragment(source: str) -> str:
    """A cell's or an output's Markdown as HTML, its headings without anchors."""
    return _html(source, _Renderer("", 3, "", {}, None))


def _html(source: str, renderer: _Renderer) -> str:
    return str(mistune.create_markdown(renderer=renderer, plugins=PLUGINS)(source))
