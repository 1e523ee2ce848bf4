"""Clusters beyond the requested number of key steps, and the choice of those that are key steps (methods 5.6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.interface import NO_CLUSTER, middle_times

SHARE = 0.01
"""Added to the share of a cluster in a video before the logarithm, so that an absent cluster counts as 0.01."""

EQUAL_SPREAD = 1e-9
"""Clusters whose scores differ by less are equal."""


def likeness(labels: NDArray[np.int64], lengths: Sequence[int], K: int) -> NDArray[np.float64]:
    r"""Return a score (K,) of how much each cluster looks like a key step.

    A key step occurs in most videos, in one place of each, and at about the same relative time:

    .. math:: z\Big(\frac1V\sum_v \log(s_{vk} + 0.01)\Big)
              - z\Big(\frac{1}{|V_k|}\sum_{v \in V_k} \sigma_{vk}\Big)
              - z\Big(\mathrm{std}_{v \in V_k}\, \bar t_{vk}\Big)

    with :math:`s_{vk}` the share of cluster k in video v, :math:`\bar t_{vk}` and :math:`\sigma_{vk}` mean and standard
    deviation of the relative times of its samples there, :math:`V_k` the videos in which it has any, and z the score
    among clusters (minus their mean, over their standard deviation). A cluster without samples gets -inf.

    ``labels`` (T,) are in 0..K-1, or `NO_CLUSTER`, which belongs to no cluster.
    """
    V = len(lengths)
    video = np.repeat(np.arange(V), lengths)
    times = middle_times(lengths)
    clustered = labels != NO_CLUSTER
    cells = video[clustered] * K + labels[clustered]
    counts, first, second = (
        np.bincount(cells, weights=weights, minlength=V * K).reshape(V, K)
        for weights in (np.ones(len(cells)), times[clustered], np.square(times[clustered]))
    )
    present = counts > 0
    videos = present.sum(axis=0)
    means = np.divide(first, counts, out=np.zeros_like(first), where=present)
    spreads = np.sqrt(np.maximum(np.divide(second, counts, out=np.zeros_like(second), where=present) - means**2, 0))
    coverage = np.log(counts / np.asarray(lengths)[:, None] + SHARE).mean(axis=0)

    def over_videos(values: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.where(present, values, 0).sum(axis=0)
        return np.asarray(np.divide(total, videos, out=np.zeros(K), where=videos > 0))

    def z(values: NDArray[np.float64]) -> NDArray[np.float64]:
        used = values[videos > 0]
        return np.asarray((values - used.mean()) / max(used.std(), EQUAL_SPREAD))

    within = over_videos(spreads)
    between = np.sqrt(over_videos(np.square(means - over_videos(means))))
    return np.asarray(np.where(videos > 0, z(coverage) - z(within) - z(between), -np.inf))


def key_step_clusters(labels: NDArray[np.int64], lengths: Sequence[int], K: int, n_key_steps: int) -> NDArray[np.int64]:
    """Return the ``n_key_steps`` clusters that look most like key steps, ascending; ties go to smaller numbers."""
    order = np.argsort(-likeness(labels, lengths, K), kind="stable")
    return np.sort(order[:n_key_steps]).astype(np.int64)


def keep_clusters(labels: NDArray[np.int64], clusters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber these clusters from 0, in the given order, and turn all others into background."""
    kept_labels = np.full(len(labels), NO_CLUSTER, dtype=np.int64)
    for number, cluster in enumerate(clusters):
        kept_labels[labels == cluster] = number
    return kept_labels
