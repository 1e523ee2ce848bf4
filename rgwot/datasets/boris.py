"""Annotations by BORIS: projects (``.boris``, JSON, possibly packed) and tables of events.

State events come in pairs; time that no pair covers is background. The video is the media file or, without one, has the
name of the observation.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rgwot.datasets.annotation_tables import HEADER_LINES, records
from rgwot.datasets.segment_rows import SegmentRow, check_offset, media_stem, read_seconds
from rgwot.datasets.settings import Options
from rgwot.datasets.text import LARGEST_TEXT, DataFault, decode_text, read_bytes, read_lines
from rgwot.runtime.csv_files import text_of

#: Exports add this to the names of behaviours with point events: a behaviour in BORIS has only one kind of events.
POINT = " (mark)"
#: Beginning of the BORIS behaviours that say how a video deviates; these are not labels.
DEVIATION = "deviation: "
START, STOP = "Start (s)", "Stop (s)"
#: A column in the header of a table of many observations.
MANY = "Observation id"


class _StateEvent(NamedTuple):
    """A state event: its place in the file, time, subject, behaviour and modifiers; START or STOP, if the file says."""

    where: str
    time_s: float
    subject: str
    code: str
    modifiers: str
    kind: str = ""


def is_boris(head: str) -> bool:
    """Return whether a file begins like a BORIS project, packed or not, or an exported table of any version."""
    table = "Behavior" in head and (MANY in head or "Media file path" in head)
    return head.startswith("\x1f") or head.lstrip().startswith("{") or table


def read_boris(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read a BORIS project, a table with an interval per row, or a table with a start or stop per row."""
    if path.suffix.lower() in (".boris", ".gz"):
        return read_project(path, options)
    header = "\n".join(line.text for line in read_lines(path)[:HEADER_LINES])
    return (read_aggregated if START in header and STOP in header else read_tabular)(path, options)


