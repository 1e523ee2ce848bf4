"""The site: built without a warning, every link of it, every page in a browser."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from chromium import WHERE, WITHOUT, chromium

from rgwot.cli import VERBS

REPOSITORY = Path(__file__).resolve().parents[2]
#: Attributes that make a browser ask for something.
FETCHED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src")}

pytestmark = pytest.mark.slow


class Parsed(HTMLParser):
    """The ids of a page, and what it links to and fetches."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.ids |= {value for name, value in attributes if name == "id" and value}
        if tag == "img":
            self.pictures.append(dict(attributes))
        for name, value in attributes:
            if value and (tag, name) in FETCHED:
                self.fetched.append(value)
            elif value and (tag, name) == ("a", "href"):
                self.links.append(value)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Parsed]:
    # The page of the demo has tests of its own, and draws its anchors with a script.
    return {path: Parsed(path) for path in sorted(site.rglob("*.html")) if path.parent.name != "example"}


def test_every_page_is_there_and_in_the_sidebar(site: Path, pages: dict[Path, Parsed]) -> None:
    listed = {unquote(link.split("#")[0]) for link in pages[site / "index.html"].links}
    for source in sorted((REPOSITORY / "docs").glob("*.md")):
        assert f"{source.stem}.html" in listed, source.name


def test_every_link_leads_to_a_page_and_a_heading_that_are_there(site: Path, pages: dict[Path, Parsed]) -> None:
    lost = []
    for path, page in pages.items():
        for link in {*page.links, *page.fetched}:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file() or not target.is_relative_to(site.resolve()):
                lost.append(f"{path.name}: {link}: no such file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                lost.append(f"{path.name}: {link}: no such heading")
    assert not lost, "\n".join(lost)


def test_nothing_is_fetched_from_another_host(site: Path, pages: dict[Path, Parsed]) -> None:
    far = [f"{path.name}: {link}" for path, page in pages.items() for link in page.fetched if "//" in link]
    far += [
        f"{path.name}: {found}"
        for path in site.rglob("*.css")
        for found in re.findall(r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^'\")]+)", path.read_text("utf-8"))
    ]
    assert not far, "\n".join(far)


def test_pictures_say_what_they_show(pages: dict[Path, Parsed]) -> None:
    assert not [path.name for path, page in pages.items() for picture in page.pictures if not picture.get("alt")]


def test_formulas_are_drawn_without_a_script(site: Path, pages: dict[Path, Parsed]) -> None:
    methods = (REPOSITORY / "docs" / "methods.md").read_text(encoding="utf-8")
    made = (site / "methods.html").read_text(encoding="utf-8")
    assert made.count('<div class="formula"><math') == methods.count("```math") > 20
    assert "mathjax" not in made.lower()


def test_every_verb_has_a_section(site: Path, pages: dict[Path, Parsed]) -> None:
    assert set(VERBS) <= pages[site / "commands.html"].ids


@pytest.mark.skipif(WHERE is None, reason=WITHOUT)
def test_every_page_in_a_browser(site: Path, pages: dict[Path, Parsed]) -> None:
    """At 1280 and at 390 pixels: nothing in the console, nothing from another host, nothing wider than the window."""
    odd = []
    with chromium() as browser:
        window = browser.window()
        for path in [*pages, *site.glob("example/*.html")]:
            window.resize(1280, 860)
            window.open(path)
            for width, height in ((1280, 860), (390, 844)):
                window.resize(width, height, mobile=width < 600)
                window.frames()
                if width < (wide := window.get("document.documentElement.scrollWidth")):
                    odd.append(f"{path.name}: {wide} pixels in {width}")
            odd += [f"{path.name}: {error}" for error in window.errors]
            window.errors.clear()
        odd += [url for url in window.requests if not url.startswith(("file:", "data:", "blob:"))]
    assert not odd, "\n".join(odd)


@pytest.mark.skipif(WHERE is None, reason=WITHOUT)
def test_search_finds_a_page_without_a_server(site: Path) -> None:
    with chromium() as browser:
        window = browser.window()
        window.open(site / "index.html")
        window.run("const field = document.querySelector('input[name=q]'); field.focus();")
        window.write("semi-Markov")
        window.press("Enter")
        found = window.wait_for("[...document.querySelectorAll('ul.search li a')].map((a) => a.href)[0]")
        assert "methods.html" in window.get("document.querySelector('ul.search').innerHTML"), found
        assert not window.errors
