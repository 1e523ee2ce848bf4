"""Any decoder, given relative time (methods 5.5) and clusters beyond K (methods 5.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.interface import NO_CLUSTER, Decode, Decoded, Frames, Learned, Predict, Restore, middle_times
from rgwot.keysteps.relative_time import with_time

SHARE = 0.01
"""Added to the share of a cluster in a video before the logarithm: one absent counts as one of a hundredth."""

EQUAL_SPREAD = 1e-9
"""Clusters that differ less than this are equal."""


def likeness(labels: NDArray[np.int64], lengths: Sequence[int], K: int) -> NDArray[np.float64]:
    r"""Return how much each of K clusters looks like a key step, (K,).

    A key step is done in most videos, in one place of each, and that place is about the same:

    .. math:: z\Big(\frac1V\sum_v \log(s_{vk} + 0.01)\Big)
              - z\Big(\frac{1}{|V_k|}\sum_{v \in V_k} \sigma_{vk}\Big)
              - z\Big(\mathrm{std}_{v \in V_k}\, \bar t_{vk}\Big)

    with :math:`s_{vk}` the share of cluster k in video v, :math:`\bar t_{vk}` and :math:`\sigma_{vk}` mean and standard
    deviation of the relative times of its samples there, :math:`V_k` the videos in which it has any, and z the score
    among clusters, less their mean and in units of their standard deviation. A cluster without a sample has -inf.

    ``labels`` (T,) are in 0..K-1, or `NO_CLUSTER`, which belongs to no cluster.
    """
    V = len(lengths)
    video = np.repeat(np.arange(V), lengths)
    times = middle_times(lengths)
    kept = labels != NO_CLUSTER
    cells = video[kept] * K + labels[kept]
    counts, first, second = (
        np.bincount(cells, weights=weights, minlength=V * K).reshape(V, K)
        for weights in (np.ones(len(cells)), times[kept], np.square(times[kept]))
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


def key_step_clusters(labels: NDArray[np.int64], lengths: Sequence[int], K: int, kept: int) -> NDArray[np.int64]:
    """Return which ``kept`` of K clusters look most like key steps, ascending; of equal ones the smaller number."""
    order = np.argsort(-likeness(labels, lengths, K), kind="stable")
    return np.sort(order[:kept]).astype(np.int64)


def keep_clusters(labels: NDArray[np.int64], clusters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the samples of these clusters from 0, in the order given, and call all others background."""
    found = np.full(len(labels), NO_CLUSTER, dtype=np.int64)
    for number, cluster in enumerate(clusters):
        found[labels == cluster] = number
    return found


KEPT = "key_step_clusters"
"""Among what was learned with a surplus, the clusters that are key steps; the others are background."""

NUMBERS = "numbers"
"""Among what was learned, the numbers of the clusters."""


def extended(decoder: Decode, time: float, surplus: int) -> Decode:
    """Return a decoder whose embeddings have a share ``time`` of relative time, and which makes ``surplus`` clusters
    more than K, of which those least like key steps are background.

    The decoder itself where both are 0.
    """  # noqa: D205
    if not time and not surplus:
        return decoder

    def decode(frames: Frames, K: int, generator: np.random.Generator) -> Decoded:
        made = decoder(_timed(frames, time), K + surplus, generator)
        clusters = key_step_clusters(made.labels, frames.lengths, K + surplus, K) if surplus else None
        predict, learned = made.predict, made.learned
        return replace(
            _kept(made, clusters),
            predict=None if predict is None else _extended_rule(predict, time, clusters),
            learned=learned if learned is None or clusters is None else lambda: {**learned(), KEPT: clusters},
        )

    return decode


def restored(restore: Restore, learned: Learned, K: int, time: float, surplus: int) -> Predict:
    """Return how other videos are labelled by what an `extended` decoder learned with the same time and surplus.

    ``restore`` is that of the decoder, with its settings.
    """
    own = {name: value for name, value in learned.items() if name not in (KEPT, NUMBERS)}
    predict = _extended_rule(restore(own, K + surplus), time, learned[KEPT] if surplus else None)
    if NUMBERS not in learned:
        return predict

    def numbered(others: Frames) -> Decoded:
        found = predict(others)
        return replace(found, labels=renumbered(found.labels, learned[NUMBERS]))

    return numbered


def renumbered(labels: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return labels with cluster k called ``numbers[k]``; background, -1, stays.

    >>> renumbered(np.array([0, -1, 2]), np.array([1, 2, 0])).tolist()
    [1, -1, 0]
    """
    return np.where(labels < 0, labels, numbers[labels])


def _extended_rule(predict: Predict, time: float, clusters: NDArray[np.int64] | None) -> Predict:
    return lambda others: _kept(predict(_timed(others, time)), clusters)


def _timed(frames: Frames, share: float) -> Frames:
    if not share:
        return frames
    return replace(frames, x=with_time(frames.x, frames.lengths, share), place=2)


def _kept(found: Decoded, clusters: NDArray[np.int64] | None) -> Decoded:
    return found if clusters is None else replace(found, labels=keep_clusters(found.labels, clusters))
