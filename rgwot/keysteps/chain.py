"""The energy of a labelling of the temporal chain, and its exact minimum (methods 5.1).

E(l) = sum_t w_u (1 - u_{t, l_t}) + sum_t w_t d(l_t, l_{t+1})

with d(a, b) = [a != b] (``potts``) or |a - b| (``linear``, the public code) and w_t = pairwise / K. The
linear metric reads the arbitrary index of a cluster as a distance; Potts is invariant to relabelling. Several
videos are one chain with w_t = 0 where one video ends and the next begins: nothing happens between the last
frame of one video and the first of another, so no edge may pull them together. (The public code has that edge.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

LabelMetric = Literal["potts", "linear"]
UnaryPer = Literal["second", "sample", "frame_pair"]


def label_distance(K: int, metric: LabelMetric) -> NDArray[np.int64]:
    """Return d (K, K) as whole numbers: [a != b] for ``potts``, |a - b| for ``linear``."""
    steps = np.abs(np.subtract.outer(np.arange(K), np.arange(K)))
    return (steps > 0 if metric == "potts" else steps).astype(np.int64)


def unary_weight(unary: float, per: UnaryPer, features_fps: float, native_fps: float) -> float:
    """Return w_u of one sample of a video.

    Per second, or per two native frames (the public code cuts every second frame), the smoothing does not depend on how
    densely a video was sampled: 3.0 per second is the published 0.2 per two frames of a video with 30 a second.
    ``unary`` is the weight of what ``per`` names; the rates are samples and frames per second of the video, > 0.
    """
    if per == "sample":
        return unary
    return unary / features_fps if per == "second" else unary * native_fps / 2 / features_fps


def edge_weights(lengths: Sequence[int], weight: float, joined: bool) -> NDArray[np.float64]:
    """Return w (T - 1,): ``weight`` between neighbours in one video, 0 across the border of two unless ``joined``.

    ``lengths`` are the samples of each video in the order of the chain, at least 1 each.

    Examples
    --------
    >>> edge_weights([2, 3], 0.5, joined=False)
    array([0.5, 0. , 0.5, 0.5])
    """
    weights = np.full(sum(lengths) - 1, float(weight))
    if not joined:
        weights[np.cumsum(lengths)[:-1] - 1] = 0
    return weights


def energy(labels: NDArray[Any], unary: NDArray[Any], weights: NDArray[Any], distance: NDArray[Any]) -> float:
    """Return E(labels) = sum_t unary[t, l_t] + sum_t weights[t] distance[l_t, l_{t+1}].

    ``labels`` (T,) lie in 0..K-1; the other shapes are (T, K), (T - 1,) and (K, K).
    """
    data = unary[np.arange(len(unary)), labels].sum()
    return float(data + (weights * distance[labels[:-1], labels[1:]]).sum())


def minimise_chain(unary: NDArray[Any], weights: NDArray[Any], metric: LabelMetric) -> NDArray[np.int64]:
    """Return labels (T,) of smallest energy sum_t unary[t, l_t] + sum_t weights[t] d(l_t, l_{t+1}).

    M_0 = unary_0, M_t[a] = unary_t[a] + min_b (M_{t-1}[b] + w_{t-1} d(b, a)), then back from the best last
    label. The inner minimum is taken for all a at once, so the whole costs O(T K). Of equally good labellings, in
    0..K-1, one is returned that switches late and to the smallest label.

    Parameters
    ----------
    unary
        (T, K) finite costs.
    weights
        (T - 1,) edge weights >= 0; 0 cuts the chain (see `edge_weights`).
    metric
        ``potts`` or ``linear``.
    """
    K = unary.shape[1]
    distance = label_distance(K, metric)
    best = np.array(unary, dtype=np.float64)
    for t, weight in enumerate(weights, start=1):
        before = best[t - 1]
        if metric == "potts":
            best[t] += np.minimum(before, before.min() + weight)
        else:
            # The cheapest source at or below each label, then at or above it (a distance transform).
            slopes = weight * np.arange(K)
            below = np.minimum.accumulate(before - slopes) + slopes
            above = np.minimum.accumulate((before + slopes)[::-1])[::-1] - slopes
            best[t] += np.minimum(np.minimum(below, before), above)
    labels = np.empty(len(best), dtype=np.int64)
    labels[-1] = best[-1].argmin()
    for t in range(len(weights) - 1, -1, -1):
        following = labels[t + 1]
        via = best[t] + weights[t] * distance[following]
        cheapest = via.argmin()
        # Staying wins a tie, so that equal costs do not make segments.
        labels[t] = following if via[following] <= via[cheapest] else cheapest
    return labels
