"""Segments as plain text (a table, subtitles, an event log for process mining), and the procedure for Graphviz."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from networkx import DiGraph

from rgwot.reporting.export.interface import ExportedVideo
from rgwot.runtime.files import write_rows, write_text


def clock(seconds: float) -> str:
    """Write a time as hours, minutes, seconds and milliseconds.

    >>> clock(3723.5)
    '01:02:03.500'
    """
    ms = round(1000 * seconds)
    return f"{ms // 3_600_000:02d}:{ms // 60_000 % 60:02d}:{ms // 1000 % 60:02d}.{ms % 1000:03d}"


def export_csv(videos: Sequence[ExportedVideo], folder: Path) -> None:
    """Write ``segments.csv`` with the columns ``video``, ``start_s``, ``end_s``, ``key_step`` and ``name``."""
    rows = [(video.name, *segment) for video in videos for segment in video.segments]
    write_rows(("video", "start_s", "end_s", "key_step", "name"), rows, folder / "segments.csv")


def export_webvtt(videos: Sequence[ExportedVideo], folder: Path) -> None:
    """Write one file per video, a cue per segment; ``&``, ``<`` and ``>`` in names are escaped."""
    for video in videos:
        cues = [
            f"\n{clock(start_s)} --> {clock(end_s)}\n{html.escape(label, quote=False)}\n"
            for start_s, end_s, _, label in video.segments
        ]
        write_text("WEBVTT\n" + "".join(cues), folder / f"{video.stem}.vtt")


def export_eventlog(videos: Sequence[ExportedVideo], folder: Path) -> None:
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


def export_dot(graph: DiGraph[Any], folder: Path) -> None:
    """Write ``procedure.dot``: optional key steps are dashed, edges have the number of videos that agree."""
    lines = ["digraph procedure {", "  rankdir=LR;", "  node [shape=box, style=rounded];"]
    for node, facts in graph.nodes(data=True):
        if isinstance(node, str):
            lines.append(f"  {node} [shape=plaintext];")
            continue
        label = f"{facts['label']}\n{facts['n_videos']} of {graph.graph['n_videos']} videos"
        style = ', style="rounded,dashed"' if facts["optional"] else ""
        lines.append(f"  {node} [label={quoted(label)}{style}];")
    for before, after, facts in graph.edges(data=True):
        counted = not {"START", "END"} & {before, after}
        lines.append(f"  {before} -> {after}" + (f' [label="{facts["agree"]}/{facts["both"]}"];' if counted else ";"))
    write_text("\n".join([*lines, "}", ""]), folder / "procedure.dot")


def quoted(text: str) -> str:
    r"""Return a text as Graphviz quotes it.

    >>> print(quoted('a "b"\nc'))
    "a \"b\"\nc"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
