"""Relative time as a part of the embedding (methods 5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.interface import middle_times


def with_time(x: NDArray[Any], lengths: Sequence[int], share: float) -> NDArray[np.float64]:
    r"""Give relative time a share of the squared length of embeddings.

    .. math:: x'_i = \left[\sqrt{1 - w}\, \frac{x_i}{|x_i|},\ \sqrt{w}\cos a_i,\ \sqrt{w}\sin a_i\right],
              \qquad a_i = \pi \left(\frac{i + 1/2}{T_v} - \frac12\right)

    Time is a place on half a circle, so that embeddings of length 1 stay so and the two ends of a video are as far
    apart as two samples can be. Where every key step is done once and in order, time separates key steps that look
    alike; where they come again it pulls their repetitions apart.

    Parameters
    ----------
    x
        (T, D) samples of videos one after the other.
    lengths
        Samples T_v of each video.
    share
        w in [0, 1); 0 returns the embeddings as they are.

    Returns
    -------
    NDArray[np.float64]
        (T, D + 2), or (T, D) for a share of 0.
    """
    samples = np.asarray(x, dtype=np.float64)
    if share == 0:
        return samples
    norms = np.linalg.norm(samples, axis=1, keepdims=True)
    directions = np.divide(samples, norms, out=np.zeros_like(samples), where=norms > 0)
    angles = np.pi * (middle_times(lengths) - 0.5)
    place = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.concatenate([np.sqrt(1 - share) * directions, np.sqrt(share) * place], axis=1)
