"""From labels of samples to segments of time.

A label holds from the midpoint with the previous sample to the midpoint with the next; the first from 0, the
last to the duration. Neighbours with one label are one segment, so segments cover a video without gaps and
change label at every border.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def label_segments(time_s: NDArray[Any], labels: NDArray[Any], duration_s: float) -> pd.DataFrame:
    """Return the segments of one video.

    Parameters
    ----------
    time_s
        (T,) times of the samples in seconds, T >= 1, increasing, from 0 to below the duration.
    labels
        (T,) whole numbers.
    duration_s
        Length of the video in seconds.

    Returns
    -------
    pandas.DataFrame
        ``start_s,end_s,key_step``; a segment covers [start_s, end_s).

    Raises
    ------
    ValueError
        When lengths differ, times do not increase or a sample lies outside [0, duration).
    """
    times, values = np.asarray(time_s, dtype=np.float64), np.asarray(labels)
    if times.ndim != 1 or len(times) == 0 or values.shape != times.shape:
        raise ValueError(f"labels: found shapes {times.shape} and {values.shape}, expected one label per sample time")
    if (np.diff(times) <= 0).any() or times[0] < 0 or not times[-1] < duration_s:
        raise ValueError(f"times: found {times[0]} to {times[-1]} s, expected increasing times in [0, {duration_s}) s")
    last_of_run = np.flatnonzero(values[1:] != values[:-1])
    inner = times[last_of_run] + (times[last_of_run + 1] - times[last_of_run]) / 2
    edges = np.concatenate([[0.0], inner, [float(duration_s)]])
    steps = values[np.concatenate([[0], last_of_run + 1])]
    return pd.DataFrame({"start_s": edges[:-1], "end_s": edges[1:], "key_step": steps.astype(np.int64)})
