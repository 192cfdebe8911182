"""The report as a reader meets it: one file, in a real browser, on a desk and on a telephone."""

from __future__ import annotations

import html
import html.parser
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from analysis.across import across
from cli import report
from cli.problem import Problem
from tests.browser import PROGRAM, Browser, Visit

ROOT = Path(__file__).resolve().parents[2]
SIZES = ((1280, 800), (390, 844))
#: What a page is asked; everything folded is opened first.
PROBE = """(() => {
  document.querySelectorAll('details').forEach(folded => folded.open = true);
  const width = %d, seen = e => e.getBoundingClientRect().width > 0;
  const all = selector => [...document.querySelectorAll(selector)];
  const beyond = all('body *').filter(e => !e.parentElement.closest('.scroll, pre, svg')
    && e.getBoundingClientRect().right > width + 0.5);
  const links = all('a[href]').map(a => a.getAttribute('href'));
  const inside = links.filter(link => link.startsWith('#'));
  const contents = all('nav a').filter(seen);
  const off = contents.filter(a => {
    a.click();
    const top = document.getElementById(a.hash.slice(1)).getBoundingClientRect().top;
    return top < -2 || top > innerHeight;
  });
  const boxes = all('.scroll').filter(e => e.scrollWidth > e.clientWidth);
  boxes.forEach(box => box.scrollLeft = 40);
  const figures = all('figure'), drawn = all('svg').filter(seen);
  return {
    scrollWidth: document.documentElement.scrollWidth,
    beyond: beyond.map(e => e.outerHTML.slice(0, 90)),
    broken: inside.filter(link => !document.getElementById(link.slice(1))),
    outside: links.filter(link => !link.startsWith('#') && !link.startsWith('https://')),
    contents: contents.length,
    off: off.map(a => a.hash),
    boxes: boxes.length,
    stuck: boxes.filter(box => box.scrollLeft === 0).length,
    figures: figures.length,
    drawn: drawn.length,
    tiny: drawn.filter(e => e.getBoundingClientRect().height < 60
      || 8 * e.getBoundingClientRect().width / e.viewBox.baseVal.width < 7).length,
    silent: drawn.filter(e => (e.getAttribute('aria-label') || '').length < 30).length
      + all('img').filter(e => !e.alt).length,
    missing: all('img').filter(e => !e.complete || !e.naturalWidth).length,
    fetched: performance.getEntriesByType('resource').map(e => e.name),
  };
})()"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, shipped_again: Path) -> Path:
    """The report of two shipped runs: one with every figure, one with unavailable arms.

    Their results are there already, as after ./study figures.
    """
    output = tmp_path_factory.mktemp("report")
    made = json.loads((shipped_again / "index.json").read_text())["runs"]
    newest = {(run["study"], run["preset"]): run for run in sorted(made, key=itemgetter("run"))}
    shown = [newest["processes", "paper"], newest["gauges", "quick"]]
    for run in shown:
        place = Path(run["study"], run["run"])
        shutil.copytree(ROOT / "data" / "raw" / place, output / "raw" / place)
        shutil.copytree(shipped_again / place, output / "processed" / place)
    index = {"runs": shown, "errors": [], **across(shown, output / "processed", draw=True)}
    (output / "processed" / "index.json").write_text(json.dumps(index))
    assert report.command(["--output", str(output)]) == 0
    return output / "processed" / "report.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Gone after this module: tests that measure want a quiet machine."""
    if PROGRAM is None:
        pytest.skip("no chromium here: ./study test installs it where apt knows it")
    with Browser(tmp_path_factory.mktemp("chromium")) as started:
        yield started


@pytest.fixture(scope="module")
def visits(page: Path, browser: Browser) -> dict[int, Visit]:
    return {w: browser.visit(page, w, h, PROBE % w) for w, h in SIZES}


@pytest.mark.parametrize("width", [width for width, _ in SIZES])
def test_nothing_overflows_and_nothing_is_missing(visits: dict[int, Visit], width: int) -> None:
    found = visits[width].value
    assert found["scrollWidth"] <= width and found["beyond"] == []
    assert found["figures"] >= 6 and found["drawn"] == found["figures"]
    assert (found["tiny"], found["silent"], found["missing"]) == (0, 0, 0)
    assert found["boxes"] > 0 and found["stuck"] == 0, "wide tables scroll in their own box"


