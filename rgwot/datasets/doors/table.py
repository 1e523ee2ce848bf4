"""Tables of segments with a header: ``start_s,end_s,label``, and ``video`` where there are several."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path

from rgwot.datasets.doors.interface import Hints, Row
from rgwot.datasets.faults import DataFault
from rgwot.datasets.text import excerpt, read_lines

#: Columns in lower case, the first that is there; ``key_step`` last, because names say more.
STARTS, ENDS = ("start_s", "start"), ("end_s", "end", "stop")
LABELS = ("label", "name", "step", "key_step")


def fits(head: str) -> bool:
    """Return whether the first line has the columns."""
    names = set(_names(head.splitlines()[0] if head else ""))
    return all(names.intersection(known) for known in (STARTS, ENDS, LABELS))


def read(path: Path, hints: Hints) -> Iterator[Row]:
    """Read the rows; a label of 0 or nothing is background."""
    for where, row in records(path):
        low = {name.lower(): value for name, value in row.items()}
        start, end, label = (next(low[name] for name in known if name in low) for known in (STARTS, ENDS, LABELS))
        if label != "0":
            start_s, end_s = number(path, where, start), number(path, where, end)
            yield Row(low.get("video") or path.stem, start_s, end_s, label, where)


def records(path: Path, column: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a table with a header, by column, and where they stand; tabs, semicolons or commas divide.

    The header is the first line that has the ``column``, or the first of all.
    """
    lines = read_lines(path)
    at = next((at for at, line in enumerate(lines) if not column or column.lower() in _names(line.text)), 0)
    header, lines = lines[at].text, lines[at:]
    names = [name.strip() for name in next(csv.reader([header], delimiter=_divider(header)))]
    reader = csv.reader((line.text + "\n" for line in lines[1:]), delimiter=_divider(header), strict=True)
    for fields in reader:
        where = f"line {at + reader.line_num + 1}"
        if not any(fields):
            continue
        if len(fields) != len(names):
            raise DataFault("columns", path, where, f"{len(fields)} fields; expected {len(names)}, as in the header")
        yield where, {name: field.strip() for name, field in zip(names, fields, strict=True)}


def number(path: Path, where: str, text: str) -> float:
    """Read a time in seconds."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataFault("time", path, where, f"{excerpt(text)} as a time; expected seconds with a decimal point")
    return value


def _names(header: str) -> list[str]:
    return [name.strip().strip('"').lower() for name in header.split(_divider(header))]


def _divider(header: str) -> str:
    return next((sign for sign in "\t;" if sign in header), ",")
