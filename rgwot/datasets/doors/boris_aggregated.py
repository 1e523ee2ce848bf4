"""Aggregated events of BORIS: a table with an interval per row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rgwot.datasets.doors.boris import media_stem
from rgwot.datasets.doors.interface import Hints, Row
from rgwot.datasets.doors.table import number, records

START, STOP = "Start (s)", "Stop (s)"


def fits(head: str) -> bool:
    """Return whether a table begins with the columns of BORIS."""
    return "Behavior" in head and START in head and STOP in head


def read(path: Path, hints: Hints) -> Iterator[Row]:
    """Read the intervals, points too; the video is the media file, or else the observation's name."""
    for where, row in records(path):
        start_s, stop_s = (number(path, where, row[column]) for column in (START, STOP))
        yield Row(video_of(row), start_s, stop_s, row["Behavior"], where)


def video_of(row: dict[str, str]) -> str:
    """Return the video of a row; columns and missing values differ between versions of BORIS."""
    media = row.get("Media file name") or row.get("Media file") or row.get("Media file path") or "NA"
    return row["Observation id"] if media == "NA" else media_stem(media)
