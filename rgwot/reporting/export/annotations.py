"""Annotations of ELAN and Praat."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Sequence
from pathlib import Path

from rgwot.datasets.doors.rows import TIER
from rgwot.reporting.export.interface import Video, key_steps_of
from rgwot.runtime.optional import optional


def export_elan(videos: Sequence[Video], folder: Path) -> None:
    """Write one file per video with a tier of key steps, times in whole milliseconds as ELAN has them.

    The names of all key steps are the tier's controlled vocabulary, so that ELAN offers them for a correction.
    """
    pympi = optional("pympi", "format elan", "pip install pympi-ling")
    names = sorted(set(key_steps_of(videos).values()))
    for video in videos:
        document = pympi.Eaf(author="rgwot")
        document.remove_tier("default")
        document.add_language("und", "http://cdb.iso.org/lg/CDB-00130975-001", "undetermined (und)")
        document.add_controlled_vocabulary(TIER)
        for number, name in enumerate(names):
            document.add_cv_entry(TIER, f"cveid{number}", [(name, "und", None)])
        document.add_linguistic_type(TIER)
        document.linguistic_types[TIER]["CONTROLLED_VOCABULARY_REF"] = TIER
        document.add_tier(TIER, ling=TIER)
        # Features without videos are no medium that ELAN could play.
        if video.filmed:
            kind = mimetypes.guess_type(video.path.name)[0] or "video/mp4"
            document.add_linked_file(*_addresses(video.path, folder), mimetype=kind)
        for start_s, end_s, _, label in video.segments:
            start, end = round(1000 * start_s), round(1000 * end_s)
            if end > start:
                document.add_annotation(TIER, start, end, label)
        document.to_file(folder / f"{video.stem}.eaf")


def _addresses(path: Path, folder: Path) -> tuple[str, str]:
    """Return where ELAN looks for a video, and where it looks next: from the folder of its own file.

    ELAN does not encode what stands in an address. Where the folder of the videos is not known, the file is expected
    beside the video.
    """
    if not path.is_absolute():
        return path.as_posix(), f"./{path.name}"
    between = Path(os.path.relpath(path, folder)).as_posix()
    return f"file://{'' if path.as_posix().startswith('/') else '/'}{path.as_posix()}", f"./{between}"


def export_praat(videos: Sequence[Video], folder: Path) -> None:
    """Write one file per video with one tier of intervals; background is an empty interval, as Praat has it."""
    pympi = optional("pympi", "format praat", "pip install pympi-ling")
    for video in videos:
        end = max([video.duration_s, *(segment.end_s for segment in video.segments)])
        grid = pympi.TextGrid(xmax=end)
        tier = grid.add_tier(TIER)
        for start_s, end_s, _, label in video.segments:
            if end_s > start_s:
                tier.add_interval(start_s, end_s, label)
        grid.to_file(folder / f"{video.stem}.TextGrid")
