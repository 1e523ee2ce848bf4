"""Docstrings and pages refer only to sections, files and headings that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = [path for folder in (".", "docs", "benchmarks/report") for path in sorted((REPOSITORY / folder).glob("*.md"))]
NUMBER = r"\d+(?:\.\d+)?"
CITED = re.compile(rf"\bmethods ({NUMBER}(?:(?:, and|,| and| or| to) {NUMBER})*)", re.IGNORECASE)
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def read(path: Path) -> str:
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def headings(page: Path) -> list[str]:
    return re.findall(r"^#{1,6} +(.+?) *#*$", read(page), re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes from headings: lower case, no punctuation, hyphens for spaces."""
    texts = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head).lower() for head in headings(page))
    return {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in texts}


def test_every_section_that_is_cited_is_there() -> None:
    code = [path for folder in ("rgwot", "tests", "benchmarks") for path in (REPOSITORY / folder).rglob("*.py")]
    numbers = [head.split()[0] for head in headings(REPOSITORY / "docs/methods.md")[1:]]
    there = set(numbers)
    for number in numbers:
        chapter, _, last = number.rpartition(".")
        assert last == "1" or f"{chapter}.{int(last) - 1}".lstrip(".") in there, f"a gap before section {number}"
    cited = {
        (number, path.relative_to(REPOSITORY))
        for path in [*code, *PAGES]
        # Join lines, without the signs of comments.
        for written in CITED.findall(re.sub(r"\s*\n\s*(?:#:?\s+)?", " ", path.read_text(encoding="utf-8")))
        for number in re.findall(NUMBER, written)
    }
    assert len(cited) > 150
    assert not {(number, path) for number, path in cited if number not in there}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_of_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\[[^\]]*\]\(<?([^)\s>]+)>?\)", read(page)):
        if not re.match(r"[a-z][a-z0-9+.-]*:", target):
            name, _, anchor = target.partition("#")
            file = (page.parent / name).resolve() if name else page
            assert file.exists(), target
            assert file.is_relative_to(REPOSITORY), target
            assert not anchor or re.sub(r"-\d$", "", anchor) in anchors(file), target
