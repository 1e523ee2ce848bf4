"""Tables as CSV: texts that a spreadsheet would run are guarded when written, and tables are checked when read."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import below_results, remake, replacing

if TYPE_CHECKING:
    import pandas as pd


_FORMULA = re.compile(r"'*[=+\-@\t\r]")

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def write_csv(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table with full precision and without its index; texts are guarded by `cell`."""
    written = frame.copy(deep=False)
    for name in frame.columns[[dtype.kind not in "biuf" for dtype in frame.dtypes]]:
        written[name] = frame[name].map(cell)
    with replacing(path) as temporary:
        written.to_csv(temporary, index=False, lineterminator="\n")


def cell(value: Any) -> Any:
    """Return a value for a CSV file: a text that a spreadsheet would run as a formula gets an apostrophe.

    Texts are names of files, steps and people. The mapping is one to one, see `text_of`; numbers do not change.

    >>> cell("=1+1"), cell("'=1+1"), cell("-0.5"), cell("pour")
    ("'=1+1", "''=1+1", '-0.5', 'pour')
    """
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value


def text_of(value: Any) -> Any:
    """Return the value of a text in a CSV file, the inverse of `cell`."""
    return value[1:] if isinstance(value, str) and value.startswith("'") and _FORMULA.match(value) else value


def write_rows(columns: Sequence[str], rows: Iterable[Sequence[object]], path: str | os.PathLike[str]) -> None:
    """Write the rows of a table like `write_csv`, for stages that do not need pandas otherwise (0.2 s to import)."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([cell(value) for value in row] for row in rows)


def read_csv(
    path: str | os.PathLike[str],
    columns: Sequence[str],
    numbers: Mapping[str, Literal["float64", "int64", "Int64"]],
    optional: Collection[str] = (),
) -> pd.DataFrame:
    """Read and check a CSV table of a stage, which must have at least the ``columns``.

    ``numbers`` are the types of columns with numbers; all other columns are text. In ``optional`` columns of numbers,
    empty fields are allowed and become missing values.

    Raises RgwotError if the file cannot be read, lacks a column, or a column of numbers has a value that is not a
    finite number (a whole one for integer types).
    """
    import pandas as pd

    try:
        # A video may be called 'NA' or '0003', so types are not guessed.
        frame = pd.read_csv(path, dtype=str, keep_default_na=False).map(text_of)
    except (OSError, ValueError) as error:
        why = " ".join(str(error).split())
        raise RgwotError(f"{path}: cannot be read ({why}); expected {','.join(columns)}{_advice(path)}") from None
    return typed(frame, path, columns, numbers, optional)


def _advice(path: str | os.PathLike[str]) -> str:
    # Only tables below results can be made again.
    return "" if below_results(Path(path)) is None else f"; {remake(Path(path))}"


def typed(
    frame: pd.DataFrame,
    path: str | os.PathLike[str],
    columns: Sequence[str],
    numbers: Mapping[str, Literal["float64", "int64", "Int64"]],
    optional: Collection[str] = (),
) -> pd.DataFrame:
    """Check a table of texts from a file, and convert its columns, as in `read_csv`."""
    import numpy as np
    import pandas as pd

    expected = ",".join(columns)
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise RgwotError(f"{path}: no column {', '.join(missing)}; expected {expected}{_advice(path)}")
    for column, dtype in numbers.items():
        texts = frame[column]
        values = pd.to_numeric(texts.where(texts.str.strip() != "", None), errors="coerce").astype("float64")
        good = np.isfinite(values) & ((values % 1 == 0) | (dtype == "float64"))
        if column in optional:
            good |= texts.str.strip() == ""
        if not good.all():
            row = int(np.argmax(~np.asarray(good)))
            raise RgwotError(
                f"{path}: row {row + 2}: found {column} {texts[row]!r}, "
                f"expected a {'' if dtype == 'float64' else 'whole '}number{_advice(path)}"
            )
        frame[column] = values.astype(dtype)
    return frame
