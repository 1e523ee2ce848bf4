"""The result that a command is about: a folder, a file in it, or the result that the page of the study shows first."""

from __future__ import annotations

from pathlib import Path

from rgwot import paths
from rgwot.runtime.errors import RgwotError


def result_folder(given: Path | None = None, results: Path = Path(paths.RESULTS)) -> Path:
    """Return a folder of key steps.

    Parameters
    ----------
    given
        The folder, or a file in it; None for the result that the only page below ``results`` shows first. Other paths
        are returned unchanged.

    Raises
    ------
    RgwotError
        If nothing is given and there is no page, or more than one.
    """
    if given is not None:
        inside = given.is_file() and (given.parent / paths.name_of(paths.PROCEDURE)).is_file()
        return given.parent if inside else given
    pages = {page: _shown_first(page) for page in sorted(results.glob("report/*/*.html"))}
    if len(pages) == 1:
        return next(iter(pages.values()))
    if not pages:
        raise RgwotError(f"{results}: no page that names a result; name a result, or make a page: rgwot run first")
    known = ", ".join(map(str, pages.values()))
    raise RgwotError(f"{results}: {len(pages)} pages, so the result is not clear; name one: {known}")


def _shown_first(page: Path) -> Path:
    """Return the folder of the result that a page shows first, from the table beside it."""
    import csv

    table = page.with_suffix(".csv")
    with table.open(encoding="utf-8", newline="") as file:
        row = next(csv.DictReader(file), None)
    if row is None:
        raise RgwotError(f"{table}: no rows, expected the procedures of the page; make it again: rgwot run first")
    wildcards = {name: row[name] for name in ("method", "decoder", "seed")}
    segments = paths.at(paths.SEGMENTS, page.parents[2], dataset=page.parent.name, task=page.stem, **wildcards)
    return segments.parent
