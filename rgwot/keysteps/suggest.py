"""Suggestion of videos to annotate (methods 5.10)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rgwot.embedding.interface import EmbeddedVideo
from rgwot.keysteps.consensus import Components, in_context
from rgwot.keysteps.interface import Array, Frames, directions, first_samples, learned_from
from rgwot.keysteps.meanfield import segment
from rgwot.keysteps.settings import MeanfieldSettings

SEGMENTATIONS = 8
"""Number of mean-field segmentations that take the place of human labels."""

COMPARED_SAMPLES = 40
"""Largest number of samples per video on which the accuracy is measured."""

VIDEOS = 200
"""Largest number of videos that are compared; of more videos, or if only some are learned from (`learned_from`), evenly
spaced ones are compared."""

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
        Key steps of the segmentations.
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
    taught = _taught(frames.of(compared), K, chain, generator)
    fixed = [compared.index(place) for place in labelled]
    candidates = [at for at, place in enumerate(compared) if place in eligible and at not in fixed]
    chosen: list[int] = []
    for _ in range(min(n, len(candidates))):
        open_places = [place for place in candidates if place not in chosen]
        chosen.append(max(open_places, key=lambda place: taught([*fixed, *chosen, place])))
    best, improved = (taught([*fixed, *chosen]) if chosen else 0.0), True
    while improved:
        improved = False
        for at in range(len(chosen)):
            for place in candidates:
                other = [*chosen[:at], place, *chosen[at + 1 :]]
                if place not in chosen and (value := taught([*fixed, *other])) > best + 1e-9:
                    chosen, best, improved = other, value, True
    return [compared[at] for at in chosen]


def _taught(
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


def frames_of(videos: Mapping[str, EmbeddedVideo], features_fps: float) -> Frames:
    """Return the concatenated samples of videos."""
    x = np.concatenate([video.embedding for video in videos.values()])
    return Frames(x, tuple(len(video.time_s) for video in videos.values()), features_fps)
