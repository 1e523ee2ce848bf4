"""Channels of features for a page without a video, which draws some of them around a moment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rgwot import paths
from rgwot.features.store import open_store
from rgwot.paths import RESULTS
from rgwot.runtime.errors import RgwotError

#: Number of channels by default, and the largest number that a page may choose.
FEW, MOST = 4, 12
#: Largest number of points per channel, an hour at 25 Hz; longer channels are thinned evenly.
POINTS = 90_000
#: Values are rounded to this share of the range of their channel, less than a pixel.
FINEST = 1 / 5000


def channels(dataset: str, task: str, video: str, chosen: Sequence[int] = ()) -> dict[str, Any]:
    """Return channels of a video's features as a page draws them.

    Parameters
    ----------
    dataset, task, video
        Ids; the features are those of the study in the current folder.
    chosen
        Numbers of the channels, from 0. If empty, the channels that stand out most from their own jitter (`telling`).

    Returns
    -------
    dict
        ``names`` of all channels, ``most`` that can be chosen, the numbers that are ``chosen``, ``time_s`` (T,) and for
        each chosen channel its ``values`` (T,) and their least and greatest (``ranges``).

    Raises
    ------
    RgwotError
        If there are no features yet, features are maps instead of vectors, or there is no channel of a chosen number.
    """
    path = paths.at(paths.FEATURES, Path(RESULTS), dataset=dataset, task=task, video=video)
    store = open_store(path)
    frames, count, height, width = store.shape
    if not frames or (height, width) != (1, 1):
        raise RgwotError(f"{path}: no channels to draw; expected features that are a vector at each time")
    if len(chosen) > MOST or not all(0 <= one < count for one in chosen):
        raise RgwotError(f"channels: found {list(chosen)}, expected up to {MOST} numbers from 0 to {count - 1}")
    at = np.arange(0, frames, -(-frames // POINTS))
    values = store.frames(at).reshape(len(at), count).astype(np.float64)
    numbers = list(dict.fromkeys(chosen)) or telling(values)
    return {
        "names": store.columns.splitlines() or [f"channel {one}" for one in range(count)],
        "most": MOST,
        "chosen": numbers,
        "time_s": np.round(store.time_s[at], 3).tolist(),
        "ranges": [[float(values[:, one].min()), float(values[:, one].max())] for one in numbers],
        "values": [_short(values[:, one]).tolist() for one in numbers],
    }


def _short(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values with the digits that a drawing of their range needs."""
    extent = np.ptp(values)
    return np.round(values, int(np.ceil(-np.log10(FINEST * extent)))) if extent > 0 else values


def telling(values: NDArray[np.float64]) -> list[int]:
    """Return the `FEW` of channels (T, C) with the largest ratio of variance to mean squared successive difference.

    The ratio does not depend on the unit of a channel. It is near 1/2 for noise, and large for slow changes.

    >>> time = np.arange(100.0)
    >>> telling(np.stack([time % 2, np.sin(time / 9), 0 * time], axis=1))
    [1, 0]
    """
    jitter = np.square(np.diff(values, axis=0)).mean(axis=0) if len(values) > 1 else np.zeros(values.shape[1])
    ratio = np.divide(values.var(axis=0), jitter, out=np.zeros_like(jitter), where=jitter > 0)
    best = np.argsort(-ratio, kind="stable")[:FEW]
    return [int(one) for one in best if ratio[one] > 0]
