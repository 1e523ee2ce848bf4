"""Projects of BORIS (``.boris``, JSON, packed or not), and the tables of events that it exports.

State events come in pairs; what no pair covers is background. The video is the media file, or else the observation's
name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from rgwot.datasets.annotation_files.formats import Hints, SegmentRow, media_stem, read_json, read_seconds, records
from rgwot.datasets.text import DataFault, read_lines

START, STOP = "Start (s)", "Stop (s)"
#: What a table of many observations has in its header.
MANY = "Observation id"
# Before version 8 a table begins with lines about its only observation.
_HEADER_LINES = 40


class StateEvent(NamedTuple):
    """A state event: where it is, when, of which subject, behaviour and modifiers."""

    where: str
    time_s: float
    subject: str
    code: str
    modifiers: str


def is_boris(head: str) -> bool:
    """Return whether a file begins as a project, packed or not, or as an exported table."""
    return head.startswith("\x1f") or head.lstrip().startswith("{") or ("Behavior" in head and MANY in head)


def read_boris(path: Path, hints: Hints) -> Iterator[SegmentRow]:
    """Read a project, a table with an interval per row, or one with a start or a stop per row."""
    if path.suffix.lower() in (".boris", ".gz"):
        return read_project(path, hints)
    header = "\n".join(line.text for line in read_lines(path)[:_HEADER_LINES])
    return (read_aggregated if START in header and STOP in header else read_tabular)(path, hints)


def read_project(path: Path, hints: Hints) -> Iterator[SegmentRow]:
    """Read all observations; the video is the file in the first player."""
    project = read_json(path)
    points = {one["code"] for one in project["behaviors_conf"].values() if one["type"].startswith("Point")}
    videos: dict[str, str] = {}
    for name, observation in project["observations"].items():
        where = f"observation {name!r}"
        media = (observation.get("file") or {}).get("1") or []
        if len(media) > 1:
            raise DataFault(
                "media", path, where, f"{len(media)} media files one after the other; expected one; code each by itself"
            )
        _check_offset(path, where, observation.get("time offset"))
        video = media_stem(media[0]) if media else name
        if (other := videos.setdefault(video, name)) != name:
            raise DataFault(
                "media", path, where, f"of {video!r}, as {other!r} is; expected one observation per video; delete one"
            )
        events = []
        for time, subject, code, modifiers, *_ in observation["events"]:
            event = StateEvent(f"{where} at {time} s", float(time), subject, code, modifiers)
            # A point event has no length.
            events += [event, event] if code in points else [event]
        yield from _paired(path, video, events)


def read_aggregated(path: Path, hints: Hints) -> Iterator[SegmentRow]:
    """Read a table with an interval per row, points too."""
    for where, row, video in _of_videos(path):
        start_s, stop_s = (read_seconds(path, where, row[column]) for column in (START, STOP))
        yield SegmentRow(video, start_s, stop_s, row["Behavior"], where)


def read_tabular(path: Path, hints: Hints) -> Iterator[SegmentRow]:
    """Read a table with a start or a stop per row."""
    events: dict[str, list[StateEvent]] = defaultdict(list)
    for where, row, video in _of_videos(path):
        kind = row.get("Behavior type") or row["Status"]
        modifiers = "|".join(row[column] for column in row if column.startswith("Modifier"))
        event = StateEvent(where, read_seconds(path, where, row["Time"]), row["Subject"], row["Behavior"], modifiers)
        events[video] += [event, event] if kind == "POINT" else [event]
    for video, own in events.items():
        yield from _paired(path, video, own)


def _paired(path: Path, video: str, events: Iterable[StateEvent]) -> Iterator[SegmentRow]:
    """Yield the segments of state events: of a subject, behaviour and modifiers the first starts, the second stops."""
    running: dict[tuple[str, str, str], StateEvent] = {}
    segments: list[SegmentRow] = []
    for event in sorted(events, key=lambda event: event.time_s):
        start = running.pop(event[2:], None)
        if start is None:
            running[event[2:]] = event
        else:
            segments.append(SegmentRow(video, start.time_s, event.time_s, event.code, start.where))
    for event in running.values():
        raise DataFault(
            "pairing", path, event.where, f"{event.code!r} starts and never stops; expected a second event; add it"
        )
    yield from sorted(segments, key=lambda row: row.start_s)


def _of_videos(path: Path) -> Iterator[tuple[str, dict[str, str], str]]:
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
        _check_offset(path, where, row.get("Time offset (s)"))
        yield where, row, video


def _check_offset(path: Path, where: str, offset: str | float | None) -> None:
    """Refuse an observation whose clock does not begin with its video."""
    if offset not in (None, "", "NA") and float(offset):
        raise DataFault("time", path, where, f"time offset {offset} s; expected 0, times that begin with the video")
