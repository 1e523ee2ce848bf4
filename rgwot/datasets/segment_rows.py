"""Rows of annotation files, as every reader of a format yields them, and what readers have in common."""

from __future__ import annotations

import math
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

from rgwot.datasets.text import DataFault, excerpt, seconds_in

#: The label of background.
BACKGROUND_LABEL = "background"


class SegmentRow(NamedTuple):
    """A segment of a file, or a mark, whose start and end are equal.

    ``video`` is the stem of the video's file, ``where`` a position, such as ``line 3``.
    """

    video: str
    start_s: float
    end_s: float
    label: str
    where: str
    silence: str = ""  #: how time without a segment is read in this video, if the file says it
    length_s: float = math.nan  #: the length that the file states beside start and end


def read_seconds(path: Path, where: str, text: str) -> float:
    """Read a time in seconds (`seconds_in`)."""
    value = seconds_in(text)
    if not math.isfinite(value):
        raise DataFault(
            "time", path, where,
            f"{excerpt(text)} as a time; expected seconds with a decimal point, or mm:ss; if this is a row of units or "
            "a comment, delete it",
        )  # fmt: skip
    return value


def media_stem(path: str) -> str:
    r"""Return the stem of a media file from a path of any operating system; only the name counts.

    >>> media_stem("C:\\films\\a b.mp4"), media_stem("../films/a b.mp4")
    ('a b', 'a b')
    """
    return PureWindowsPath(path).stem


def check_offset(path: Path, where: str, offset: str | float | None, unit: str = "s") -> None:
    """Raise DataFault if the clock of the annotations does not start with the video."""
    if offset not in (None, "", "NA") and float(offset):
        raise DataFault(
            "time", path, where, f"time offset {offset} {unit}; expected 0, so that times start with the video"
        )
