"""EgoProceL's columns without a header: ``start,end,<number> <name>``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rgwot.datasets.csv_files import read_three_columns
from rgwot.datasets.doors.interface import Hints, Row


def fits(head: str) -> bool:
    """Return whether a table can be one: what it holds is for `read` to judge."""
    return True


def read(path: Path, hints: Hints) -> Iterator[Row]:
    """Read the rows; a step without a name goes by its number."""
    for row in read_three_columns(path, None).segments.to_dict("records"):
        yield Row(path.stem, row["start_s"], row["end_s"], row["name"] or f"key step {row['step_id']}", "")
