"""Videos kept as frames: HDF5 files with the dataset ``images``, as the CnC code writes them.

``images`` is ``(T, H, W, 3)`` uint8 in the order blue, green, red, every frame of the film squashed to one size. Such a
file states no frame rate unless somebody added the attribute ``fps``, so the rate is given next to it.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import h5py
import numpy as np

from rgwot.timing import VideoInfo, parse_rate
from rgwot.video.decode import IMAGES
from rgwot.video.probing import VideoError

SUFFIXES = frozenset({".h5", ".hdf5"})
_RATE = "fps"
_FORM = f"expected the dataset {IMAGES!r}, (T, H, W, 3) uint8, blue first"


def is_stored(path: Path) -> bool:
    """Return whether a path names a file of frames instead of a video, by its suffix."""
    return path.suffix.lower() in SUFFIXES


def may_hold_frames(path: Path) -> bool:
    """Return whether a file holds frames, or cannot be read and its probe is to say so; features hold none."""
    try:
        with h5py.File(path, "r") as file:
            return IMAGES in file
    except OSError:
        return True


def probe_stored(path: Path, frames_fps: Fraction | None) -> VideoInfo:
    """Read the facts of a file of frames, and its first and last frame.

    VideoError when it is damaged, holds no such dataset, or its rate is not known or not ``frames_fps``.
    """
    try:
        with h5py.File(path, "r") as file:
            images = _images(path, file)
            fps = _rate(path, file, images, frames_fps)
            # A copy cut short keeps its header; reading both ends notices.
            for index in (0, -1):
                images[index]
            frames, height, width, _ = images.shape
    except (OSError, KeyError) as error:
        why = str(error.args[0] if error.args else error).strip().splitlines()[0][:120]
        raise VideoError(path, f"not a readable HDF5 file ({why}); copy or write it again") from None
    return VideoInfo(float(frames / fps), fps, width, height, frames)


def _images(path: Path, file: h5py.File) -> h5py.Dataset:
    images = file.get(IMAGES)
    if images is None:
        raise VideoError(path, f"holds {', '.join(map(repr, sorted(file))) or 'nothing'}; {_FORM}; features come in "
                               "by rgwot import-features")  # fmt: skip
    if not isinstance(images, h5py.Dataset) or images.ndim != 4 or images.shape[3] != 3 or images.dtype != np.uint8:
        found = f"{images.shape} {images.dtype}" if isinstance(images, h5py.Dataset) else "a group"
        raise VideoError(path, f"{IMAGES!r} is {found}; {_FORM}")
    if images.shape[0] == 0:
        raise VideoError(path, f"{IMAGES!r} holds no frame; write the file again")
    return images


def _rate(path: Path, file: h5py.File, images: h5py.Dataset, given: Fraction | None) -> Fraction:
    found = images.attrs.get(_RATE, file.attrs.get(_RATE))
    if found is None:
        if given is None:
            raise VideoError(
                path,
                f"no frame rate in it (attribute {_RATE!r}); set frames_fps of the dataset in config.yaml to the "
                "frames per second that were stored, like 30000/1001",
            )
        return given
    try:
        stated = parse_rate(found.decode() if isinstance(found, bytes) else found)
    except ValueError:
        raise VideoError(path, f"attribute {_RATE!r} is {found!r}; expected a rate like 30 or 30000/1001") from None
    if given is not None and given != stated:
        raise VideoError(
            path, f"attribute {_RATE!r} is {stated}, frames_fps is {given}; expected the same; set frames_fps: file"
        )
    return stated
