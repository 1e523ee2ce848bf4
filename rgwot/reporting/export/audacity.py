"""Text labels as Audacity imports them: start, end and name, separated by tabs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rgwot.reporting.export.interface import Video
from rgwot.runtime.files import write_text


def export_audacity(videos: Sequence[Video], folder: Path) -> None:
    """Write one file per video; names of key steps have no tabs."""
    for video in videos:
        lines = [f"{start_s:.6f}\t{end_s:.6f}\t{label}\n" for start_s, end_s, _, label in video.segments]
        write_text("".join(lines), folder / f"{video.name}.txt")
