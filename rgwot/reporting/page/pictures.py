"""Small pictures of videos: the strip of a whole video, and single frames."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from rgwot.records import read_manifest
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.progress import with_progress
from rgwot.runtime.provenance import own_folder

log = logging.getLogger(__name__)

#: Pictures of a strip; as many as frames of an alignment, so that both show the same.
STRIP_FRAMES = 32
STRIP_HEIGHT = 72
STRIP_QUALITY = 60
FRAME_HEIGHT = 120
FRAME_QUALITY = 75
# A panorama would make a strip of 32 pictures too wide for a JPEG, a portrait one too narrow to see.
_ASPECTS = (0.5, 2.4)


def strip_times(duration_s: float) -> NDArray[np.float64]:
    """Return the times (32,) of a strip's pictures in seconds: the middles of 32 equal parts."""
    return (np.arange(STRIP_FRAMES) + 0.5) / STRIP_FRAMES * duration_s


def has_pictures(width: Any) -> bool:
    """Whether there is a video behind a row of the manifest: features without one have a width of 0."""
    return bool(pd.isna(width)) or bool(width != 0)


def shown_aspect(width: Any, height: Any) -> float:
    """Return width over height of a picture as it is shown; 4:3 where the size is not known."""
    known = pd.notna(width) and pd.notna(height) and width > 0 and height > 0
    return float(np.clip(width / height if known else 4 / 3, *_ASPECTS))


def read_pictures(row: Mapping[Any, Any], root: Path, times: Sequence[float], height: int) -> list[Image.Image]:
    """Return the frames of a video (a row of the manifest) shown at increasing times in seconds, in its own aspect.

    Those that decode, that is; a video of which none does is a `VideoError`.
    """
    from rgwot.video import FrameReader

    width = max(1, round(shown_aspect(row["width"], row["height"]) * height))
    # Readers squash frames to a square: one of the longer side keeps all that is shown.
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

    A video that no longer decodes has none, with a warning, nor have features without a video: the page can do without.
    The folder is replaced as a whole.
    """
    manifest = read_manifest(Path(manifest_csv))
    videos = manifest[(manifest["status"] != "skipped") & manifest["width"].map(has_pictures)]
    if len(videos) < len(manifest):
        log.info("%s: %d of %d videos have pictures", output_dir, len(videos), len(manifest))
    with own_folder(output_dir, "strips") as folder, ThreadPoolExecutor(max(1, jobs)) as pool:
        pending = [pool.submit(_write_strip, folder, Path(root), row) for row in videos.to_dict("records")]
        for done in with_progress(log, f"strips {output_dir}", pending, unit="video"):
            done.result()


def _write_strip(folder: Path, root: Path, row: Mapping[Any, Any]) -> None:
    try:
        pictures = read_pictures(row, root, strip_times(float(row["duration_s"])).tolist(), STRIP_HEIGHT)
    except RgwotError as error:
        log.warning("%s; shown without pictures", error)
        return
    width = pictures[0].width
    # What did not decode stays grey.
    strip = Image.new("RGB", (STRIP_FRAMES * width, STRIP_HEIGHT), (128, 128, 128))
    for place, picture in enumerate(pictures):
        strip.paste(picture, (place * width, 0))
    (folder / f"{row['video']}.jpg").write_bytes(as_jpeg(strip, STRIP_QUALITY))
