"""Features as arrays: checks, the type to store them in, and how far the scales of channels differ.

In imported features, a channel may outweigh all others, or vary by less than the rounding error of float16.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rgwot.runtime.errors import RgwotError

LATE_SHARE, LATE_S = 0.1, 5.0
"""A recording without a video may begin late by this share of its length, or by this many seconds."""

STEP_S, SPAN_S = 10.0, 86400.0
"""Longest time between two features, and longest recording: larger times are probably not in seconds."""

MOST_UNEVEN, MANY_SLOW, MANY_COUNTED = 1.5, 1000, 10_000
"""Times are also doubted if `MANY_SLOW` or more features have less than one per second, or if they are whole numbers in
nearly equal steps (the longest at most `MOST_UNEVEN` times the shortest) with less than one feature per second, or with
one per second for `MANY_COUNTED` or more features."""

SCALES = 1000.0
"""A warning is given if the ratio of the largest to the smallest scale is at least this."""

TYPE_ROUNDING: Mapping[str, float] = {"float16": 2.0**-11, "float32": 2.0**-20}
"""By the type in which features are stored: a channel that varies by less, relative to its size, is constant.

For float16, this is the rounding error; for float32, it is 16 times the rounding error, by which a constant varies
after a few operations.
"""

LARGEST_VALUE: Mapping[str, float] = {"float16": float(np.finfo(np.float16).max), "float32": 1e15}
"""Largest allowed magnitude by type; squares of float32 are summed in float32."""


def resolution(squares: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """Return the standard deviation up to which channels count as constant, from their mean squares (C,) in a video."""
    rounding = TYPE_ROUNDING[dtype]
    return np.asarray(rounding * np.maximum(np.sqrt(squares), rounding * np.sqrt(squares.mean())))


class Spread:
    """Mean and standard deviation of every channel, from blocks of features (n, C, h, w) of a type."""

    def __init__(self, dtype: str = "float16") -> None:
        self._rounding = TYPE_ROUNDING[dtype]
        self._count = 0
        self._sums: Any = 0.0
        self._squares: Any = 0.0

    def add(self, block: NDArray[np.floating]) -> None:
        """Take in more features of the same channels."""
        values = np.moveaxis(np.asarray(block, dtype=np.float64), 1, -1).reshape(-1, block.shape[1])
        self._count += len(values)
        self._sums = self._sums + values.sum(axis=0)
        self._squares = self._squares + np.square(values).sum(axis=0)

    @property
    def ratio(self) -> float:
        """Largest standard deviation of a channel divided by the smallest, among those that vary; 1 if none does."""
        if not self._count:
            return 1.0
        deviations, squares = self.deviations()
        varying = deviations[deviations > self._rounding * np.sqrt(squares)]
        return float(varying.max() / varying.min()) if varying.size else 1.0

    def deviations(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return standard deviation and mean square of every channel, (C,) each."""
        squares = self._squares / self._count
        return np.sqrt(np.maximum(squares - np.square(self._sums / self._count), 0)), squares


def usual_ratio(ratios: Iterable[float | None]) -> float | None:
    """Return the median ratio of scales over the videos of a task, or None if no video has one."""
    measured = [ratio for ratio in ratios if ratio is not None]
    return float(np.median(measured)) if measured else None


def scales_differ(ratio: float) -> str:
    """Return a warning if scales differ by at least the factor `SCALES`, otherwise an empty text."""
    if ratio < SCALES:
        return ""
    return (
        f"scales of the channels differ by a factor of {ratio:,.0f}, expected less than {SCALES:,.0f}: the largest "
        "outweigh all others; bring channels to one scale, or take whitened features"
    )


def checked_as(where: object, part: NDArray[np.floating], dtype: str, start: int = 0) -> NDArray[np.floating[Any]]:
    """Convert maps (n, C, h, w), whose first is sample ``start``; raise RgwotError for unsuitable values."""
    with np.errstate(over="ignore"):
        maps = part.astype(dtype)
    # The comparison is written so that NaN fails, too.
    wrong = ~(np.abs(maps) <= LARGEST_VALUE[dtype])
    if wrong.any():
        frame, channel, row, column = (int(index) for index in np.argwhere(wrong)[0])
        value = float(part[frame, channel, row, column])
        limit = "finite numbers" if not math.isfinite(value) else f"at most {LARGEST_VALUE[dtype]:g} ({dtype})"
        raise RgwotError(
            f"{where}: {value:g} at sample {start + frame}, channel {channel}; expected {limit}; correct it or "
            "leave the sample out"
        )
    return maps


def check_beginning(where: object, times: NDArray[np.float64], fps: Fraction) -> None:
    """Raise RgwotError if the times of a recording without a video do not start near 0.

    The time before the first feature would become a part of the first step. Times are not shifted here, because the
    annotations have the same clock.
    """
    first, span = float(times[0]), float(times[-1] - times[0])
    if first - float(1 / fps) > max(LATE_SHARE * span, LATE_S):
        raise RgwotError(
            f"{where}: times: found {first:.12g} to {times[-1]:.12g} s for features without a video, expected "
            "seconds from the beginning of the recording; subtract the first time from all times, also of annotations"
        )


def unlikely_times(times: NDArray[np.float64], fps: Fraction) -> str:
    """Return a line on why times without a stated rate are probably not seconds, or an empty text."""
    steps = np.diff(times)
    # Pauses are excluded; they are reported separately.
    span = float(np.median(steps)) * len(steps)
    # Clocks of sensors count whole milliseconds, in nearly equal steps of more than one.
    counted = fps < 1 or (fps == 1 and len(times) >= MANY_COUNTED)
    counted = counted and bool((times == np.round(times)).all()) and bool(steps.max() <= MOST_UNEVEN * steps.min())
    if 1 / fps <= STEP_S and span <= SPAN_S and not counted and not (fps < 1 and len(times) >= MANY_SLOW):
        return ""
    return (
        f"times: {float(fps):g} features per second over {span / 3600:,.1f} hours, expected seconds; are these "
        "milliseconds? then divide by 1000 (row numbers by their rate)"
    )
