"""Recordings far longer than the others of their task: only some of their samples are used (methods 4.11).

Windows, contexts and relative time are shares of a recording's length, and a recording has the mean and deviation of
all its samples. If a recording was left running, or the work was slow, its windows, times and scales would therefore be
unlike those of other recordings, and it would count several times. Instead, only as many of its samples are used as
other recordings have: samples where it changes or, if it changes evenly, evenly spaced samples. Every unused sample is
treated like the nearest used sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from rgwot.embedding.values import UNUSUAL

NEAR = 0.05
"""Change is measured between the means of this share of the usual length before and after a sample, and averaged over
the same share, so that a pause within a key step is kept."""

UNEVEN = 0.39
"""A recording of T samples stands still for most of the time if (s - n / T) / (1 - n / T) is above this, where s is the
share of its change that its n most changing samples have, and n the usual number of samples. On ten recorded tasks,
this is 0.41 or more for recordings with idle time, and 0.36 or less for slow ones, except for one task of tools that
are seen or not."""

POWER = 3
"""Samples of a recording with idle time are chosen by this power of its change, since people at rest move, too."""


def at_usual_pace(x: NDArray[Any], usual: float) -> NDArray[np.int64] | None:
    r"""Choose about ``usual`` samples of a far longer recording; None for a shorter one, or if ``usual`` is NaN.

    If the recording changes evenly, it is slow, and samples are evenly spaced. Otherwise it has idle time, and samples
    are chosen evenly in the sum of min(1, (c_t / c)^3), where c_t is the change of the recording around sample t and c
    the least change at which every sample is chosen:

    .. math:: \sum_t \min(1, (c_t / c)^3) = \text{usual}

    If ``x`` was itself embedded from chosen samples, the same samples are chosen again.

    Parameters
    ----------
    x
        Samples (T, D) of comparable scale.
    usual
        Usual number of samples.

    Returns
    -------
    Ascending indices, if T is at least `rgwot.embedding.values.UNUSUAL` times the usual number.
    """
    T = len(x)
    if not UNUSUAL * usual <= T:
        return None
    n = max(2, round(usual))
    borders = np.flatnonzero((x[1:] != x[:-1]).any(axis=1)) + 1
    if n / 2 < len(borders) < n:
        runs = np.concatenate([[0], borders, [T]])
        return np.asarray((runs[:-1] + runs[1:]) // 2, dtype=np.int64)
    change = _change(x, usual)
    largest = np.sort(change)[::-1]
    held = float(largest[:n].sum()) / max(float(largest.sum()), np.finfo(np.float64).tiny)
    if held <= n / T + UNEVEN * (1 - n / T):
        return np.linspace(0, T - 1, n).round().astype(np.int64)
    weights, powers = change**POWER, largest**POWER
    # If the k largest changes count in full, the others share the rest.
    rest = np.cumsum(powers[::-1])[::-1]
    limits = rest[:n] / (n - np.arange(n))
    total = np.cumsum(np.minimum(weights / limits[int((powers[:n] <= limits).argmax())], 1))
    return np.unique(np.minimum(np.searchsorted(total, np.arange(n) + 0.5), T - 1)).astype(np.int64)


def _change(x: NDArray[Any], usual: float) -> NDArray[np.float64]:
    """Return, for each of the samples (T, D), the distance between the means before and after it, (T,) (`NEAR`)."""
    half, at = max(1, round(NEAR * usual / 2)), np.arange(len(x))
    means = uniform_filter1d(np.asarray(x, dtype=np.float64), 2 * half + 1, axis=0, mode="nearest")
    apart = means[np.minimum(at + half + 1, len(x) - 1)] - means[np.maximum(at - half - 1, 0)]
    change = uniform_filter1d(np.linalg.norm(apart, axis=1), 2 * half + 1, mode="nearest")
    # The running mean may leave slightly negative values, so changes have a small positive minimum.
    return np.asarray(np.maximum(change, 1e-4 * change.max(initial=0)))


def nearest_of(chosen: NDArray[np.int64], T: int) -> NDArray[np.int64]:
    """Return for each of T samples the place of the nearest one among ``chosen`` ascending indices.

    >>> nearest_of(np.array([1, 4]), 6).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    return np.searchsorted((chosen[:-1] + chosen[1:]) / 2, np.arange(T)).astype(np.int64)
