"""One table of the segments of all videos, with names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rgwot.reporting.export.interface import Video
from rgwot.runtime.files import write_rows


def export_csv(videos: Sequence[Video], folder: Path) -> None:
    """Write ``segments.csv`` with the columns ``video``, ``start_s``, ``end_s``, ``key_step`` and ``name``."""
    rows = [(video.name, *segment) for video in videos for segment in video.segments]
    write_rows(("video", "start_s", "end_s", "key_step", "name"), rows, folder / "segments.csv")
