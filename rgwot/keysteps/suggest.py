"""Suggestion of videos, or of single moments, to annotate (methods 5.10)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rgwot.embedding.interface import EmbeddedTask, EmbeddedVideo
from rgwot.keysteps.consensus import Components, in_context
from rgwot.keysteps.interface import (
    PER_VIDEO,
    UNKNOWN,
    Array,
    Frames,
    Given,
    directions,
    first_samples,
    learned_from,
    rows_of,
)
from rgwot.keysteps.labelled import Kept
from rgwot.keysteps.labelling import with_given
from rgwot.keysteps.meanfield import segment
from rgwot.keysteps.settings import MeanfieldSettings
from rgwot.runtime.errors import RgwotError
from rgwot.timing import thinned

if TYPE_CHECKING:
    import pandas as pd

SEGMENTATIONS = 8
"""Number of mean-field segmentations that take the place of human labels."""

COMPARED_SAMPLES = 40
"""Largest number of samples per video on which the accuracy is measured."""

VIDEOS = 200
"""Largest number of videos that are compared; of more videos, or if only some are learned from (`learned_from`), evenly
spaced ones are compared."""

LIKENESSES = 16
"""Number of segmentations into K, and into 2 K, clusters that show how alike two samples are. With half as many, two
seeds differed by 9 points of F1 on one task."""

MOMENTS = 2_000
"""About this many samples of a task, `COMPARED_SAMPLES` of a video at most, can be suggested as moments."""

FEWEST_MOMENTS = 8
"""At least this many samples of each video can be suggested as moments, if it has as many."""

SHRINKAGE = 0.1
"""Share of a multiple of the identity in the covariance of the samples of a key step."""


def suggest(
    frames: Frames,
    K: int,
    n: int,
    chain: MeanfieldSettings,
    generator: np.random.Generator,
    labelled: Collection[int] = (),
    among: Collection[int] | None = None,
) -> list[int]:
    """Return the ``n`` videos from which, together with labelled ones, the others would learn most.

    Segmentations take the place of unknown human labels: a linear classifier (with one covariance for all clusters)
    learns from their labels of the labelled and chosen videos, and its accuracy on the other videos is averaged over
    segmentations. The best videos are added one by one, and then exchanged as long as this improves the accuracy.

    Parameters
    ----------
    frames
        Samples of V videos.
    K
        Number of key steps in the segmentations.
    n
        Number of videos to choose, at most V minus the number of labelled ones.
    chain, generator
        Settings and randomness of the segmentations.
    labelled
        Indices of videos that have labels already.
    among
        Indices of videos that may be chosen; by default all.

    Returns
    -------
    Indices of videos, in the order in which they were chosen.
    """
    V = len(frames.lengths)
    eligible = range(V) if among is None else among
    some = learned_from(frames.lengths).tolist()
    step = -(-len(some) // VIDEOS)
    compared = sorted({*some[::step], *labelled, *(eligible if among is not None else ())})
    accuracy_of = _accuracy_of(frames.of(compared), K, chain, generator)
    fixed = [compared.index(place) for place in labelled]
    candidates = [at for at, place in enumerate(compared) if place in eligible and at not in fixed]
    chosen: list[int] = []
    for _ in range(min(n, len(candidates))):
        open_places = [place for place in candidates if place not in chosen]
        chosen.append(max(open_places, key=lambda place: accuracy_of([*fixed, *chosen, place])))
    best, improved = (accuracy_of([*fixed, *chosen]) if chosen else 0.0), True
    while improved:
        improved = False
        for at in range(len(chosen)):
            for place in candidates:
                other = [*chosen[:at], place, *chosen[at + 1 :]]
                if place not in chosen and (value := accuracy_of([*fixed, *other])) > best + 1e-9:
                    chosen, best, improved = other, value, True
    return [compared[at] for at in chosen]


def _accuracy_of(
    frames: Frames, K: int, chain: MeanfieldSettings, generator: np.random.Generator
) -> Callable[[Sequence[int]], float]:
    """Return a function from indices of videos to the accuracy in [0, 1] of a classifier that learns from them."""
    context = in_context(frames, timed=True)
    z = Components.fit(context, 1).apply(context)
    V, starts = len(frames.lengths), first_samples(frames.lengths)
    few = np.concatenate(
        [start + np.unique(np.linspace(0, T - 1, COMPARED_SAMPLES).round().astype(np.int64)) for start, T in
         zip(starts, frames.lengths, strict=True)]
    )  # fmt: skip
    video = np.repeat(np.arange(V), frames.lengths)
    weights = 1 / np.bincount(video[few])[video[few]]
    quick, x = chain.model_copy(update={"restarts": 1, "max_iterations": 8}), directions(frames.x)
    statistics: list[tuple[Array, Array, Array, NDArray[np.int64]]] = []
    for _ in range(SEGMENTATIONS):
        labels = segment(x, frames.lengths, K, quick, generator).labels
        counts = np.zeros((V, int(labels.max()) + 1))
        np.add.at(counts, (video, labels), 1)
        means = np.zeros((counts.shape[1], z.shape[1]))
        np.add.at(means, labels, z)
        means /= np.maximum(counts.sum(axis=0), 1)[:, None]
        covariance = np.cov((z - means[labels]).T, bias=True)
        covariance *= 1 - SHRINKAGE
        covariance += SHRINKAGE * max(np.trace(covariance) / len(covariance), 1e-12) * np.eye(len(covariance))
        y = z @ np.linalg.cholesky(np.linalg.inv(covariance))
        sums = np.zeros((*counts.shape, y.shape[1]))
        np.add.at(sums, (video, labels), y)
        statistics.append((sums, counts, y[few], labels[few]))

    def share(places: Sequence[int]) -> float:
        others = np.where(np.isin(video[few], places), 0.0, weights)
        if not others.any():
            return 1.0
        right = 0.0
        for sums, counts, y, labels in statistics:
            has_samples = counts[places].sum(axis=0) > 0
            centres = sums[places].sum(axis=0)[has_samples] / counts[places].sum(axis=0)[has_samples][:, None]
            scores = y @ centres.T - 0.5 * np.square(centres).sum(axis=1)
            right += float(others[np.flatnonzero(has_samples)[scores.argmax(axis=1)] == labels].sum())
        return right / len(statistics) / float(others.sum())

    return share


def suggest_moments(
    frames: Frames,
    K: int,
    n: int,
    chain: MeanfieldSettings,
    generator: np.random.Generator,
    among: Collection[int] | None = None,
    kept: Kept | None = None,
) -> list[int]:
    r"""Return the ``n`` samples whose labels, added to the given ones, would say most about all other samples.

    Two samples are alike as far as they share clusters, averaged over R segmentations into K and 2 K clusters,

    .. math:: s_{ij} = \frac1R \sum_r \sum_k p^{(r)}_{ik} p^{(r)}_{jk}

    Samples are chosen greedily to maximise Σ_i max_j s_ij (facility location), where i runs over samples without a
    label, and j over samples that are already chosen or have a label.

    Parameters
    ----------
    frames
        Samples of V videos. Those with a ``given`` label are not suggested.
    K
        Number of key steps in the coarser segmentations.
    n
        Number of samples to choose, at most the number of samples without a label.
    chain, generator
        Settings and randomness of the segmentations.
    among
        Indices of videos whose samples may be chosen; by default all.
    kept
        A cache from an earlier call with the same settings and seed.

    Returns
    -------
    Indices of samples, in the order in which they were chosen.
    """
    given = np.full(len(frames.x), UNKNOWN) if frames.given is None else frames.given
    video = np.repeat(np.arange(len(frames.lengths)), frames.lengths)
    open_ = (given == UNKNOWN) & (True if among is None else np.isin(video, list(among)))
    some = np.union1d(learned_from(frames.lengths), video[given != UNKNOWN])
    rows, most = rows_of(frames.lengths, some), PER_VIDEO * len(some)
    if open_[rows].sum() < n:
        some, rows, most = np.arange(len(frames.lengths)), np.arange(len(video)), len(video)
    few, lengths, nearest = thinned([frames.lengths[at] for at in some], most)
    if open_[rows[few]].sum() < n:
        few, lengths, nearest = thinned([frames.lengths[at] for at in some], len(rows))
    x, quick = directions(frames.x[rows[few]]), chain.model_copy(update={"restarts": 1, "max_iterations": 8})

    def members_in(K: int) -> Array:
        every = [
            segment(x, lengths, min(number, len(x)), quick, generator).memberships
            for number in (K, 2 * K)
            for _ in range(LIKENESSES)
        ]
        return np.asarray(np.concatenate(every, axis=1) / np.sqrt(2 * LIKENESSES))

    members = (kept or Kept()).memberships(x, lengths, K, members_in)
    candidates = _evenly(open_[rows[few]], lengths, n)
    shared = members[candidates] @ members[candidates].T
    labelled = np.flatnonzero(given[rows] != UNKNOWN)
    best = (members[candidates] @ members[nearest[labelled]].T).max(axis=1, initial=0.0)
    chosen: list[int] = []
    for _ in range(n):
        gains = np.maximum(shared - best[:, None], 0).sum(axis=0)
        gains[chosen] = -1.0
        chosen.append(int(gains.argmax()))
        best = np.maximum(best, shared[:, chosen[-1]])
    return [int(rows[few[candidates[at]]]) for at in chosen]


def _evenly(open_: NDArray[np.bool_], lengths: Sequence[int], n: int) -> NDArray[np.int64]:
    """Return evenly spaced samples that may be suggested (``open_``, (T,)); all that may, if these are fewer than n."""
    each = max(FEWEST_MOMENTS, min(COMPARED_SAMPLES, MOMENTS // len(lengths)))
    places = [
        start + np.unique(np.linspace(0, T - 1, each + 2).round().astype(np.int64)[1:-1])
        for start, T in zip(first_samples(lengths), lengths, strict=True)
    ]
    candidates = np.concatenate(places)
    candidates = candidates[open_[candidates]]
    return candidates if len(candidates) >= n else np.flatnonzero(open_)


def frames_of(videos: Mapping[str, EmbeddedVideo], features_fps: float) -> Frames:
    """Return the concatenated samples of videos."""
    x = np.concatenate([video.embedding for video in videos.values()])
    return Frames(x, tuple(len(video.time_s) for video in videos.values()), features_fps)


def number_of_key_steps(segments: pd.DataFrame) -> int:
    """Return the number of key steps in a table of segments (``scope,key_step``), at least 2."""
    found = segments.loc[(segments["scope"] == "task") & (segments["key_step"] > 0), "key_step"]
    return max(int(found.nunique()), 2)


def videos_of(task: EmbeddedTask, annotated: Collection[str], K: int, seed: int, number: int) -> list[str]:
    """Return the ids of the ``number`` videos of a task to annotate next, the best first (`suggest`).

    Videos that are ``annotated`` (ids) are not suggested; the list is empty if all are.
    """
    order = list(task.videos)
    places = [place for place, video in enumerate(order) if video in annotated]
    if len(places) == len(order):
        return []
    frames, generator = frames_of(task.videos, task.features_fps), np.random.default_rng(seed)
    # Threads would slow down thousands of small products, and change the rounding of their sums.
    with threadpool_limits(limits=1):
        return [order[place] for place in suggest(frames, K, number, MeanfieldSettings(), generator, places)]


MOMENT_COLUMNS = ("video", "time_s", "label")
"""Columns of a table of moments to label. With labels filled in, its rows are marks."""


def moments_of(
    task: EmbeddedTask,
    given: Given | None,
    K: int,
    seed: int,
    number: int,
    closed: Collection[str] = (),
    kept: Kept | None = None,
) -> pd.DataFrame:
    """Return the ``number`` moments of a task to label next, as ``video,time_s,label`` with empty labels.

    The best moment is first (`suggest_moments`). Videos have their ids. Samples with ``given`` labels and ``closed``
    videos are not suggested. ``kept`` is a cache from an earlier call with the same seed.

    Raises
    ------
    RgwotError
        If there are fewer samples without a label.
    """
    import pandas as pd

    videos = {name: video if given is None else with_given(video, given, name) for name, video in task.videos.items()}
    known = [np.full(len(video.time_s), UNKNOWN) if video.given is None else video.given for video in videos.values()]
    frames = replace(frames_of(videos, task.features_fps), given=np.concatenate(known))
    among = [at for at, name in enumerate(videos) if name not in closed]
    left = sum(int((known[at] == UNKNOWN).sum()) for at in among)
    if number > left:
        raise RgwotError(
            f"moments: found {number}, expected at most {left}, the number of samples without a label; ask for fewer"
        )
    with threadpool_limits(limits=1):
        places = suggest_moments(frames, K, number, MeanfieldSettings(), np.random.default_rng(seed), among, kept)
    names = np.repeat(list(videos), frames.lengths)
    times_s = np.concatenate([video.time_s for video in videos.values()])
    return pd.DataFrame(dict(zip(MOMENT_COLUMNS, (names[places], times_s[places], ""), strict=True)))
