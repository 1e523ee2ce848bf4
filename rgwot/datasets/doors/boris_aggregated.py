"""Aggregated events of BORIS: a table with an interval per row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rgwot.datasets.doors.boris import check_offset, media_stem
from rgwot.datasets.doors.interface import Hints, Row
from rgwot.datasets.doors.table import number, records
from rgwot.datasets.faults import DataFault

START, STOP = "Start (s)", "Stop (s)"


def fits(head: str) -> bool:
    """Return whether a table begins with the columns of BORIS."""
    return "Behavior" in head and START in head and STOP in head


def read(path: Path, hints: Hints) -> Iterator[Row]:
    """Read the intervals, points too; the video is the media file, or else the observation's name."""
    for where, row, video in of_videos(path):
        start_s, stop_s = (number(path, where, row[column]) for column in (START, STOP))
        yield Row(video, start_s, stop_s, row["Behavior"], where)


def of_videos(path: Path) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield the rows of a table of BORIS, where they stand, and their video; columns differ between versions.

    Before version 8 a tabular one begins with lines about its only observation.
    """
    videos: dict[str, str] = {}
    for where, row in records(path, "Behavior"):
        media = row.get("Media file name") or row.get("Media file path") or row.get("Media file") or "NA"
        name = row.get("Observation id", path.stem)
        video = videos.setdefault(name, name if media == "NA" else media_stem(media))
        if media != "NA" and media_stem(media) != video:
            found = f"{video!r} and {media_stem(media)!r} one after the other in observation {name!r}"
            raise DataFault("media", path, where, f"{found}; expected one media file; code each by itself")
        check_offset(path, where, row.get("Time offset (s)"))
        yield where, row, video
