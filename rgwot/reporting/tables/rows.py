"""The rows of a table of any kind: read as texts, and put together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd

from rgwot.reporting.tables.models import AnyTable
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import text_of

Paths = Iterable[str | os.PathLike[str]]


def read_texts(path: str | os.PathLike[str], what: str = "a table", needed: Sequence[str] = ()) -> pd.DataFrame:
    """Read a CSV file whose cells are texts and which has at least the columns ``needed``."""
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False).map(text_of)
    except (OSError, ValueError) as error:
        raise RgwotError(f"{path}: cannot be read as {what}: {' '.join(str(error).split())}") from None
    missing = [column for column in needed if column not in frame.columns]
    if missing:
        raise RgwotError(f"{path}: found columns {','.join(frame.columns)}, expected also {','.join(missing)}")
    return frame


def read_flat(path: str | os.PathLike[str], columns: Sequence[str]) -> pd.DataFrame:
    """Read a table of texts that has exactly these columns."""
    frame = read_texts(path)
    if list(frame.columns) != list(columns):
        raise RgwotError(
            f"{path}: found columns {','.join(frame.columns)}, expected {','.join(columns)}; make it again"
        )
    return frame


def joined(table: AnyTable, rows: Paths, read: Callable[[Path], pd.DataFrame]) -> pd.DataFrame:
    """Put the rows of a table together, in its order: each once, none missing; the first column names it."""
    parts: dict[str, pd.DataFrame] = {}
    for path in map(Path, rows):
        frame = read(path)
        ids = list(frame.iloc[:, 0].unique())
        if len(ids) != 1 or ids[0] not in [row.id for row in table.rows] or ids[0] in parts:
            raise RgwotError(
                f"{path}: found rows {', '.join(ids)}, expected one row of table {table.id!r}, each row once"
            )
        parts[ids[0]] = frame
    missing = [row.id for row in table.rows if row.id not in parts]
    if missing:
        raise RgwotError(f"table {table.id!r}: found no row {', '.join(missing)}; make it first with `rgwot table`")
    return pd.concat([parts[row.id] for row in table.rows], ignore_index=True)
