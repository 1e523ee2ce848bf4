"""What comments, docstrings and pages point to exists: sections of docs/methods.md, files and headings."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
METHODS = REPOSITORY / "docs" / "methods.md"
CODE = sorted(
    path
    for folder in ("rgwot", "tests", "benchmarks", "workflow")
    for path in (REPOSITORY / folder).rglob("*")
    if path.suffix in {".py", ".smk", ".yaml", ".json", ".rst", ".sh", ".csv"}
    and not {"results", "fixtures", "data"} & set(path.relative_to(REPOSITORY).parts)
)
PROSE = (".", "docs", "benchmarks/report", "tests")
PAGES = [path for folder in PROSE for path in sorted((REPOSITORY / folder).glob("*.md"))]

NUMBER = r"\d+(?:\.\d+)?"
CITED = re.compile(rf"\bmethods ({NUMBER}(?:(?:, and|,| and| or| to) {NUMBER})*)", re.IGNORECASE)
# Sections that methods.md itself names, without the word.
OWN = re.compile(r"\(([1-9]\.\d{1,2}(?:(?:,| and| to) [1-9]\.\d{1,2})*)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
FOLDERS = ("docs", "rgwot", "tests", "benchmarks", "workflow", "profiles", "envs")
FILE = re.compile(
    rf"(?<![\w./{{}}<>*-])(?:{'|'.join(FOLDERS)})/(?!results/)[\w./-]+\.(?:md|py|smk|yaml|csv|json|toml|rst|sh)\b"
)
PAGE = re.compile(r"(?<![\w./{}<>*-])[\w-]+\.md\b")
#: Folders that no checkout has: what stands in them is for nobody who reads this.
OUTSIDE = re.compile(r"(?<![\w-])(?<!\w/)(?:reference|shared)/|(?<![\w.-])/(?:home|root|work|Users)/")


def sections(markdown: str) -> set[str]:
    """Return the numbers of the headings of a page.

    >>> sorted(sections("# Page\\n## 3 Three\\n### 3.10 Ten\\n### 4th"))
    ['3', '3.10']
    """
    return {found[1] for head in headings(markdown) if (found := re.match(rf"({NUMBER}) ", head))}


def headings(markdown: str) -> list[str]:
    return HEADING.findall(FENCE.sub("", markdown))


def anchors(markdown: str) -> set[str]:
    """Return what GitHub makes of headings: lower case, no punctuation, hyphens for spaces, a number where one repeats.

    >>> sorted(anchors("## 5.1 A & `b_c`, d\\n## É?\\n## É"))
    ['51-a--b_c-d', 'é', 'é-1']
    """
    found: dict[str, int] = {}
    slugs = set()
    for head in headings(markdown):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        slugs.add(f"{slug}-{found[slug]}" if slug in found else slug)
        found[slug] = found.get(slug, 0) + 1
    return slugs


def one_line(text: str) -> str:
    """Join lines, without the indentation and the sign of a comment that the next one begins with."""
    return re.sub(r"\s*\n\s*(?:#:?\s+)?", " ", text)


def numbers(written: str) -> set[str]:
    """Return the sections that the end of a citation names, a range with all that lies in it.

    >>> sorted(numbers("2, 3.9 to 3.11 and 5"))
    ['2', '3.10', '3.11', '3.9', '5']
    """
    found = set(re.findall(NUMBER, written))
    for first, last in re.findall(rf"({NUMBER}) to ({NUMBER})", written):
        chapter, start = first.split(".")
        assert last.split(".")[0] == chapter, f"{first} to {last} leaves the chapter"
        found |= {f"{chapter}.{number}" for number in range(int(start), int(last.split(".")[1]) + 1)}
    return found


def cited(text: str, pattern: re.Pattern[str] = CITED) -> set[str]:
    return {number for written in pattern.findall(one_line(text)) for number in numbers(written)}


@cache
def prose(path: Path) -> str:
    """Return what a file says to a reader: comments and docstrings of Python, else all of it, fenced code apart."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return FENCE.sub("", text)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    parts = [token.string for token in tokens if token.type == tokenize.COMMENT]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    parts += [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(text)) if isinstance(node, documented)]
    return "\n".join(parts)


def missing_links(page: Path) -> Iterator[str]:
    """Yield the relative links of a page that lead nowhere."""
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or not file.is_relative_to(REPOSITORY):
            yield f"{page.name}: {target}: no such file in the repository"
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"{page.name}: {target}: no such heading"


def missing_files(text: str, folder: Path) -> Iterator[str]:
    """Yield the files that a text names and that are neither in the repository nor beside it."""
    yield from (file for file in FILE.findall(text) if not (REPOSITORY / file).exists())
    places = (folder, REPOSITORY, REPOSITORY / "docs")
    yield from (file for file in PAGE.findall(text) if not any((place / file).exists() for place in places))


def test_every_section_that_is_cited_is_there() -> None:
    there = sections(METHODS.read_text(encoding="utf-8"))
    everywhere = {path: cited(path.read_text(encoding="utf-8")) for path in [*CODE, *PAGES]}
    assert sum(map(len, everywhere.values())) > 150
    everywhere[METHODS] |= cited(METHODS.read_text(encoding="utf-8"), OWN)
    lacking = [
        f"{path.relative_to(REPOSITORY)}: methods {n}" for path, found in everywhere.items() for n in found - there
    ]
    assert not lacking, "\n".join(lacking)


def test_the_numbers_of_sections_are_in_order_and_of_one_section_each() -> None:
    found = [
        number for head in headings(METHODS.read_text(encoding="utf-8")) for number in re.findall(rf"^{NUMBER} ", head)
    ]
    order = [tuple(map(int, number.split("."))) for number in found]
    assert order == sorted(set(order))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_of_pages_lead_somewhere(page: Path) -> None:
    assert not list(missing_links(page))


def test_nothing_points_out_of_the_repository() -> None:
    out = []
    for path in [*CODE, *PAGES]:
        text, place = prose(path), path.relative_to(REPOSITORY)
        out += [f"{place}: {found[0]}" for found in OUTSIDE.finditer(text)]
        if path.suffix == ".py" or path in PAGES:
            out += [f"{place}: {file}: no such file" for file in missing_files(text, path.parent)]
    assert not out, "\n".join(out)
