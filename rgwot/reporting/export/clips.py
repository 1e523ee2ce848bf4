"""Export of a clip per segment, and a sheet of pictures per key step."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from PIL import Image

from rgwot.reporting.export import ExportedVideo
from rgwot.reporting.page.pictures import as_jpeg, read_pictures
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.progress import with_progress
from rgwot.video.frames import cut
from rgwot.video.probing import is_stored

log = logging.getLogger(__name__)

#: Largest number of pictures on a key step's sheet, pictures per row, and their height in pixels.
PICTURES, COLUMNS, HEIGHT = 40, 8, 120
CLIP_QUALITY = 85


def export_clips(videos: Sequence[ExportedVideo], folder: Path) -> None:
    """Write ``key_step_03/VIDEO_0012.300.mp4`` for every segment, and ``key_step_03.jpg``.

    The names of clips of segments that do not count as their key step end in ``_uncounted.mp4``.

    Raises
    ------
    RgwotError
        If a video does not exist.
    """
    for path, filmed in ((video.path, video.filmed) for video in videos):
        if filmed and not path.is_file():
            raise RgwotError(f"{path}: no such video; give the folder of the dataset's videos with --root")
        if not filmed or is_stored(path):
            what = "frames stored one by one" if filmed else "features without a video"
            raise RgwotError(f"{path}: found {what}, expected videos to cut clips from")
    segments = [(video, segment) for video in videos for segment in video.segments]
    for video, segment in with_progress(log, "cut clips", segments, "clip"):
        start_s, end_s, key_step = segment[:3]
        place = folder / f"key_step_{key_step:02d}"
        place.mkdir(exist_ok=True)
        span = start_s - video.start_s, end_s - video.start_s
        note = "_uncounted" if segment.note else ""
        if not cut(video.path, *span, place / f"{video.stem}_{start_s:08.3f}{note}.mp4"):
            log.warning(
                "%s: no frame from %g to %g s can be decoded, so this segment gets no clip", video.path, start_s, end_s
            )
    occurring = sorted({segment.key_step for _, segment in segments})
    for key_step in with_progress(log, "sheets", occurring, "key step"):
        _sheet(videos, key_step, folder / f"key_step_{key_step:02d}.jpg")


def _sheet(videos: Sequence[ExportedVideo], key_step: int, output: Path) -> None:
    """Write the middle frames of a key step's segments as one picture, evenly chosen if there are many."""
    middles = [
        (video, (segment.start_s + segment.end_s) / 2 - video.start_s)
        for video in videos
        for segment in video.segments
        if segment.key_step == key_step
    ]
    chosen = [middles[at] for at in np.unique(np.linspace(0, len(middles) - 1, PICTURES).round().astype(int))]
    pictures = []
    for video in videos:
        times = [time for shown_video, time in chosen if shown_video is video]
        if times:
            size = {"width": video.size[0], "height": video.size[1]}
            row = {"path": video.path.name, **size, "fps": Fraction(video.fps).limit_denominator(1001)}
            pictures += read_pictures(row, video.path.parent, times, HEIGHT)
    width = max(picture.width for picture in pictures)
    rows = -(-len(pictures) // COLUMNS)
    sheet = Image.new("RGB", (min(len(pictures), COLUMNS) * width, rows * HEIGHT), "white")
    for at, picture in enumerate(pictures):
        sheet.paste(picture, (at % COLUMNS * width, at // COLUMNS * HEIGHT))
    output.write_bytes(as_jpeg(sheet, CLIP_QUALITY))
