"""How far the scales of channels differ: of imported features any channel may outweigh all others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCALES = 1000.0
"""Ratio of the largest scale to the smallest from which on a warning is given."""

ROUNDING = 2.0**-11
"""Relative rounding error of float16; a channel that varies by less does not vary."""


class Spread:
    """Mean and standard deviation of every channel, from blocks of features (n, C, h, w)."""

    def __init__(self) -> None:
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
        squares = self._squares / self._count
        deviations = np.sqrt(np.maximum(squares - np.square(self._sums / self._count), 0))
        varying = deviations[deviations > ROUNDING * np.sqrt(squares)]
        return float(varying.max() / varying.min()) if varying.size else 1.0


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
