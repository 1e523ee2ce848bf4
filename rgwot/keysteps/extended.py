"""Extensions of any decoder: relative time (methods 5.5), the choice of its weight (5.7), and surplus clusters (5.6).

If `decode.time` is ``auto``, the weight of time is increased step by step; each setting is scored by how well its
labels predict the embeddings of held-out videos, and by how similar the orders of videos are. The mean field makes
these labels for every decoder: it takes a fraction of a second, and other decoders are built on it.
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
"""The smallest weight of time that is chosen."""

ORDERED = 0.08
"""Weight of time with which the concordance of videos is measured."""

KEEPS = 0.885
"""Labels with time must keep this share of the J without time; chosen on recordings (methods 5.7)."""

SAME_ORDER = 0.75
"""The weight of time exceeds `HINT` only from this concordance of videos on; chosen on development tasks."""

STARTS = 12
"""Number of segmentations per weight of time; their J and concordance are averaged, to depend less on the start."""

QUICK: dict[str, Any] = {"restarts": 4, "max_iterations": 8}
"""Changed settings of the mean field during the choice."""

MOST_TRIED = 20_000
"""Most samples for the choice; longer tasks are thinned evenly."""

TRIED_OF_MANY = 10_000
"""The same where only some of the videos are learned from (`learned_from`): whole videos, which say more of order than
a few samples of each."""


class Measured(NamedTuple):
    """J, the share of held-out samples that labels explain (`explained_share`), and the `concordance` of videos."""

    J: float
    concordance: float


def with_time(x: NDArray[Any], lengths: Sequence[int], share: float) -> NDArray[np.float64]:
    r"""Add relative time to embeddings, with a share of their squared length.

    .. math:: x'_i = \left[\sqrt{1 - w}\, \frac{x_i}{|x_i|},\ \sqrt{w}\cos a_i,\ \sqrt{w}\sin a_i\right],
              \qquad a_i = \pi \left(\frac{i + 1/2}{T_v} - \frac12\right)

    Time is a point on a half circle, so that embeddings keep the length 1 and the two ends of a video are as far apart
    as possible. If every key step is done once and in order, time separates key steps that look alike; if key steps
    repeat, it separates their repetitions.

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
    """Choose the weight of time for embeddings by `largest_share`.

    Parameters
    ----------
    x
        Concatenated embeddings (T, D) of the training videos.
    lengths
        Samples of each video; they add up to T.
    K
        Number of key steps.
    settings, seed
        Settings and seed of the mean fields that label the samples.

    Returns
    -------
    share : float
        In [0, 1); 0 for a single video, because no other video can predict it.
    facts : dict
        The part of ``diagnostics.json`` on the choice: ``chosen``, ``agreement`` (the J of every weight that was tried)
        and ``concordance``, or otherwise ``why`` nothing could be chosen.
    """
    if len(lengths) < 2:
        return 0.0, {"chosen": 0.0, "why": "there is only one video, so the weight cannot be chosen"}
    some = learned_from(lengths, TRIED_OF_MANY)
    x, lengths = x[rows_of(lengths, some)], [lengths[v] for v in some]
    sampled, lengths, _ = thinned(lengths, MOST_TRIED)
    x = directions(x[sampled])
    quick = settings.model_copy(update=QUICK)
    tried: dict[float, Measured] = {}
    for share in SHARES:
        tried[share] = _measured(x, lengths, K, share, quick, seed)
        # J decreases further with more time.
        if share >= ORDERED and tried[share].J < KEEPS * tried[0.0].J:
            break
    J, same_order = {share: each.J for share, each in tried.items()}, tried[ORDERED].concordance
    chosen = largest_share(J, same_order)
    agreements = {str(share): value for share, value in J.items()}
    return chosen, {"chosen": chosen, "agreement": agreements, "concordance": same_order}


def _measured(
    x: NDArray[np.float64], lengths: Sequence[int], K: int, share: float, settings: MeanfieldSettings, seed: int
) -> Measured:
    """Segment samples with a weight of time from every start; return the mean J and concordance."""
    # Imported here, because most decodings have nothing to choose.
    from rgwot.keysteps.meanfield import segment

    timed, values = with_time(x, lengths, share), []
    for start in range(STARTS):
        labels = segment(timed, lengths, K, settings, np.random.default_rng([seed, 2, start])).labels
        values.append((explained_share(x, labels, lengths), concordance(labels, lengths)))
    return Measured(*np.mean(values, axis=0).tolist())


def largest_share(J: Mapping[float, float], same_order: float) -> float:
    """Return the largest weight of time for which J is at least `KEEPS` of J without time, but at least a hint.

    If key steps come once and in order, borders by time agree with borders by features, and J hardly decreases; if they
    repeat, time splits them, and J decreases at once. A larger J than without time proves nothing, because slow drift
    looks like order. J may also stay high if videos differ in their order, so that below `SAME_ORDER` a hint is chosen.

    >>> J = {0.0: 0.100, 0.03: 0.097, 0.08: 0.092, 0.15: 0.085}
    >>> largest_share(J, 0.9), largest_share(J, 0.6)
    (0.08, 0.03)
    >>> largest_share({0.0: 0.100, 0.03: 0.080, 0.08: 0.070, 0.15: 0.060}, 0.9)
    0.03

    0 where the samples say nothing at all, J <= 0 without time.
    """
    if J[0.0] <= 0:
        return 0.0
    hint, *more = sorted(share for share in J if share)
    keeping = [share for share in more if J[share] >= KEEPS * J[0.0]]
    return max([hint, *keeping]) if same_order >= SAME_ORDER else hint


def explained_share(x: NDArray[Any], labels: NDArray[np.int64], lengths: Sequence[int]) -> float:
    r"""Return the share of samples that a labelling predicts in held-out videos.

    .. math:: J = \frac{\sum_v \sum_{i \in v} x_i \cdot \mu_{-v}(l_i)}{\sum_i |x_i|^2}

    where :math:`\mu_{-v}(k)` is the mean of the samples labelled k in all videos but v, shrunk towards 0 by two
    samples. Its expectation is 0 for labels that are independent of the samples.

    At most about 1; 0 for a single video, or samples of zeros.

    Parameters
    ----------
    x
        Concatenated samples (T, D) of all videos.
    labels
        (T,) labels of the samples; `NO_CLUSTER` is treated like any other label.
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


KEPT = "key_step_clusters"
"""Key of the learned parameters with surplus clusters: the clusters that are key steps; others are background."""

NUMBERS = "numbers"
"""Key of the learned parameters: the numbers of the clusters."""


def extended(decoder: Decode, time: float, surplus: int) -> Decode:
    """Return a decoder that adds relative time with the weight ``time`` to embeddings, makes K + ``surplus`` clusters,
    and turns those least like key steps into background.

    If both are 0, the decoder itself is returned.
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
    """Return the function that labels other videos by an `extended` decoder with the same time and surplus.

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
    """Replace cluster k by ``numbers[k]`` in labels; background (-1) does not change.

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


def _kept(decoded: Decoded, clusters: NDArray[np.int64] | None) -> Decoded:
    if clusters is None:
        return decoded
    members = tuple(np.where(member < 0, member, keep_clusters(member, clusters)) for member in decoded.members)
    return replace(decoded, labels=keep_clusters(decoded.labels, clusters), members=members)
