"""A file of features made elsewhere: its size, the times of its features, and how long what it shows lasts."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rgwot.config.importing import ImportSettings
from rgwot.datasets.arrays import ArraySource, Slices, open_array
from rgwot.datasets.keypoints import open_points
from rgwot.embedding.arrays import check_beginning, unlikely_times
from rgwot.runtime.errors import RgwotError
from rgwot.timing import VideoInfo, frame_times, parse_rate, rate_of_times, short_rate


@dataclass(frozen=True)
class FileFacts:
    """What a file of features says of itself.

    Attributes
    ----------
    sizes
        Of the axes T, C, H and W; H and W are 1 for vectors.
    times
        (T,), where the file has them.
    fps
        Features per second: as stated, or of the times without breaks.
    start_s
        Time of the first feature, where there are no times.
    footage
        What stands for the video where there is none: as long as the features, or as the table of rates says.
    """

    sizes: Mapping[str, int]
    times: NDArray[np.float64] | None
    fps: Fraction
    start_s: float
    footage: VideoInfo

    @property
    def count(self) -> int:
        """Number of features."""
        return self.sizes["T"]

    def time_s(self, count: int) -> NDArray[np.float64]:
        """Return the times of the first features, (count,)."""
        if self.times is not None:
            return self.times[:count]
        return np.asarray(self.start_s + frame_times(np.arange(count), self.fps))


def measure(path: Path, array: ArraySource, settings: ImportSettings) -> FileFacts:
    """Compare an open array with what is stated of it.

    Raises RgwotError when its axes are not those stated, it is empty, has another number of channels than stated, or
    times that are not one per feature or not of the stated rate.
    """
    axes = settings.axes
    if len(array.shape) != len(axes):
        raise RgwotError(f"{path}: shape {array.shape}; expected {len(axes)} axes, since `axes` is {axes}")
    sizes = {"H": 1, "W": 1, **dict(zip(axes, array.shape, strict=True))}
    if min(sizes.values()) == 0:
        raise RgwotError(f"{path}: shape {array.shape}; expected at least one feature")
    if settings.channels not in (None, sizes["C"]):
        raise RgwotError(
            f"{path}: {sizes['C']} channels in shape {array.shape} read as {axes}; expected {settings.channels}, as "
            "`channels` says; import other features, or correct `axes`"
        )
    if settings.window is not None:
        return _of_windows(path, sizes, settings, settings.window)
    if array.times is None:
        fps, start_s = Fraction(settings.fps or 0) / settings.every, settings.start_s
        end_s = start_s + float(sizes["T"] / fps)
    elif len(array.times) != sizes["T"]:
        raise RgwotError(
            f"{path}: {len(array.times)} times and {sizes['T']} features in shape {array.shape} read as {axes}; "
            "expected one time per feature; correct `axes` or `times`"
        )
    else:
        stated = None if settings.fps is None else Fraction(settings.fps) / settings.every
        fps, start_s = rate_of_times(path, array.times, stated), 0.0
        end_s = float(array.times[-1]) + float(1 / fps)
    return FileFacts(sizes, array.times, fps, start_s, VideoInfo(end_s, Fraction(settings.native_fps or fps)))


@contextmanager
def open_features(path: Path, settings: ImportSettings) -> Iterator[ArraySource]:
    """Open the features of a file as the settings say; see `open_array` and `open_points`."""
    if settings.keypoints is not None:
        yield _thinned(open_points(path, settings.keypoints), settings)
        return
    with open_array(path, settings.key, settings.times) as array:
        yield _thinned(array, settings)


def _thinned(array: ArraySource, settings: ImportSettings) -> ArraySource:
    """Return every n-th feature of an array."""
    step, axis = settings.every, settings.axes.index("T")
    if step == 1 or len(array.shape) != len(settings.axes):
        return array
    shape = (*array.shape[:axis], -(-array.shape[axis] // step), *array.shape[axis + 1 :])

    def read(slices: Slices) -> NDArray[np.floating[Any]]:
        wide = list(slices)
        wide[axis] = slice(slices[axis].start * step, (slices[axis].stop - 1) * step + 1, step)
        return array.read(tuple(wide))

    times = None if array.times is None else array.times[::step]
    return replace(array, shape=shape, read=read, times=times)


def measure_file(path: Path, settings: ImportSettings) -> FileFacts:
    """Open a file and measure it; see `measure`."""
    with open_features(path, settings) as array:
        return measure(path, array, settings)


def in_place_of_video(path: Path, found: FileFacts) -> VideoInfo:
    """Return what stands for the video of a recording that has none (`rgwot.embedding.arrays.check_beginning`)."""
    if found.times is not None:
        check_beginning(path, found.times, found.fps)
    return found.footage


def doubted_times(found: FileFacts, settings: ImportSettings) -> str:
    """Return, in one line, why times are perhaps not seconds; empty where nothing says so, or a rate confirms them."""
    return "" if found.times is None or settings.fps is not None else unlikely_times(found.times, found.fps)


def _of_windows(path: Path, sizes: Mapping[str, int], settings: ImportSettings, window: int) -> FileFacts:
    """Measure features that stand for so many native frames each; what is left of a video has none."""
    rows = sizes["T"] * settings.every
    # The rest of a video that fills no window may be annotated; how long it is nobody says.
    longest = rows * window + window - 1
    rate, frames = native_frames(path, settings) or (Fraction(settings.native_fps or 0), longest)
    if abs(frames // window - rows) > settings.every:
        raise RgwotError(
            f"{path}: {rows} features of {window} frames, but {settings.rates} says {frames} frames; expected "
            f"{frames // window}; correct the table, or `window`"
        )
    halves = np.arange(sizes["T"]) * (2 * settings.every * window) + window
    times = frame_times(halves, 2 * rate)
    footage = VideoInfo(float(frames / rate), rate)
    return FileFacts(sizes, times, short_rate(rate / window / settings.every), 0.0, footage)


def native_frames(path: Path, settings: ImportSettings) -> tuple[Fraction, int] | None:
    """Return rate and number of the native frames of a video as the table of rates says, None without a table.

    Raises RgwotError if the table lacks a column or the video, or holds something else than numbers there.
    """
    if settings.rates is None:
        return None
    table = Path(settings.rates)
    if not table.is_file():
        raise RgwotError(f"{table}: no such file; expected rates, a CSV with the columns video, fps and frames")
    name = path.name.removesuffix(path.suffix)
    with table.open(encoding="utf-8-sig", newline="") as file:
        rows = {row.get("video"): row for row in csv.DictReader(file)}
    row = rows.get(name) or rows.get(name.removesuffix(".egoprocel.ann"))
    if row is None:
        raise RgwotError(f"{table}: no row of video {name!r} with columns video, fps and frames; add it")
    try:
        rate = parse_rate(row["fps"])
        return rate, int(row["frames"]) if row.get("frames") else round(float(row["duration_s"]) * rate)
    except (KeyError, ValueError, OverflowError):
        raise RgwotError(
            f"{table}: video {name!r}: found {row}; expected fps and frames, or duration_s, as numbers"
        ) from None
