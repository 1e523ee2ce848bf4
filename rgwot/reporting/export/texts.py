"""Segments as plain text, transitions between key steps, and event logs for process mining."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise
from pathlib import Path
from xml.etree import ElementTree

from rgwot import __version__
from rgwot.reporting.export.interface import Video
from rgwot.runtime.files import write_rows, write_text


def clock(seconds: float, point: str = ".") -> str:
    """Write a time as hours, minutes, seconds and milliseconds.

    >>> clock(3723.5)
    '01:02:03.500'
    """
    ms = round(1000 * seconds)
    return f"{ms // 3_600_000:02d}:{ms // 60_000 % 60:02d}:{ms // 1000 % 60:02d}{point}{ms % 1000:03d}"


def export_csv(videos: Sequence[Video], folder: Path) -> None:
    """Write ``segments.csv`` with the columns ``video``, ``start_s``, ``end_s``, ``key_step`` and ``name``."""
    rows = [(video.name, *segment) for video in videos for segment in video.segments]
    write_rows(("video", "start_s", "end_s", "key_step", "name"), rows, folder / "segments.csv")


def export_audacity(videos: Sequence[Video], folder: Path) -> None:
    """Write one file per video; names of key steps have no tabs."""
    for video in videos:
        lines = [f"{start_s:.6f}\t{end_s:.6f}\t{label}\n" for start_s, end_s, _, label in video.segments]
        write_text("".join(lines), folder / f"{video.stem}.txt")


def export_webvtt(videos: Sequence[Video], folder: Path) -> None:
    """Write one file per video, a cue per segment; ``&``, ``<`` and ``>`` in names are escaped."""
    for video in videos:
        cues = [
            f"\n{clock(start_s)} --> {clock(end_s)}\n{html.escape(label, quote=False)}\n"
            for start_s, end_s, _, label in video.segments
        ]
        write_text("WEBVTT\n" + "".join(cues), folder / f"{video.stem}.vtt")


def export_srt(videos: Sequence[Video], folder: Path) -> None:
    """Write one file per video, a numbered subtitle per segment."""
    for video in videos:
        blocks = [
            f"{number}\n{clock(segment.start_s, ',')} --> {clock(segment.end_s, ',')}\n{segment.label}\n"
            for number, segment in enumerate(video.segments, 1)
        ]
        write_text("\n".join(blocks), folder / f"{video.stem}.srt")


def transitions(videos: Sequence[Video]) -> Counter[tuple[str, str]]:
    """Count, over all videos, how often a segment of one key step is followed by one of another.

    Background between them does not count, nor does a step that goes on after it. A video begins at ``start`` and
    finishes at ``end``.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for video in videos:
        changed = [label for label, _ in groupby(segment.label for segment in video.segments)]
        counts.update(pairwise(["start", *changed, "end"]) if changed else ())
    return counts


def export_transitions(videos: Sequence[Video], folder: Path) -> None:
    """Write ``transitions.csv`` (``from``, ``to``, ``count``, ``share`` of what follows)."""
    counts = transitions(videos)
    leaving = Counter(first for first, _ in counts.elements())
    rows = [(*pair, count, round(count / leaving[pair[0]], 4)) for pair, count in counts.most_common()]
    write_rows(("from", "to", "count", "share"), rows, folder / "transitions.csv")


def export_eventlog(videos: Sequence[Video], folder: Path) -> None:
    """Write ``eventlog.csv``: a case is a video, an event a segment of a key step, with its begin and its end."""
    rows = [
        (video.name, label, timestamp(start_s), timestamp(end_s), key_step)
        for video in videos
        for start_s, end_s, key_step, label in video.segments
    ]
    columns = ("case:concept:name", "concept:name", "start_timestamp", "time:timestamp", "key_step")
    write_rows(columns, rows, folder / "eventlog.csv")


def timestamp(seconds: float) -> str:
    """Return the time of a video as a date with milliseconds: every video begins with the year 1970.

    >>> timestamp(65.5)
    '1970-01-01T00:01:05.500+00:00'
    """
    begin = datetime(1970, 1, 1, tzinfo=UTC)
    return (begin + timedelta(milliseconds=round(1000 * seconds))).isoformat(timespec="milliseconds")


NAMESPACE = "http://www.xes-standard.org/"
EXTENSIONS = {"Concept": "concept", "Lifecycle": "lifecycle", "Time": "time"}
#: Attributes that every trace and every event has, with the values that stand for none.
GLOBALS = {
    "trace": (("string", "concept:name", "UNKNOWN"),),
    "event": (
        ("string", "concept:name", "UNKNOWN"),
        ("string", "lifecycle:transition", "complete"),
        ("date", "time:timestamp", timestamp(0)),
        ("int", "key_step", "0"),
    ),
}


def export_xes(videos: Sequence[Video], folder: Path) -> None:
    """Write ``eventlog.xes``: a trace per video; every segment of a key step starts and completes."""
    log = ElementTree.Element("log", {"xes.version": "1849.2016", "xes.features": "", "xmlns": NAMESPACE})
    for name, prefix in EXTENSIONS.items():
        address = f"{NAMESPACE}{prefix}.xesext"
        ElementTree.SubElement(log, "extension", {"name": name, "prefix": prefix, "uri": address})
    for scope, attributes in GLOBALS.items():
        _with(ElementTree.SubElement(log, "global", {"scope": scope}), *attributes)
    ElementTree.SubElement(log, "classifier", {"name": "Key step", "scope": "event", "keys": "concept:name"})
    both = {"name": "Key step and transition", "scope": "event", "keys": "concept:name lifecycle:transition"}
    ElementTree.SubElement(log, "classifier", both)
    _with(log, ("string", "concept:name", "key steps"), ("string", "creator", f"rgwot {__version__}"))
    for video in videos:
        trace = ElementTree.SubElement(log, "trace")
        _with(trace, ("string", "concept:name", video.name))
        moments = [
            (time_s, transition, segment)
            for segment in video.segments
            for time_s, transition in ((segment.start_s, "start"), (segment.end_s, "complete"))
        ]
        # What ends at a moment is complete before another starts.
        for time_s, transition, segment in sorted(moments, key=lambda one: (one[0], one[1], one[2].start_s)):
            _with(
                ElementTree.SubElement(trace, "event"),
                ("string", "concept:name", segment.label),
                ("string", "lifecycle:transition", transition),
                ("date", "time:timestamp", timestamp(time_s)),
                ("int", "key_step", str(segment.key_step)),
            )
    ElementTree.indent(log)
    ElementTree.ElementTree(log).write(folder / "eventlog.xes", encoding="utf-8", xml_declaration=True)


def _with(element: ElementTree.Element, *attributes: tuple[str, str, str]) -> None:
    for kind, key, value in attributes:
        ElementTree.SubElement(element, kind, {"key": key, "value": value})
