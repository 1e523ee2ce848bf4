"""Additions to any decoder: relative time (methods 5.5), the choice of its share (5.7), and surplus clusters (5.6).

Where `decode.time` is ``auto``, labels are made with more and more time, and each share is scored by how well they
predict the embeddings of the other videos, and by whether videos have them in one order. Labels are made by the mean
field, whatever the decoder is: it takes a fraction of a second, and other decoders are built on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.interface import (
    NO_CLUSTER,
    Decode,
    Decoded,
    Frames,
    Learned,
    Predict,
    Restore,
    directions,
    learned_from,
    middle_times,
    rows_of,
)
from rgwot.keysteps.ordering import concordance
from rgwot.keysteps.settings import MeanfieldSettings
from rgwot.timing import thinned

SHARES = (0.0, 0.03, 0.08, 0.15, 0.4)
"""Shares of time that are tried, up to the first with too little J: none, to compare with; a hint, the least that is
taken; and up to nearly half."""

HINT = SHARES[1]
"""The smallest share that is taken."""

ORDERED = 0.08
"""Share of time at which the concordance of videos is measured."""

KEEPS = 0.885
"""Share of the J without time that labels with time must keep; chosen on recordings (methods 5.7)."""

SAME_ORDER = 0.75
"""Concordance of videos from which on time may have more than a hint; chosen on development tasks."""

STARTS = 12
"""Segmentations for every share of time; their J and concordance are averaged, so that neither hangs on a start."""

QUICK: dict[str, Any] = {"restarts": 4, "max_iterations": 8}
"""Changes to the settings of the mean field while choosing."""

MOST_TRIED = 20_000
"""Samples of a task by which the share is chosen; longer tasks are thinned evenly."""

TRIED_OF_MANY = 10_000
"""The same where only some of the videos are learned from (`learned_from`): whole videos, which say more of order than
a few samples of each."""


class Measured(NamedTuple):
    """How much of the samples labels explain across videos (`explained_share`), and the `concordance` of videos."""

    J: float
    concordance: float


def with_time(x: NDArray[Any], lengths: Sequence[int], share: float) -> NDArray[np.float64]:
    r"""Give relative time a share of the squared length of embeddings.

    .. math:: x'_i = \left[\sqrt{1 - w}\, \frac{x_i}{|x_i|},\ \sqrt{w}\cos a_i,\ \sqrt{w}\sin a_i\right],
              \qquad a_i = \pi \left(\frac{i + 1/2}{T_v} - \frac12\right)

    Time is a place on half a circle, so that embeddings of length 1 stay so and the two ends of a video are as far
    apart as two samples can be. Where every key step is done once and in order, time separates key steps that look
    alike; where they come again it pulls their repetitions apart.

    Returns (T, D + 2) for samples x (T, D) of videos of T_v samples each and a share w in [0, 1), or x for w = 0.
    """
    samples = np.asarray(x, dtype=np.float64)
    if share == 0:
        return samples
    angles = np.pi * (middle_times(lengths) - 0.5)
    place = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.concatenate([np.sqrt(1 - share) * directions(samples), np.sqrt(share) * place], axis=1)


def choose_share(
    x: NDArray[Any], lengths: Sequence[int], K: int, settings: MeanfieldSettings, seed: int
) -> tuple[float, dict[str, Any]]:
    """Choose the share of time for embeddings: `largest_share` of those tried.

    Parameters
    ----------
    x
        Embeddings (T, D) of the videos that may be learned from, one after the other.
    lengths
        Samples of each video; they add up to T.
    K
        Number of key steps.
    settings, seed
        Of the mean fields that label the samples.

    Returns
    -------
    share : float
        In [0, 1); 0 for a single video, which no other can predict.
    facts : dict
        What ``diagnostics.json`` says of the choice: ``chosen``, and ``agreement``, the J of every share tried, and
        ``concordance``, or else ``why`` nothing could be chosen.
    """
    if len(lengths) < 2:
        return 0.0, {"chosen": 0.0, "why": "a single video: nothing to choose by"}
    some = learned_from(lengths, TRIED_OF_MANY)
    x, lengths = x[rows_of(lengths, some)], [lengths[v] for v in some]
    kept, lengths, _ = thinned(lengths, MOST_TRIED)
    x = directions(x[kept])
    quick = settings.model_copy(update=QUICK)
    tried: dict[float, Measured] = {}
    for share in SHARES:
        tried[share] = _measured(x, lengths, K, share, quick, seed)
        # J falls further with more time.
        if share >= ORDERED and tried[share].J < KEEPS * tried[0.0].J:
            break
    J, same_order = {share: each.J for share, each in tried.items()}, tried[ORDERED].concordance
    chosen = largest_share(J, same_order)
    agreements = {str(share): value for share, value in J.items()}
    return chosen, {"chosen": chosen, "agreement": agreements, "concordance": same_order}


def _measured(
    x: NDArray[np.float64], lengths: Sequence[int], K: int, share: float, settings: MeanfieldSettings, seed: int
) -> Measured:
    """Segment samples with a share of time from every start, and return the means of what the labels have."""
    # Not at the top: most decodings have nothing to choose, and need not wait for it.
    from rgwot.keysteps.meanfield import segment

    timed, values = with_time(x, lengths, share), []
    for start in range(STARTS):
        labels = segment(timed, lengths, K, settings, np.random.default_rng([seed, 2, start])).labels
        values.append((explained_share(x, labels, lengths), concordance(labels, lengths)))
    return Measured(*np.mean(values, axis=0).tolist())


def largest_share(found: Mapping[float, float], same_order: float) -> float:
    """Return the largest share of time at which J is at least `KEEPS` of J without time, no less than a hint.

    Where key steps come once and in order, time cuts where the features cut, and J hardly falls; where they come again
    it cuts through them, and J falls at once. More than J without time proves nothing: slow drift looks like order. And
    J need not fall where videos differ in their order, so that without `SAME_ORDER` it is a hint.

    >>> J = {0.0: 0.100, 0.03: 0.097, 0.08: 0.092, 0.15: 0.085}
    >>> largest_share(J, 0.9), largest_share(J, 0.6)
    (0.08, 0.03)
    >>> largest_share({0.0: 0.100, 0.03: 0.080, 0.08: 0.070, 0.15: 0.060}, 0.9)
    0.03

    0 where the samples say nothing at all, J <= 0 without time.
    """
    if found[0.0] <= 0:
        return 0.0
    hint, *more = sorted(share for share in found if share)
    keeping = [share for share in more if found[share] >= KEEPS * found[0.0]]
    return max([hint, *keeping]) if same_order >= SAME_ORDER else hint


def explained_share(x: NDArray[Any], labels: NDArray[np.int64], lengths: Sequence[int]) -> float:
    r"""Return how much of the samples a labelling predicts in videos that it was not averaged over.

    .. math:: J = \frac{\sum_v \sum_{i \in v} x_i \cdot \mu_{-v}(l_i)}{\sum_i |x_i|^2}

    where :math:`\mu_{-v}(k)` is the mean of the samples labelled k in all videos but v, shrunk towards 0 by two
    samples. Expected to be 0 for labels that know nothing of the samples.

    At most about 1; 0 for a single video, which nothing predicts, or samples of zeros.

    Parameters
    ----------
    x
        Samples (T, D) of all videos one after the other.
    labels
        (T,) labels of the same samples, `NO_CLUSTER` among them: a label like any other.
    lengths
        Samples of each video; they add up to T.
    """
    samples = np.asarray(x, dtype=np.float64)
    _, classes = np.unique(labels, return_inverse=True)
    V, K = len(lengths), int(classes.max(initial=0)) + 1
    power = float(np.square(samples).sum())
    if V < 2 or power == 0:
        return 0.0
    cells = np.repeat(np.arange(V), lengths) * K + classes
    counts = np.bincount(cells, minlength=V * K).reshape(V, K)
    flat = np.zeros((V * K, samples.shape[1]))
    np.add.at(flat, cells, samples)
    sums = flat.reshape(V, K, -1)
    others = (sums.sum(axis=0) - sums) / ((counts.sum(axis=0) - counts) + 2.0)[:, :, None]
    return float((sums * others).sum()) / power


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


def key_step_clusters(labels: NDArray[np.int64], lengths: Sequence[int], K: int, kept: int) -> NDArray[np.int64]:
    """Return which ``kept`` of K clusters look most like key steps, ascending; of equal ones the smaller number."""
    order = np.argsort(-likeness(labels, lengths, K), kind="stable")
    return np.sort(order[:kept]).astype(np.int64)


def keep_clusters(labels: NDArray[np.int64], clusters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the samples of these clusters from 0, in the order given, and call all others background."""
    kept_labels = np.full(len(labels), NO_CLUSTER, dtype=np.int64)
    for number, cluster in enumerate(clusters):
        kept_labels[labels == cluster] = number
    return kept_labels


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
        decoded = decoder(_timed(frames, time), K + surplus, generator)
        clusters = key_step_clusters(decoded.labels, frames.lengths, K + surplus, K) if surplus else None
        predict, learned = decoded.predict, decoded.learned
        return replace(
            _kept(decoded, clusters),
            predict=None if predict is None else _extended_rule(predict, time, clusters),
            learned=learned if learned is None or clusters is None else lambda: {**learned(), KEPT: clusters},
        )

    return decode


def restored(restore: Restore, learned: Learned, K: int, time: float, surplus: int) -> Predict:
    """Return how other videos are labelled by what an `extended` decoder learned with the same time and surplus.

    ``restore`` is that of the decoder, with its settings.
    """
    arrays = {name: value for name, value in learned.items() if name not in (KEPT, NUMBERS)}
    predict = _extended_rule(restore(arrays, K + surplus), time, learned[KEPT] if surplus else None)
    if NUMBERS not in learned:
        return predict

    def numbered(others: Frames) -> Decoded:
        decoded = predict(others)
        return replace(decoded, labels=renumbered(decoded.labels, learned[NUMBERS]))

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
    if clusters is None:
        return found
    members = tuple(np.where(own < 0, own, keep_clusters(own, clusters)) for own in found.members)
    return replace(found, labels=keep_clusters(found.labels, clusters), members=members)
