"""SVG figures inside the page: smaller, with ids of their own, and read aloud by their alt text.

matplotlib numbers its ids anew in each file and styles every element by one ``*`` rule. Several of
its files in one page would therefore share ids and style each other, and the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from cli.problem import Failed

#: The two widths of a paper: a page's for wide screens, a column's for a telephone.
WIDE, NARROW = "-7in.svg", "-3.33in.svg"
REFERENCE = re.compile(r"url\(#([^)]+)\)")
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
FONT = "'DejaVu Sans'"
#: Verdana is as wide; telephones have neither.
FONTS = f"{FONT}, Verdana, sans-serif"
#: What the rule for ``*`` says, inherited instead.
INHERITED = "stroke-linejoin:round;stroke-linecap:butt"
TEXTS = ("text", "tspan")


class Figures:
    """Turns figures into HTML; the ids of one page never clash."""

    def __init__(self, processed: Path) -> None:
        """``processed``: the folder below which figures are named, as in their metadata."""
        self._processed = processed
        self._used = 0

    def html(self, source: str, alt: str, name: str) -> str:
        """A figure from its SVG, with the narrow variant beside it where there is one.

        Args:
            source: the wide variant.
            alt: what a reader who cannot see it is told.
            name: the figure's path below the processed folder, without width and suffix.
        """
        variants = [("wide", source)]
        narrow = self._processed / (name + NARROW)
        if name and narrow.is_file():
            variants.append(("narrow", narrow.read_text(encoding="utf-8")))
        else:
            variants = [("only", source)]
        drawn = [inline(svg, self._prefix(), alt, shape) for shape, svg in variants]
        kind = "chart" if len(drawn) > 1 else "chart scroll"
        return f'<figure class="{kind}">{"".join(drawn)}</figure>\n'

    def _prefix(self) -> str:
        self._used += 1
        return f"f{self._used}-"


def inline(source: str, prefix: str, alt: str, shape: str) -> str:
    """One SVG document as an element of an HTML page. Raises Failed if it is none.

    Coordinates are rounded to hundredths of a point, ids that nothing refers to are dropped.
    """
    try:
        root = ElementTree.fromstring(source)
    except ElementTree.ParseError as error:
        raise Failed(f"a figure is no SVG ({error}): ./study figures makes it again") from None
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in ("metadata", "style"):
                parent.remove(child)
    wanted = set(_references(root))
    for element in root.iter():
        element.tag = _local(element.tag)
        kept = {_local(k): v for k, v in element.attrib.items() if k != "id" or v in wanted}
        element.attrib.clear()
        element.attrib.update({name: _value(name, v, prefix) for name, v in kept.items()})
        if element.tag not in TEXTS:
            element.text = (element.text or "").strip() or None
        element.tail = (element.tail or "").strip() or None
    _ungroup(root)
    box = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib.update(
        {"class": shape, "viewBox": box, "role": "img", "aria-label": alt, "style": INHERITED}
    )
    return ElementTree.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    """A name without its namespace: HTML gives elements inside ``<svg>`` theirs."""
    return name.rpartition("}")[2]


def _references(root: ElementTree.Element) -> Iterator[str]:
    for element in root.iter():
        for name, value in element.attrib.items():
            if _local(name) == "href" and value.startswith("#"):
                yield value[1:]
            yield from REFERENCE.findall(value)


def _value(name: str, value: str, prefix: str) -> str:
    if name == "id":
        return prefix + value
    if name == "href":
        return f"#{prefix}{value[1:]}" if value.startswith("#") else value
    value = REFERENCE.sub(rf"url(#{prefix}\1)", value).replace(FONT, FONTS)
    if name in ("d", "points"):
        value = " ".join(value.split())
    return LONG_NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), value)


def _ungroup(element: ElementTree.Element) -> None:
    """Replace groups that say nothing any more by what they hold."""
    children: list[ElementTree.Element] = []
    for child in element:
        _ungroup(child)
        children += child if child.tag == "g" and not child.attrib else [child]
    element[:] = children
