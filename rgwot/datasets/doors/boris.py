"""Projects of BORIS: ``.boris``, JSON, packed or not. State events come in pairs; what no pair covers is background."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

from rgwot.datasets.doors.interface import Hints, Row, read_json
from rgwot.datasets.faults import DataFault


def fits(head: str) -> bool:
    """Return whether a file can be a project: the suffix says so."""
    return True


class Event(NamedTuple):
    """A state event: where it is, when, of which subject, behaviour and modifiers."""

    where: str
    time_s: float
    subject: str
    code: str
    modifiers: str


def read(path: Path, hints: Hints) -> Iterator[Row]:
    """Read all observations; the video is the file in the first player, or else the observation's name."""
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
        check_offset(path, where, observation.get("time offset"))
        video = media_stem(media[0]) if media else name
        if (other := videos.setdefault(video, name)) != name:
            raise DataFault(
                "media", path, where, f"of {video!r}, as {other!r} is; expected one observation per video; delete one"
            )
        events = []
        for time, subject, code, modifiers, *_ in observation["events"]:
            event = Event(f"{where} at {time} s", float(time), subject, code, modifiers)
            # A point event has no length.
            events += [event, event] if code in points else [event]
        yield from paired(path, video, events)


def paired(path: Path, video: str, events: Iterable[Event]) -> Iterator[Row]:
    """Yield the segments of state events: of a subject, behaviour and modifiers the first starts, the second stops."""
    running: dict[tuple[str, str, str], Event] = {}
    segments: list[Row] = []
    for event in sorted(events, key=lambda event: event.time_s):
        start = running.pop(event[2:], None)
        if start is None:
            running[event[2:]] = event
        else:
            segments.append(Row(video, start.time_s, event.time_s, event.code, start.where))
    for event in running.values():
        raise DataFault(
            "pairing", path, event.where, f"{event.code!r} starts and never stops; expected a second event; add it"
        )
    yield from sorted(segments, key=lambda row: row.start_s)


def check_offset(path: Path, where: str, offset: str | float | None) -> None:
    """Refuse an observation whose clock does not begin with its video."""
    if offset not in (None, "", "NA") and float(offset):
        raise DataFault("time", path, where, f"time offset {offset} s; expected 0, times that begin with the video")


def media_stem(path: str) -> str:
    r"""Return the stem of a media file, whichever system its path is of.

    >>> media_stem("C:\\films\\a b.mp4"), media_stem("films/a b.mp4")
    ('a b', 'a b')
    """
    return PureWindowsPath(path).stem
