"""Small pictures of videos: thumbnail strips of whole videos, and single frames."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rgwot.records import read_manifest
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.progress import with_progress
from rgwot.runtime.provenance import own_folder

if TYPE_CHECKING:
    from PIL import Image

log = logging.getLogger(__name__)

#: Number of pictures in a strip.
STRIP_FRAMES = 32
STRIP_HEIGHT = 72
STRIP_QUALITY = 60
FRAME_HEIGHT = 120
FRAME_QUALITY = 75
# Limits of width / height: a strip of 32 pictures of a panorama would be too wide for a JPEG, and pictures in a tall
# format would be too narrow to see.
_ASPECTS = (0.5, 2.4)


def strip_times(duration_s: float) -> NDArray[np.float64]:
    """Return the times (32,) of a strip's pictures in seconds: the middles of 32 equal parts."""
    return (np.arange(STRIP_FRAMES) + 0.5) / STRIP_FRAMES * duration_s


def has_pictures(width: Any) -> bool:
    """Return whether a row of the manifest is of a video; features without a video have width 0."""
    return bool(pd.isna(width)) or bool(width != 0)


def shown_aspect(width: Any, height: Any) -> float:
    """Return the displayed aspect ratio (width over height) of a picture, 4:3 if its size is unknown."""
    has_size = pd.notna(width) and pd.notna(height) and width > 0 and height > 0
    return float(np.clip(width / height if has_size else 4 / 3, *_ASPECTS))


def read_pictures(row: Mapping[Any, Any], root: Path, times: Sequence[float], height: int) -> list[Image.Image]:
    """Return the frames of a video (a row of the manifest) at increasing times in seconds, in its aspect ratio.

    Frames that cannot be decoded are left out; if none can be decoded, `VideoError` is raised.
    """
    from PIL import Image

    from rgwot.video import FrameReader

    width = max(1, round(shown_aspect(row["width"], row["height"]) * height))
    # Readers resize frames to a square; if its side is the longer side of the picture, no detail is lost.
    side, video = max(width, height), root / str(row["path"])
    with FrameReader(video, np.asarray(times), side, threads=1, frames_fps=row["fps"]) as reader:
        frames = [Image.fromarray(frame) for _, batch in reader for frame in batch]
    return [frame.resize((width, height), Image.Resampling.BILINEAR) for frame in frames]


def as_jpeg(picture: Image.Image, quality: int) -> bytes:
    """Return a picture as JPEG."""
    written = io.BytesIO()
    picture.save(written, "JPEG", quality=quality, optimize=True)
    return written.getvalue()


def write_strips(
    manifest_csv: str | os.PathLike[str],
    root: str | os.PathLike[str],
    output_dir: str | os.PathLike[str],
    jobs: int = 1,
) -> None:
    """Write one strip of pictures per video of a task, ``{video}.jpg``.

    Videos that can no longer be decoded get no strip, with a warning, and neither do features without a video.
    An existing folder is replaced as a whole.
    """
    manifest = read_manifest(Path(manifest_csv))
    videos = manifest[(manifest["status"] != "skipped") & manifest["width"].map(has_pictures)]
    if len(videos) < len(manifest):
        log.info("%s: %d of %d videos have pictures", output_dir, len(videos), len(manifest))
    with own_folder(output_dir, "strips") as folder, ThreadPoolExecutor(max(1, jobs)) as pool:
        pending = [pool.submit(_write_strip, folder, Path(root), row) for row in videos.to_dict("records")]
        for done in with_progress(log, "pictures for the page", pending, unit="video"):
            done.result()


def _write_strip(folder: Path, root: Path, row: Mapping[Any, Any]) -> None:
    from PIL import Image

    try:
        pictures = read_pictures(row, root, strip_times(float(row["duration_s"])).tolist(), STRIP_HEIGHT)
    except RgwotError as error:
        log.warning("%s; the page shows this video without pictures", error)
        return
    width = pictures[0].width
    # Pictures that could not be decoded stay grey.
    strip = Image.new("RGB", (STRIP_FRAMES * width, STRIP_HEIGHT), (128, 128, 128))
    for place, picture in enumerate(pictures):
        strip.paste(picture, (place * width, 0))
    (folder / f"{row['video']}.jpg").write_bytes(as_jpeg(strip, STRIP_QUALITY))
