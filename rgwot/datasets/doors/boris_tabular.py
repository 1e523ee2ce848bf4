"""Tabular events of BORIS: a table with a start or a stop per row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from rgwot.datasets.doors.boris import Event, paired
from rgwot.datasets.doors.boris_aggregated import of_videos
from rgwot.datasets.doors.interface import Hints, Row
from rgwot.datasets.doors.table import number


def fits(head: str) -> bool:
    """Return whether a table begins with the columns of BORIS."""
    return "Behavior" in head and "Observation id" in head and "Time" in head


def read(path: Path, hints: Hints) -> Iterator[Row]:
    """Read the events; the video is the media file, or else the observation's name."""
    events: dict[str, list[Event]] = defaultdict(list)
    for where, row, video in of_videos(path):
        kind = row.get("Behavior type") or row["Status"]
        modifiers = "|".join(row[column] for column in row if column.startswith("Modifier"))
        event = Event(where, number(path, where, row["Time"]), row["Subject"], row["Behavior"], modifiers)
        events[video] += [event, event] if kind == "POINT" else [event]
    for video, own in events.items():
        yield from paired(path, video, own)