def read_project(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read all observations; the video is the file in the first player."""
    project = read_json(path)
    points = {
        behaviour["code"] for behaviour in project["behaviors_conf"].values() if behaviour["type"].startswith("Point")
    }
    videos: dict[str, str] = {}
    for name, observation in project["observations"].items():
        where = f"observation {name!r}"
        media = (observation.get("file") or {}).get("1") or []
        if len(media) > 1:
            raise DataFault(
                "media", path, where, f"{len(media)} media files in sequence; expected one; code each video separately"
            )
        offsets = (observation.get("media_info") or {}).get("offset") or {}
        # The file may be named like a video in another player.
        players = (observation.get("file") or {}).items()
        mine = [number for number, names in players if path.stem in map(media_stem, names or [])]
        for offset in (observation.get("time offset"), *(offsets.get(number) for number in ("1", *mine))):
            check_offset(path, where, offset)
        video = media_stem(media[0]) if media else text_of(name)
        if (other := videos.setdefault(video, name)) != name:
            raise _observed_twice(path, where, video, other)
        events = []
        for time, subject, code, modifiers, *_ in observation["events"]:
            if time == "NA":
                raise DataFault("media", path, where, "codes pictures, which have no times; expected a video")
            event = _StateEvent(f"{where} at {time} s", float(time), subject, text_of(code), modifiers)
            if not event.code.startswith(DEVIATION):
                events += _ends(event) if code in points else [event]
        yield from _paired(path, video, events)


def read_aggregated(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read a table with an interval or point event per row."""
    for where, row, video in _of_videos(path):
        if row["Behavior"].startswith(DEVIATION):
            continue
        start_s, stop_s = (read_seconds(path, where, row[column]) for column in (START, STOP))
        label = row["Behavior"].removesuffix(POINT) if start_s == stop_s else row["Behavior"]
        yield SegmentRow(video, start_s, stop_s, label, where)


def read_tabular(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read a table with a start or stop per row."""
    events: dict[str, list[_StateEvent]] = defaultdict(list)
    for where, row, video in _of_videos(path):
        if row["Behavior"].startswith(DEVIATION):
            continue
        kind = row.get("Behavior type") or row["Status"]
        modifiers = "|".join(row[column] for column in row if column.startswith("Modifier"))
        event = _StateEvent(where, read_seconds(path, where, row["Time"]), row["Subject"], row["Behavior"], modifiers)
        kind = kind.upper()
        events[video] += _ends(event) if kind == "POINT" else [event._replace(kind=kind)]
    for video, events_here in events.items():
        yield from _paired(path, video, events_here)


def _ends(point: _StateEvent) -> list[_StateEvent]:
    """Return a point event as the start and the end of its step, at the same time."""
    return [point._replace(code=point.code.removesuffix(POINT))] * 2


def _paired(path: Path, video: str, events: Iterable[_StateEvent]) -> Iterator[SegmentRow]:
    """Yield segments; events with the same subject, behaviour and modifiers start and stop a segment in turn."""
    behaviours: dict[tuple[str, ...], list[_StateEvent]] = defaultdict(list)
    for event in sorted(events, key=lambda event: event.time_s):
        behaviours[event[2:5]].append(event)
    segments: list[SegmentRow] = []
    for waiting in behaviours.values():
        start: _StateEvent | None = None
        while waiting:
            expected = "START" if start is None else "STOP"
            # Among events at the same time, an event that continues the alternation of START and STOP comes first.
            now = [at for at, event in enumerate(waiting) if event.time_s == waiting[0].time_s]
            event = waiting.pop(next((at for at in now if waiting[at].kind in ("", expected)), 0))
            if event.kind not in ("", expected):
                since = f"has run since {start.time_s:g} s ({start.where})" if start else "does not run"
                raise DataFault(
                    "pairing", path, event.where,
                    f"{event.kind} of {event.code!r}, which {since}; expected START and STOP in turn; correct them",
                )  # fmt: skip
            if start is None:
                start = event
            else:
                segments.append(SegmentRow(video, start.time_s, event.time_s, event.code, start.where))
                start = None
        if start is not None:
            raise DataFault(
                "pairing", path, start.where, f"{start.code!r} starts and never stops; expected a second event; add it"
            )
    yield from sorted(segments, key=lambda row: row.start_s)


def _of_videos(path: Path) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield the rows of a BORIS table with their places and videos; columns differ between versions.

    Before version 8, a table with a start or stop per row begins with lines about its only observation.
    """
    table, videos, observed = list(records(path, "Behavior")), dict[str, str](), dict[str, str]()
    if table and not any(column in table[0][1] for column in ("Time", START)):
        where = table[0][0]
        raise DataFault("time", path, where, "codes pictures, which have no times; expected codes of a video")
    for where, row in table:
        name, media = row.get("Observation id", path.stem), _media(row)
        if media and videos.setdefault(name, media) != media:
            fault = f"{videos[name]!r} and {media!r} in sequence in observation {name!r}"
            raise DataFault("media", path, where, f"{fault}; expected one media file; code each video separately")
    for where, row in table:
        check_offset(path, where, row.get("Time offset (s)"))
        name = row.get("Observation id", path.stem)
        video = videos.get(name, name)
        if (other := observed.setdefault(video, name)) != name:
            raise _observed_twice(path, where, video, other)
        yield where, row, video


def _observed_twice(path: Path, where: str, video: str, other: str) -> DataFault:
    return DataFault(
        "media", path, where,
        f"is of {video!r}, like observation {other!r}; expected one observation per video; if two people coded it, "
        "export the observations of each into a file of their own",
    )  # fmt: skip


def _media(row: dict[str, str]) -> str:
    """Return the stem of the media file of a row, empty if BORIS had none or did not find it."""
    media = row.get("Media file name") or row.get("Media file path") or row.get("Media file") or "NA"
    # A file in several players is listed once per player.
    stems = {media_stem(part) for part in media.split(";")}
    return "" if media.lower() in ("na", "not found") else stems.pop() if len(stems) == 1 else media_stem(media)


def read_json(path: Path) -> Any:
    """Read JSON, packed by gzip or not."""
    content = read_bytes(path)
    if path.suffix.lower() == ".gz":
        with gzip.open(path) as file:
            content = file.read(LARGEST_TEXT + 1)
    if len(content) > LARGEST_TEXT:
        raise ValueError(f"unpacks to more than {LARGEST_TEXT} bytes")
    return json.loads(decode_text(path, content))
