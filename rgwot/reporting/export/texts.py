"""Segments as plain text: one table, labels of Audacity, subtitles."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from rgwot.reporting.export.interface import Video, clock
from rgwot.runtime.files import write_rows, write_text


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
