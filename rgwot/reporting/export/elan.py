"""Annotations of ELAN, the annotation tool of the Max Planck Institute for Psycholinguistics."""

from __future__ import annotations

import math
import mimetypes
from collections.abc import Sequence
from pathlib import Path

from rgwot.reporting.export.interface import TIER, Video


def export_elan(videos: Sequence[Video], folder: Path) -> None:
    """Write one file per video with a tier of key steps, times in whole milliseconds as ELAN has them."""
    from pympi import Eaf

    for video in videos:
        document = Eaf(author="rgwot")
        document.remove_tier("default")
        document.add_tier(TIER)
        # Features without videos are no medium that ELAN could play.
        if not math.isnan(video.size[0]):
            kind = mimetypes.guess_type(video.path.name)[0] or "video/mp4"
            document.add_linked_file(video.path.as_posix(), relpath=f"./{video.path.name}", mimetype=kind)
        for start_s, end_s, _, label in video.segments:
            start, end = round(1000 * start_s), round(1000 * end_s)
            if end > start:
                document.add_annotation(TIER, start, end, label)
        document.to_file(folder / f"{video.name}.eaf")
