"""The interface of decoders, and the division of tasks with many videos into parts.

A decoder is a model (`rgwot.keysteps.settings.Decoder`) that names a function of frames, K, a generator and the model.
If it also names a function for other videos (``RESTORE``) and the first returns what it learned
(`Decoded.learned`), other videos can be labelled: those held out, and later those of a bundle (`rgwot.bundles`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rgwot.diagnostics import Facts
from rgwot.embedding.interface import Learned as Learned
from rgwot.timing import thinned

Array = NDArray[np.float64]
Scalar = TypeVar("Scalar", bound=np.generic)
"""Type of the entries of an array."""


@dataclass(frozen=True)
class Frames:
    """Concatenated embeddings x (T, D) of one or several videos, and the number of samples of each.

    ``features_fps`` is the number of samples per second, ``native_fps`` the frames per second of each video; by
    default, every frame was sampled. The last ``place`` columns of x are the relative time
    (`rgwot.keysteps.common_time.with_time`). ``given`` (T,) are the labels of annotated videos, if any: 0..K-1,
    `NO_CLUSTER` for background, or `UNKNOWN`. ``marked`` (T,) are the samples whose label is a mark, if any.
    """

    x: NDArray[np.float64]
    lengths: tuple[int, ...]
    features_fps: float
    native_fps: tuple[float, ...] = ()
    place: int = 0
    given: NDArray[np.int64] | None = None
    marked: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if not self.native_fps:
            object.__setattr__(self, "native_fps", (self.features_fps,) * len(self.lengths))

    def of(self, videos: Sequence[int] | NDArray[np.int64]) -> Frames:
        """Return the samples of the videos with these indices."""
        rows = rows_of(self.lengths, videos)
        return replace(
            self,
            x=self.x[rows],
            lengths=tuple(self.lengths[v] for v in videos),
            native_fps=tuple(self.native_fps[v] for v in videos),
            given=None if self.given is None else self.given[rows],
            marked=None if self.marked is None else self.marked[rows],
        )


NO_CLUSTER = -1
"""Label of a sample without a cluster; its key step is 0."""

UNKNOWN = -2
"""Label of a sample that is not annotated."""

MOST_SAMPLES = 100_000
"""Most samples for the decoder `consensus` and the tree of key steps; longer tasks are thinned evenly."""

Predict = Callable[[Frames], "Decoded"]
"""A function from the samples of other videos to their labels by a fixed clustering."""

Restore = Callable[[Learned, int], Predict]
"""A function from the learned parameters and K to the function that labels other videos; its settings are bound."""


@dataclass(frozen=True)
class Decoded:
    """Labels (T,) of `Frames` in 0..K-1, or `NO_CLUSTER`, with further results of the decoder.

    ``memberships`` (T, K) are those before any smoothing, if the decoder has them. ``facts`` are its part of
    ``diagnostics.json``, by the names of the blocks. ``learned`` are the parameters from which the `Restore` of the
    decoder labels other videos by this clustering; without them, no videos can be held out and no bundle can be made.
    ``twice`` are two labellings (T,) that differ about as much as those of two seeds, if the decoder has them without
    a second run. ``members`` are other labellings (T,) of the same samples or a part of them, with the numbers of
    ``labels``, and `UNKNOWN` for videos that they leave out; the sureness of deviations follows from them.
    """

    labels: NDArray[np.int64]
    memberships: NDArray[np.float64] | None = None
    facts: Mapping[str, Facts | float] = field(default_factory=dict)
    learned: Learned | None = None
    twice: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    members: tuple[NDArray[np.int64], ...] = ()


Decode = Callable[[Frames, int, np.random.Generator], Decoded]
"""A decoder with its settings: frames, K and the generator (the only source of randomness) -> labels."""


@dataclass(frozen=True)
class Given:
    """Labels of the samples of some videos.

    Attributes
    ----------
    labels
        Key steps (T,) by video id: from 1, 0 for background, -1 for unlabelled samples.
    names
        Names of key steps, if they have any.
    K
        Largest number of a key step, whether or not it occurs in ``labels``.
    marks
        Whether the label of a sample (T,) is a mark, by video id; videos without a mark may be missing. A mark gives
        the key step of one moment: this is not a whole segment, and neighbouring samples may have the same key step.
    silence
        How time without a segment is read in videos that have segments, by video id: one of `rgwot.timing.SILENCES`, or
        ``between`` if none of them was given.
    doubts
        Messages (one line each) about labels that are probably mistakes.
    """

    labels: Mapping[str, NDArray[np.int64]]
    names: Mapping[int, str]
    K: int
    marks: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    silence: Mapping[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


def first_samples(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return the index (V,) of each video's first sample among all samples."""
    sizes = np.asarray(lengths, dtype=np.int64)
    return np.asarray(np.cumsum(sizes) - sizes)


