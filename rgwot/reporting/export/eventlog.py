"""The event log as a table, with the columns that process-mining tools look for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rgwot.reporting.export.interface import Video
from rgwot.runtime.files import write_rows

COLUMNS = ("case:concept:name", "concept:name", "start_timestamp", "time:timestamp", "key_step")
#: Videos have no date; in an event log they all begin here.
BEGIN = datetime(1970, 1, 1, tzinfo=UTC)


def export_eventlog(videos: Sequence[Video], folder: Path) -> None:
    """Write ``eventlog.csv``: a case is a video, an event a segment of a key step, with its begin and its end."""
    rows = [
        (video.name, label, timestamp(start_s), timestamp(end_s), key_step)
        for video in videos
        for start_s, end_s, key_step, label in video.segments
    ]
    write_rows(COLUMNS, rows, folder / "eventlog.csv")


def timestamp(seconds: float) -> str:
    """Return the time of a video as a date with milliseconds: every video begins with the year 1970.

    >>> timestamp(65.5)
    '1970-01-01T00:01:05.500+00:00'
    """
    return (BEGIN + timedelta(milliseconds=round(1000 * seconds))).isoformat(timespec="milliseconds")
