"""Tables whose cells are texts and single numbers: read, joined from rows, and printed column by column."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from rgwot.reporting.tables import latex as tex
from rgwot.reporting.tables.models import AnyTable
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import text_of


def read_flat(path: str | os.PathLike[str], columns: Sequence[str]) -> pd.DataFrame:
    """Read a table of texts.

    Raises
    ------
    RgwotError
        When it cannot be read or has other columns.
    """
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False).map(text_of)
    except (OSError, ValueError) as error:
        raise RgwotError(f"{path}: cannot be read as a table: {' '.join(str(error).split())}") from None
    if list(frame.columns) != list(columns):
        raise RgwotError(
            f"{path}: found columns {','.join(frame.columns)}, expected {','.join(columns)}; make it again"
        )
    return frame


def joined(
    table: AnyTable, rows: Iterable[str | os.PathLike[str]], columns: Sequence[str], id_column: str
) -> pd.DataFrame:
    """Put the rows of a table together, in its order.

    Raises
    ------
    RgwotError
        When a row is missing, given twice or not of this table.
    """
    parts: dict[str, pd.DataFrame] = {}
    for path in rows:
        frame = read_flat(path, columns)
        ids = list(frame[id_column].unique())
        if len(ids) != 1 or ids[0] not in [row.id for row in table.rows] or ids[0] in parts:
            raise RgwotError(
                f"{path}: found rows {', '.join(ids)}, expected one row of table {table.id!r}, each row once"
            )
        parts[ids[0]] = frame
    missing = [row.id for row in table.rows if row.id not in parts]
    if missing:
        raise RgwotError(f"table {table.id!r}: found no row {', '.join(missing)}; make it first with `rgwot table`")
    return pd.concat([parts[row.id] for row in table.rows], ignore_index=True)


def markdown(title: str, heads: Sequence[str], lines: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """Return a table with a title and notes; the first column stands left, the others right."""
    rows = [heads, [":--", *("--:" for _ in heads[1:])], *lines]
    table = "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows)
    return "\n\n".join([f"# {title}", table, *(["\n".join(f"- {note}" for note in notes)] if notes else [])]) + "\n"


def latex(name: str, title: str, heads: Sequence[str], lines: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """Return the same as a ``table*``."""
    body = [[tex.escape(cell) for cell in line] for line in lines]
    caption = " ".join(tex.escape(text) for text in (f"{title}.", *notes))
    return tex.floating(name, caption, tex.tabular([[tex.escape(head) for head in heads]], [body]))


def terminal(table: AnyTable, csv: str | os.PathLike[str]) -> str:
    """Return the Markdown form that lies beside a CSV.

    Raises
    ------
    RgwotError
        When it is not there.
    """
    path = Path(csv).with_suffix(".md")
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RgwotError(f"{path}: cannot be read ({error.strerror}); make table {table.id!r} again") from None
