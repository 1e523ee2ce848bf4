"""The parts of pages that are written from measurements, between two marks."""

from __future__ import annotations

from pathlib import Path

from rgwot.runtime.files import write_text


def renew(page: Path, name: str, target: str, text: str) -> None:
    """Put text between the marks ``name`` of a page, whose first says by which target it is made.

    Raises
    ------
    SystemExit
        When the page does not have both marks once, in order.
    """
    begin, end = f"<!-- {name}: made by make {target}, do not edit -->", f"<!-- {name}: end -->"
    before = page.read_text(encoding="utf-8")
    if before.count(begin) != 1 or before.count(end) != 1 or before.index(begin) > before.index(end):
        raise SystemExit(f"{page.name}: expected one line {begin!r} and, below it, one line {end!r}; put them in")
    write_text(f"{before[: before.index(begin)]}{begin}\n\n{text}\n\n{before[before.index(end) :]}", page)
