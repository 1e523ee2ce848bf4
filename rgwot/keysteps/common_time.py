"""Time beside the features (methods 5.5), and the choice of its weight (5.7).

If `decode.time` is ``auto``, samples are first labelled without time. If the labels have the same order in all videos,
and explain the samples hardly worse once time has half of the squared length of embeddings, time gets this weight, and
the videos are aligned to measure it; otherwise it gets only a small weight, as a hint. Whatever the decoder, the mean
field makes these labels, because it takes a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rgwot.diagnostics import TimeChoice
from rgwot.keysteps.interface import Array, differ, directions, learned_from, middle_times, rows_of
from rgwot.keysteps.ordering import concordance
from rgwot.keysteps.settings import MeanfieldSettings
from rgwot.keysteps.warping import evenly_spaced, warp
from rgwot.runtime.threads import in_threads
from rgwot.timing import thinned

HINT = 0.03
"""Weight of relative time if the videos differ in their order."""

ONE_ORDER = 0.5
"""Weight of common time if the videos have one order; 0.4 and 0.6 score the same (benchmarks/report/labelled.md)."""

SAME_ORDER = 0.47
"""Videos count as having one order if labels made without time have at least this concordance. It lies in the middle
between tasks that gain from common time and tasks that lose (benchmarks/report/labelled.md)."""

KEPT_SHARE = 0.7
"""Common time is taken if the labels made with it predict the samples of other videos at least this many times as well
as labels made without time. If videos differ in the order of key steps, time splits these, and predicts less."""

NEAR = 0.1
"""The choice is doubtful if one of the two measures is within this share of its limit."""

REFERENCES = 16
"""Each video is aligned with at most this many others, which are evenly spaced."""

MOST_ALIGNED = 4_000
"""Approximate limit of the alignments of a task: with many videos each is aligned with fewer, but at least one."""

STARTS = 12
"""Number of segmentations; their J and concordance are averaged, to depend less on the start."""

QUICK: dict[str, object] = {"restarts": 4, "max_iterations": 8}
"""Changed settings of the mean field during the choice."""

MOST_TRIED = 20_000
"""Most samples for the choice; longer tasks are thinned evenly."""


def with_time(
    x: NDArray[np.floating], lengths: Sequence[int], share: float, common: NDArray[np.floating] | None = None
) -> Array:
    r"""Add time to embeddings, with a share of their squared length.

    .. math:: x'_i = \left[\sqrt{1 - w}\, \frac{x_i}{|x_i|},\ \sqrt{w}\cos a_i,\ \sqrt{w}\sin a_i\right],
              \qquad a_i = \pi \left(t_i - \frac12\right)

    where t is the relative time (i + 1/2) / T_v, or `common_times` if there are references ``common``. Time is a point
    on a half circle, so that embeddings keep the length 1 and the two ends of a video are as far apart as possible. If
    every key step is done once and in order, time separates key steps that look alike; if key steps repeat, it
    separates their repetitions.

    Returns (T, D + 2) for samples x (T, D) of videos of T_v samples each and a share w in [0, 1), or x for w = 0.
    """
    samples = np.asarray(x, dtype=np.float64)
    if share == 0:
        return samples
    times = middle_times(lengths) if common is None else common_times(samples, lengths, common)
    angles = np.pi * (times - 0.5)
    place = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.concatenate([np.sqrt(1 - share) * directions(samples), np.sqrt(share) * place], axis=1)


def references(x: NDArray[np.floating], lengths: Sequence[int]) -> NDArray[np.float32]:
    """Return the directions of evenly spaced samples (n, R, D) of the videos with which all others are aligned."""
    V = len(lengths)
    n = max(1, min(REFERENCES, MOST_ALIGNED // V))
    videos = np.unique(np.linspace(0, V - 1, n).round().astype(np.int64))
    return evenly_spaced(directions(x), lengths)[videos].astype(np.float32)


def common_times(x: NDArray[np.floating], lengths: Sequence[int], common: NDArray[np.floating]) -> Array:
    """Return the common time of samples: the mean relative time of the samples that they match in the references.

    Dynamic time warping aligns each video with every reference, and a reference also with itself. Common time never
    decreases within a video; it increases faster than relative time while the video is quicker than the references.

    Parameters
    ----------
    x
        Concatenated samples (T, D) of V videos.
    lengths
        Samples of each video.
    common
        `references` (n, R, D).

    Returns
    -------
    Times (T,) in [0, 1].
    """
    few = evenly_spaced(directions(x), lengths)
    R = common.shape[1]
    places = np.linspace(0, 1, R)

    def matched(reference: Array) -> Array:
        _, paths = warp(few, np.broadcast_to(reference, few.shape))
        pairs = (path[path[:, 0] >= 0].T for path in paths)
        return np.stack([np.bincount(i, places[j], R) / np.bincount(i, minlength=R) for i, j in pairs])

    means = np.mean(in_threads(matched, common.astype(np.float64)), axis=0)
    return np.concatenate([np.interp(middle_times([T]), places, mean) for T, mean in zip(lengths, means, strict=True)])


def choose_share(
    x: NDArray[np.floating], lengths: Sequence[int], K: int, settings: MeanfieldSettings, seed: int
) -> tuple[float, NDArray[np.float32] | None, TimeChoice]:
    """Choose the weight of time: `ONE_ORDER` and common time if the videos have one order, otherwise `HINT`.

    They have one order if labels made without time have it in all videos (`concordance`), and if labels made with
    common time predict the samples of other videos nearly as well (`explained_share`).

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
        In [0, 1); 0 for a single video, and if labels do not predict the samples of other videos (J <= 0).
    common : (n, R, D) or None
        The `references` of common time; None for relative time.
    choice : TimeChoice
        What was measured for the choice.
    """
    if len(lengths) < 2:
        return 0.0, None, TimeChoice(chosen=0.0, why="there is only one video, so the weight cannot be chosen")
    # Imported here, because most decodings have nothing to choose.
    from rgwot.keysteps.meanfield import segment

    some = learned_from(lengths)
    tried = [lengths[v] for v in some]
    kept, few, _ = thinned(tried, MOST_TRIED)
    samples = directions(x[rows_of(lengths, some)][kept])
    quick = settings.model_copy(update=QUICK)

    def segmented(own: Array, start: int) -> NDArray[np.int64]:
        return segment(own, few, K, quick, np.random.default_rng([seed, 2, start])).labels

    found = in_threads(lambda start: segmented(samples, start), range(STARTS))
    J = float(np.mean(in_threads(lambda labels: explained_share(samples, labels, few), found)))
    same_order = float(np.mean([concordance(labels, few) for labels in found]))
    choice = TimeChoice(chosen=0.0 if J <= 0 else HINT, agreement=J, concordance=same_order)
    if J <= 0 or same_order < (1 - NEAR) * SAME_ORDER:
        return choice.chosen, None, choice
    common = references(x, lengths)
    timed = with_time(samples, few, ONE_ORDER, common)
    ordered = in_threads(lambda start: segmented(timed, start), range(STARTS))
    explained = float(np.mean(in_threads(lambda labels: explained_share(samples, labels, few), ordered))) / J
    other = float(np.mean([differ(*pair, K) for pair in zip(found, ordered, strict=True)]))
    choice = replace(choice, kept=explained, differ=other)
    if same_order < SAME_ORDER or explained < KEPT_SHARE:
        return HINT, None, choice
    return ONE_ORDER, common, replace(choice, chosen=ONE_ORDER)


def explained_share(x: NDArray[np.floating], labels: NDArray[np.int64], lengths: Sequence[int]) -> float:
    r"""Return the share of samples that a labelling predicts in held-out videos.

    .. math:: J = \frac{\sum_v \sum_{i \in v} x_i \cdot \mu_{-v}(l_i)}{\sum_i |x_i|^2}

    where :math:`\mu_{-v}(k)` is the mean of the samples labelled k in all videos but v, shrunk towards 0 by two
    samples. Its expectation is 0 for labels that are independent of the samples.

    J is at most about 1, and 0 for a single video or samples of zeros.

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
