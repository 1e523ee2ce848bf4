"""Subtitles for video players: SubRip."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rgwot.reporting.export.interface import Video, clock
from rgwot.runtime.files import write_text


def export_srt(videos: Sequence[Video], folder: Path) -> None:
    """Write one file per video, a numbered subtitle per segment."""
    for video in videos:
        blocks = [
            f"{number}\n{clock(segment.start_s, ',')} --> {clock(segment.end_s, ',')}\n{segment.label}\n"
            for number, segment in enumerate(video.segments, 1)
        ]
        write_text("\n".join(blocks), folder / f"{video.name}.srt")
