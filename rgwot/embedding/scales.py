"""Scales of channels: how far they differ, and which type of number holds them.

Of imported features any channel may outweigh all others, or vary by less than float16 makes by rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCALES = 1000.0
"""Ratio of the largest scale to the smallest from which on a warning is given."""

TYPE_ROUNDING: Mapping[str, float] = {"float16": 2.0**-11, "float32": 2.0**-20}
"""A channel that varies by less, relative to its size, does not vary, by the type that features are stored in.

Of float16 it is the rounding error, of float32 16 times that: what a few operations make of a constant.
"""

LARGEST_VALUE: Mapping[str, float] = {"float16": float(np.finfo(np.float16).max), "float32": 1e15}
"""Largest magnitude by type; squares of float32 are added up in float32."""

SPOILT = 0.01
"""Rounding of float16 that vectors may have, as a share of a channel's standard deviation."""


def resolution(squares: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """Return the standard deviation up to which channels are constant, by their mean squares (C,) in one video."""
    rounding = TYPE_ROUNDING[dtype]
    return np.asarray(rounding * np.maximum(np.sqrt(squares), rounding * np.sqrt(squares.mean())))


class Spread:
    """Mean and standard deviation of every channel, from blocks of features (n, C, h, w) of a type."""

    def __init__(self, dtype: str = "float16") -> None:
        self._rounding = TYPE_ROUNDING[dtype]
        self._count = 0
        self._sums: Any = 0.0
        self._squares: Any = 0.0

    def add(self, block: NDArray[Any]) -> None:
        """Take in more features of the same channels."""
        values = np.moveaxis(np.asarray(block, dtype=np.float64), 1, -1).reshape(-1, block.shape[1])
        self._count += len(values)
        self._sums = self._sums + values.sum(axis=0)
        self._squares = self._squares + np.square(values).sum(axis=0)

    @property
    def ratio(self) -> float:
        """Largest standard deviation of a channel divided by the smallest, of the channels that vary; 1 without any."""
        if not self._count:
            return 1.0
        deviations, varies = self._deviations()
        varying = deviations[varies]
        return float(varying.max() / varying.min()) if varying.size else 1.0

    def _deviations(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        squares = self._squares / self._count
        deviations = np.sqrt(np.maximum(squares - np.square(self._sums / self._count), 0))
        return deviations, deviations > self._rounding * np.sqrt(squares)


class Rounding(Spread):
    """What float16 would make of vectors that are given as float32."""

    def __init__(self) -> None:
        super().__init__("float32")
        self._errors: Any = 0.0

    def add(self, block: NDArray[Any]) -> None:
        """Take in more vectors of the same channels, (n, C, 1, 1)."""
        super().add(block)
        with np.errstate(over="ignore"):
            lost = block - block.astype(np.float16).astype(np.float64)
        self._errors = self._errors + np.square(lost).sum(axis=(0, 2, 3))

    @property
    def dtype(self) -> str:
        """Type to store them in: float16, unless that cannot hold a value or spoils a channel that varies."""
        if not self._count:
            return "float16"
        errors, (deviations, _) = np.sqrt(self._errors / self._count), self._deviations()
        varies = deviations > resolution(self._squares / self._count, "float32")
        spoilt = (varies & (errors > SPOILT * deviations)) | ~np.isfinite(errors)
        return "float32" if spoilt.any() else "float16"


def usual_ratio(attributes: Iterable[Any]) -> float | None:
    """Return the median ratio of the videos of a task, None where stores do not say it."""
    ratios = [float(one["scales"]) for one in attributes if "scales" in one]
    return float(np.median(ratios)) if ratios else None


def scales_differ(ratio: float) -> str:
    """Return the warning about scales that differ by a factor, in one line; empty below `SCALES`."""
    if ratio < SCALES:
        return ""
    return (
        f"scales of the channels differ by a factor of {ratio:,.0f}, expected less than {SCALES:,.0f}: the largest "
        "outweigh all others; bring channels to one scale, or take whitened features"
    )
