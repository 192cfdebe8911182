"""Figures in the page: no shared ids, no style that reaches further, the same drawing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli.page.figures import Figures, inline
from cli.problem import Failed

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = sorted((ROOT / "data" / "processed").glob("*/*/figures/*-7in.svg"))


def ids(html: str) -> list[str]:
    return re.findall(r'\bid="([^"]+)"', html)


def references(html: str) -> Iterator[str]:
    yield from re.findall(r'href="#([^"]+)"', html)
    yield from re.findall(r"url\(#([^)]+)\)", html)


def test_every_shipped_figure_keeps_its_texts_shapes_and_references() -> None:
    assert SHIPPED
    figures = Figures(ROOT / "data" / "processed")
    page = ""
    for file in SHIPPED:
        source = file.read_text(encoding="utf-8")
        name = str(file.relative_to(ROOT / "data" / "processed")).removesuffix("-7in.svg")
        made = figures.html(source, "what it shows", name)
        wide, narrow = ElementTree.fromstring(made)
        assert (wide.get("class"), narrow.get("class")) == ("wide", "narrow")
        before = ElementTree.fromstring(source)
        for tag in ("text", "path", "use"):
            there = list(before.iter(f"{{http://www.w3.org/2000/svg}}{tag}"))
            assert len(list(wide.iter(tag))) == len(there), (name, tag)
        assert len(ElementTree.tostring(wide)) < 0.9 * len(source)
        page += made
    assert len(ids(page)) == len(set(ids(page)))
    assert set(references(page)) <= set(ids(page))
    assert "<style" not in page and "metadata" not in page
    assert page.count('role="img" aria-label="what it shows"') == 2 * len(SHIPPED)


def test_two_files_that_share_ids_do_not_in_one_page() -> None:
    source = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        ' viewBox="0 0 9 9"><defs><path id="m" d="M 0 0&#10;L 1.23456 7"/></defs>'
        '<g id="unused"><use xlink:href="#m" clip-path="url(#m)"/></g></svg>'
    )
    one, two = (inline(source, prefix, "alt", "only") for prefix in ("a-", "b-"))
    assert ids(one) == ["a-m"] and ids(two) == ["b-m"]
    assert set(references(one)) == {"a-m"}
    assert 'd="M 0 0 L 1.23 7"' in one and "<g" not in one


def test_an_alt_text_cannot_break_out_of_its_attribute() -> None:
    source = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"/>'
    made = inline(source, "a-", 'a "quoted" <b> & more', "only")
    assert ElementTree.fromstring(made).get("aria-label") == 'a "quoted" <b> & more'


def test_what_is_no_svg_is_one_line() -> None:
    with pytest.raises(Failed, match="is no SVG"):
        inline("<svg", "a-", "alt", "only")
