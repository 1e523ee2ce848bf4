"""The stage that turns features made elsewhere into the same stores as extraction writes."""

from __future__ import annotations

import logging
import math
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rgwot import __version__
from rgwot.config.importing import IMPORTED, ImportSettings
from rgwot.datasets.arrays import DAMAGE, ArraySource, open_array
from rgwot.features.store import CHANNELS, IMPORTER, SHARD, StoreWriter, source_facts, video_facts
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import replacing
from rgwot.runtime.progress import counted
from rgwot.timing import frame_times

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Footage:
    """The video that features belong to; its size in pixels is 0 where it is not known."""

    duration_s: float
    fps: Fraction
    width: int = 0
    height: int = 0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.duration_s) and self.duration_s > 0):
            raise RgwotError(f"duration: found {self.duration_s} s; expected a positive number of seconds")


def import_video(
    video: str | os.PathLike[str],
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    settings: ImportSettings,
    *,
    on_bad_video: Literal["fail", "skip"] = "fail",
    frames_fps: Fraction | None = None,
) -> None:
    """Write the feature store of a video that is at hand, for its length, rate and size; see `import_features`.

    Where it cannot be opened, ``on_bad_video`` is to ``fail``, or to ``skip``: write a store without frames.
    ``frames_fps`` is the rate of stored frames whose file states none.
    """
    from rgwot.video import VideoError, probe

    try:
        info = probe(Path(video), frames_fps)
    except VideoError as error:
        if on_bad_video == "fail":
            raise
        import_features(source, output, settings, None, error.reason)
    else:
        import_features(source, output, settings, Footage(info.duration_s, info.fps, info.width, info.height))


def import_features(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    settings: ImportSettings,
    footage: Footage | None,
    reason: str = "",
) -> None:
    """Write the feature store of one video from features made elsewhere.

    The source is a ``.npy``, ``.npz``, ``.h5``, ``.hdf5`` or ``.pt`` with one array of floating-point numbers, 1024
    channels; feature i stands at ``start_s + i / fps``. Memory holds 64 frames, whatever the length of the video. The
    store is a folder ``{video}.zarr``; an older one is replaced when the new one is complete. Without footage it has no
    frames, and ``reason`` says why.

    Raises RgwotError when the file cannot be read, its shape is not as stated, a value is not finite or beyond float16,
    or the number of features does not fit the duration.
    """
    source, output = Path(source), Path(output)
    with open_array(source, settings.key, output.parent) as array:
        sizes = _sizes(source, array, settings.axes)
        if footage is None:
            count, status = 0, "skipped"
        else:
            count, reason = _count(source, sizes["T"], settings, footage)
            status = "partial" if reason else "ok"
        if reason:
            logger.warning("%s: %s", source, reason)
        times = settings.start_s + frame_times(np.arange(count), Fraction(settings.fps))
        with replacing(output) as temporary:
            store = StoreWriter(temporary, times, (sizes["H"], sizes["W"]))
            for shard in counted(logger, source.name, range(-(-count // SHARD)), "shard"):
                start = shard * SHARD
                store.write(shard, _maps(source, array, settings.axes, start, min(start + SHARD, count)))
            store.finish(count, {**_described(source, array, settings), **video_facts(footage, status, reason)})


def _sizes(source: Path, array: ArraySource, axes: str) -> dict[str, int]:
    """Return the size of every axis, H and W 1 where there is no space."""
    if len(array.shape) != len(axes):
        raise RgwotError(f"{source}: shape {array.shape}; expected {len(axes)} axes, since `axes` is {axes}")
    sizes = {"H": 1, "W": 1, **dict(zip(axes, array.shape, strict=True))}
    if sizes["C"] != CHANNELS:
        raise RgwotError(
            f"{source}: {sizes['C']} channels in shape {array.shape} read as {axes}; expected {CHANNELS} (ResNet-50, "
            "conv4c); import such features, or correct `axes`"
        )
    if min(sizes.values()) == 0:
        raise RgwotError(f"{source}: shape {array.shape}; expected at least one feature")
    return sizes


def _count(source: Path, found: int, settings: ImportSettings, footage: Footage) -> tuple[int, str]:
    """Return how many features are kept, and why the video is partial (empty: it is whole)."""
    fps = Fraction(settings.fps)
    # One more or less than the quotient is a matter of rounding; a whole sample is not.
    samples = (Fraction(footage.duration_s) - Fraction(settings.start_s)) * fps
    expected = max(math.ceil(samples), 0)
    if abs(found - samples) < 1:
        return found, ""
    clause = (
        f"{found} features at {fps} per second from {settings.start_s:g} s reach to "
        f"{settings.start_s + float(found / fps):.2f} s, but the video lasts {footage.duration_s:.2f} s"
    )
    if settings.on_mismatch == "error" or not expected:
        raise RgwotError(f"{source}: {clause}; expected about {expected}; correct fps or set on_mismatch to trim")
    if found > samples:
        logger.warning("%s: %s; the last %d are dropped", source, clause, found - expected)
        return expected, ""
    return found, clause


def _maps(source: Path, array: ArraySource, axes: str, start: int, end: int) -> NDArray[np.float16]:
    """Return the maps of some frames, ``(n, 1024, h, w)``."""
    try:
        part = array.read(tuple(slice(start, end) if axis == "T" else slice(None) for axis in axes))
    except DAMAGE as error:
        raise RgwotError(f"{source}: features {start} to {end - 1} cannot be read ({error}); copy it again") from error
    part = part.transpose([axes.index(axis) for axis in "TCHW" if axis in axes])
    part = part.reshape(part.shape + (1,) * (4 - part.ndim))
    with np.errstate(over="ignore"):
        maps = part.astype(np.float16)
    wrong = ~np.isfinite(maps)
    if wrong.any():
        frame, channel, row, column = (int(index) for index in np.argwhere(wrong)[0])
        value = float(part[frame, channel, row, column])
        limit = "finite numbers" if not math.isfinite(value) else f"at most {np.finfo(np.float16).max:g} (float16)"
        raise RgwotError(
            f"{source}: {value:g} in channel {channel} of feature {start + frame}; expected {limit}; make it again"
        )
    return maps


def _described(source: Path, array: ArraySource, settings: ImportSettings) -> dict[str, Any]:
    return {
        "backbone": settings.backbone,
        "weights": settings.weights,
        "weights_sha256": "",
        "seed": None,
        "layer": IMPORTED,
        "transform": IMPORTED,
        "size": None,
        "precision": array.dtype,
        "fps": float(Fraction(settings.fps)),
        "fps_exact": settings.fps,
        "start_s": settings.start_s,
        **source_facts(source),
        "source_key": array.key,
        "source_axes": settings.axes,
        "source_shape": list(array.shape),
        "decoder": IMPORTER,
        "decoder_version": __version__,
        "rgwot_version": __version__,
    }
