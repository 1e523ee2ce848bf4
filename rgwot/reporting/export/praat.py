"""TextGrids of Praat."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rgwot.reporting.export.interface import TIER, Video


def export_praat(videos: Sequence[Video], folder: Path) -> None:
    """Write one file per video with one tier of intervals; background is an empty interval, as Praat has it."""
    from pympi import TextGrid

    for video in videos:
        end = max([video.duration_s, *(segment.end_s for segment in video.segments)])
        grid = TextGrid(xmax=end)
        tier = grid.add_tier(TIER)
        for start_s, end_s, _, label in video.segments:
            if end_s > start_s:
                tier.add_interval(start_s, end_s, label.replace('"', '""'))
        grid.to_file(folder / f"{video.name}.TextGrid")
