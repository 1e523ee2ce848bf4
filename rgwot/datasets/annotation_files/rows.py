"""Segments as the files of other programs have them, and what their readers share."""

from __future__ import annotations

import csv
import gzip
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path, PureWindowsPath
from typing import Any, NamedTuple

from rgwot.datasets.faults import DataFault
from rgwot.datasets.text import LARGEST_TEXT, excerpt, read_bytes, read_lines
from rgwot.runtime.files import text_of

#: The tier that exports write and readers prefer, where a format has several.
TIER = "key steps"


class SegmentRow(NamedTuple):
    """A segment as a file has it: ``video`` is the stem of the video's file, ``where`` the place, like ``line 3``."""

    video: str
    start_s: float
    end_s: float
    label: str
    where: str


@dataclass(frozen=True)
class Hints:
    """What a file does not say of itself: which tier is meant, and how many frames per second its labels have."""

    tier: str | None = None
    fps: Fraction | None = None

    def rate(self, path: Path) -> Fraction:
        """Return the rate; DataFault where it is not given."""
        if self.fps is None:
            found = "counts frames and states no rate; expected frames per second; set labels_fps (or fps)"
            raise DataFault("time", path, "", found)
        return self.fps

    def chosen(self, path: Path, tiers: Iterable[str]) -> str:
        """Return the tier that is meant: by name, else `TIER`, else the only one; DataFault where it is not clear."""
        known = list(tiers)
        wanted = self.tier or (TIER if TIER in known else known[0] if len(known) == 1 else None)
        if wanted not in known:
            found = f"no tier {self.tier!r}; " if self.tier else ""
            found += f"found {', '.join(map(repr, known)) or 'no tier of intervals'}"
            raise DataFault("tier", path, "", f"{found}; expected one that is meant; set tier")
        return str(wanted)


def read_json(path: Path) -> Any:
    """Read JSON, packed by gzip or not."""
    content = read_bytes(path)
    if path.suffix.lower() == ".gz":
        with gzip.open(path) as file:
            content = file.read(LARGEST_TEXT + 1)
    if len(content) > LARGEST_TEXT:
        raise ValueError(f"unpacks to more than {LARGEST_TEXT} bytes")
    return json.loads(content)


def records(path: Path, column: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a table with a header, by column, and where they stand; tabs, semicolons or commas divide.

    The header is the first line that has the ``column``, or the first of all.
    """
    lines = read_lines(path)
    at = next((at for at, line in enumerate(lines) if not column or column.lower() in header_columns(line.text)), 0)
    header, lines = lines[at].text, lines[at:]
    names = [name.strip() for name in next(csv.reader([header], delimiter=divider(header)))]
    reader = csv.reader((line.text + "\n" for line in lines[1:]), delimiter=divider(header), strict=True)
    for fields in reader:
        where = f"line {at + reader.line_num + 1}"
        if not any(fields):
            continue
        if len(fields) != len(names):
            raise DataFault("columns", path, where, f"{len(fields)} fields; expected {len(names)}, as in the header")
        yield where, {name: text_of(field.strip()) for name, field in zip(names, fields, strict=True)}


def header_columns(header: str) -> list[str]:
    """Return the names of the columns of a table in lower case."""
    return [name.strip().strip('"').lower() for name in header.split(divider(header))]


def divider(header: str) -> str:
    """Return what divides the columns of a table."""
    return next((sign for sign in "\t;" if sign in header), ",")


def read_seconds(path: Path, where: str, text: str) -> float:
    """Read a time in seconds."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataFault("time", path, where, f"{excerpt(text)} as a time; expected seconds with a decimal point")
    return value


def media_stem(path: str) -> str:
    r"""Return the stem of a media file, whichever system its path is of.

    >>> media_stem("C:\\films\\a b.mp4"), media_stem("films/a b.mp4")
    ('a b', 'a b')
    """
    return PureWindowsPath(path).stem