@pytest.mark.parametrize("width", [width for width, _ in SIZES])
def test_every_link_leads_somewhere_in_the_page(visits: dict[int, Visit], width: int) -> None:
    found = visits[width].value
    assert found["contents"] >= 6
    assert (found["off"], found["broken"], found["outside"]) == ([], [], [])


@pytest.mark.parametrize("width", [width for width, _ in SIZES])
def test_nothing_is_fetched_and_nothing_complained_of(
    visits: dict[int, Visit], page: Path, width: int
) -> None:
    visit = visits[width]
    assert [url for url in visit.requests if not url.startswith("data:")] == [page.as_uri()]
    assert (visit.complaints, visit.value["fetched"]) == ([], [])


def test_the_probe_sees_what_is_wrong(browser: Browser, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<!DOCTYPE html><meta name="viewport" content="width=device-width"><nav><a href="#nowhere">'
        '</a></nav><p style="width:500px">wide</p><a href="#nowhere">a</a><a href="x.html">b</a>'
        '<img src="none.png"><img src="data:,">'
        '<svg viewBox="0 0 900 9" width="100" height="9"></svg>'
        '<figure></figure><script>console.error("told")</script>'
    )
    visit = browser.visit(bad, 390, 844, PROBE % 390)
    found = visit.value
    assert found["scrollWidth"] > 390 and len(found["beyond"]) == 1
    assert found["broken"] == ["#nowhere"] * 2 and found["outside"] == ["x.html"]
    assert (found["missing"], found["silent"], found["tiny"]) == (2, 3, 1)
    assert any("told" in complaint for complaint in visit.complaints)
    assert any(url.endswith("none.png") for url in visit.requests)


class Reader(html.parser.HTMLParser):
    """Collects what a browser would follow or fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.fetched: list[str] = []
        self.headings: list[str] = []
        self.tags: Counter[str] = Counter()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags[tag] += 1
        if given.get("id"):
            self.ids[str(given["id"])] += 1
        if given.get("src") or (tag == "link" and given.get("href")):
            self.fetched.append(str(given.get("src") or given.get("href")))

    handle_startendtag: Any = handle_starttag


def test_it_is_one_small_file_without_scripts(page: Path) -> None:
    assert page.stat().st_size <= report.LARGEST
    text = page.read_text(encoding="utf-8")
    read = Reader(text)
    assert [name for name, times in read.ids.items() if times > 1] == []
    assert read.fetched == ["data:,"], "the empty icon; else a browser asks for one"
    assert read.tags["script"] == read.tags["iframe"] == 0
    assert "url(http" not in text and "@import" not in text


def test_verdicts_come_first_and_every_part_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    parts = ["verdicts", "claims", "contrasts", "study-processes", "study-gauges", "method", "data",
             "machine", "again"]  # fmt: skip
    places = [text.index(f' id="{part}"') for part in parts]
    assert places == sorted(places)
    summary = json.loads(next(page.parent.glob("processes/*/summary.json")).read_text())
    assert summary["sentence"] in html.unescape(text)
    assert text.count("unavailable") > 3
    assert "indistinguishable</td>" in text, "the A/A pair stands among the contrasts"


def test_without_a_finished_run_it_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no finished run"):
        report.command(["--output", str(tmp_path)])
    with pytest.raises(Problem, match="report takes no"):
        report.command(["processes"])


def test_the_newest_run_of_each_weighty_preset_is_shown() -> None:
    def run(study: str, preset: str, name: str, finished: bool = True) -> dict[str, Any]:
        return {"study": study, "preset": preset, "run": name, "finished": finished}

    summaries = [
        run("gauges", "smoke", "1"),
        run("gauges", "quick", "2"),
        run("processes", "quick", "3"),
        run("processes", "paper", "4"),
        run("processes", "paper", "5"),
        run("processes", "paper", "6", finished=False),
        run("processes", "scaling", "7"),
    ]
    assert [s["run"] for s in report.choose(summaries)] == ["5", "7", "2"]
    assert [s["run"] for s in report.choose(summaries[:1])] == ["1"]