def rows_of(lengths: Sequence[int], videos: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the samples of the videos with these indices, one video after the other.

    >>> rows_of([2, 1, 3], [2, 0]).tolist()
    [3, 4, 5, 0, 1]
    """
    starts = first_samples(lengths)
    return np.concatenate([np.arange(starts[v], starts[v] + lengths[v]) for v in videos])


def directions(x: NDArray[np.floating]) -> NDArray[np.float64]:
    """Scale rows to length 1; rows of zeros do not change.

    Parameters
    ----------
    x
        Samples (T, D).
    """
    samples = np.asarray(x, dtype=np.float64)
    norms = np.linalg.norm(samples, axis=1, keepdims=True)
    return np.asarray(np.divide(samples, norms, out=np.zeros_like(samples), where=norms > 0))


def middle_times(lengths: Sequence[int]) -> NDArray[np.float64]:
    """Return (i + 1/2) / T for every sample i = 0..T-1 of concatenated videos, inside (0, 1)."""
    return np.concatenate([(np.arange(length) + 0.5) / length for length in lengths])


PER_VIDEO = 150
"""Largest mean number of samples per video in a task of several videos; a mean-field window then has seven samples."""

MOST_LEARNED = 10_000
"""Most samples to learn from, after thinning to `PER_VIDEO` per video; if there are more, only some of the videos are
learned from. With twice as many samples, two seeds of the consensus agree no better, and it takes twice the time."""


def learned_from(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return the indices of the videos to learn from, ascending: all videos, or evenly spaced ones.

    All videos are used if their ``lengths``, thinned to `PER_VIDEO` samples per video, add up to at most
    `MOST_LEARNED`; otherwise as many videos as have about this number of samples.
    """
    V, samples = len(lengths), sum(thinned(lengths, PER_VIDEO * len(lengths))[1])
    n = V if samples <= MOST_LEARNED else max(2, V * MOST_LEARNED // samples)
    return np.linspace(0, V - 1, n).round().astype(np.int64)


MOST_AT_ONCE = 20_000
"""Approximate number of samples that are labelled at once."""


def in_parts(lengths: Sequence[int], videos: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Divide some videos into parts of about `MOST_AT_ONCE` samples, to bound memory."""
    sizes = np.cumsum(np.asarray(lengths)[videos])
    return np.split(videos, np.flatnonzero(np.diff(sizes // MOST_AT_ONCE)) + 1)


def decode_by_some(
    frames: Frames, some: NDArray[np.int64], learn: Predict, restore: Callable[[Decoded], Predict]
) -> Decoded:
    """Decode the videos with the indices ``some``, and label the others by what the result has learned (``restore``).

    ``twice``, ``members`` and the facts (with the number of ``videos`` learned from) are those of the decoded videos.
    The others are labelled `in_parts`.
    """
    decoded, others = learn(frames.of(some)), np.setdiff1d(np.arange(len(frames.lengths)), some)
    if not len(others):
        return decoded
    predict, results = restore(decoded), [(some, decoded)]
    results += [(part, predict(frames.of(part))) for part in in_parts(frames.lengths, others)]
    back = np.argsort(np.concatenate([rows_of(frames.lengths, part) for part, _ in results]))
    members = np.full((len(decoded.members), sum(frames.lengths)), UNKNOWN)
    for labels, member in zip(decoded.members, members, strict=True):
        member[rows_of(frames.lengths, some)] = labels
    memberships = [result.memberships for _, result in results if result.memberships is not None]
    return replace(
        decoded,
        labels=np.concatenate([result.labels for _, result in results])[back],
        memberships=np.concatenate(memberships)[back],
        members=tuple(members),
        facts={
            name: replace(facts, videos=len(some)) if isinstance(facts, Facts) else facts
            for name, facts in decoded.facts.items()
        },
    )


def matched(labels: NDArray[np.int64], to: NDArray[np.int64], K: int) -> NDArray[np.int64]:
    """Renumber labels (T,) in 0..K-1 one to one, so that as many as possible equal the labels ``to`` (T,).

    >>> matched(np.array([2, 2, 0, 0, 1]), np.array([0, 0, 1, 1, 1]), 3).tolist()
    [0, 0, 1, 1, 2]
    """
    from scipy.optimize import linear_sum_assignment

    shared = np.bincount(labels * K + to, minlength=K * K).reshape(K, K)
    numbers = linear_sum_assignment(-shared)[1]
    return np.asarray(numbers[labels], dtype=np.int64)


def differ(first: NDArray[np.int64], second: NDArray[np.int64], K: int) -> float:
    """Return the share of samples in which two labellings (T,) in 0..K-1 differ, numbered as alike as possible.

    >>> differ(np.array([0, 0, 1, 1]), np.array([1, 1, 1, 0]), 2)
    0.25
    """
    return float(np.mean(matched(first, second, K) != second))
