"""Markdown for the page: headings that can be linked, tables in boxes, nothing that leads out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.page import prose


def test_the_title_is_taken_out_and_headings_move_down() -> None:
    made = prose.document("# Title\n\n## One\n\ntext\n\n## One\n", "doc", shift=1)
    assert made.title == "Title"
    assert "Title" not in made.html
    assert [(h.level, h.text) for h in made.headings] == [(3, "One"), (3, "One")]
    anchors = [h.anchor for h in made.headings]
    assert len(set(anchors)) == 2, "two headings of one name have anchors of their own"
    for anchor in anchors:
        assert f'<h3 id="{anchor}">' in made.html


def test_a_table_scrolls_in_its_own_box_and_long_cells_may_wrap() -> None:
    made = prose.document(f"| a | b |\n| --- | --- |\n| 1.2 [1, 2] | {'word ' * 9} |\n").html
    assert made.startswith('<div class="scroll" tabindex="0"')
    assert '<td class="short">1.2 [1, 2]</td>' in made
    assert '<td class="long">' in made
    assert made.count('scope="col"') == 2


def test_links_stay_inside_the_page_or_are_text() -> None:
    source = (
        "[in](../docs/methodology.md) [gone](other.md#x) [web](https://example.org/a) ![f](f.svg)"
    )
    made = prose.document(source, home="data", anchors={"docs/methodology.md": "method"}).html
    assert '<a href="#method">in</a>' in made
    assert "other.md" not in made and "gone" in made
    assert '<a href="https://example.org/a">web</a>' in made
    assert "<img" not in made


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_no_text_becomes_markup_of_its_own(text: str) -> None:
    made = prose.document(text, "d").html.lower()
    for tag in ("<script", "<img", "<style", "<iframe", "<!--"):
        assert tag not in made


def test_raw_html_is_left_out() -> None:
    assert prose.fragment("<script>alert(1)</script>\n\n<!-- note -->\n").strip() == ""


def test_a_picture_is_drawn_or_told() -> None:
    source = "![what it shows](validation/coverage.svg)\n"
    assert "what it shows" in prose.document(source).html
    drawn = prose.document(source, picture=lambda url, alt: f"<svg data-of='{url} {alt}'/>").html
    assert "<svg data-of='validation/coverage.svg what it shows'/>" in drawn


def test_a_fragment_keeps_lines_that_look_like_a_title() -> None:
    assert "# comment" in prose.fragment("```\n# comment\n```\n")
