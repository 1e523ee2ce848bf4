"""Subtitles for a browser: WebVTT."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from rgwot.reporting.export.interface import Video, clock
from rgwot.runtime.files import write_text


def export_webvtt(videos: Sequence[Video], folder: Path) -> None:
    """Write one file per video, a cue per segment; ``&``, ``<`` and ``>`` in names are escaped."""
    for video in videos:
        cues = [
            f"\n{clock(start_s)} --> {clock(end_s)}\n{html.escape(label, quote=False)}\n"
            for start_s, end_s, _, label in video.segments
        ]
        write_text("WEBVTT\n" + "".join(cues), folder / f"{video.name}.vtt")
