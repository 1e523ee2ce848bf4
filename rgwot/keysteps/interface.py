"""What a decoder is given and what it gives back, and the parts that a task of many videos is decoded in.

Decoders are entries of `rgwot.config.methods.DECODERS`: a function of frames, K, a generator and the blocks of settings
that the entry names, and a `Restore` where other videos can be labelled later, from a bundle (`rgwot.bundles`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rgwot.blocks import Block
from rgwot.timing import thinned


@dataclass(frozen=True)
class Frames:
    """Embeddings x (T, D) of one or several videos, one video after the other, and the samples of each.

    ``features_fps`` is samples per second of video, ``native_fps`` the frames per second of each video; left out, every
    frame was sampled. The last ``place`` columns of x are the relative time (`rgwot.keysteps.extended.with_time`).
    ``given`` (T,), where people annotated some videos, are the labels that they say: one of 0..K-1, `NO_CLUSTER` for
    background, or `UNKNOWN`.
    """

    x: NDArray[np.float64]
    lengths: tuple[int, ...]
    features_fps: float
    native_fps: tuple[float, ...] = ()
    place: int = 0
    given: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if not self.native_fps:
            object.__setattr__(self, "native_fps", (self.features_fps,) * len(self.lengths))

    def of(self, videos: Sequence[int] | NDArray[np.int64]) -> Frames:
        """Return the samples of the videos at these places."""
        rows = rows_of(self.lengths, videos)
        return replace(
            self,
            x=self.x[rows],
            lengths=tuple(self.lengths[v] for v in videos),
            native_fps=tuple(self.native_fps[v] for v in videos),
            given=None if self.given is None else self.given[rows],
        )


NO_CLUSTER = -1
"""Label of a sample that a decoder puts into none of its clusters; its key step is 0."""

UNKNOWN = -2
"""What people say of a sample of which they say nothing."""

MOST_SAMPLES = 100_000
"""Samples of a task by which our own decoder and the tree of key steps are made; longer tasks are thinned evenly."""

Predict = Callable[[Frames], "Decoded"]
"""Samples of other videos -> their labels by a clustering that is not touched by them."""

Learned = Mapping[str, NDArray[Any]]
"""What a clustering learned from its samples, as arrays that can be kept."""

Restore = Callable[..., Predict]
"""What was learned, K, and the blocks of the decoder -> how other videos are labelled by it."""


@dataclass(frozen=True)
class Decoded:
    """Labels (T,) of `Frames` in 0..K-1, or `NO_CLUSTER`, and how they came about.

    ``memberships`` (T, K) are those before any smoothing, for decoders that have them. ``facts`` go to
    ``diagnostics.json``: plain numbers, strings and dictionaries. ``predict`` is how this clustering labels videos it
    was not made from; None for a decoder that cannot, which is then refused where videos are held out. ``learned``
    gives what ``predict`` is made from, where that can be kept. ``twice`` are two labellings (T,) that differ about as
    much as those of two seeds, of decoders that need not be run again for them. ``members`` are other labellings (T,)
    of the same evidence or of parts of it, in the numbers of the ``labels``, `UNKNOWN` for samples of videos that they
    leave out: what occurs in most of them is no accident.
    """

    labels: NDArray[np.int64]
    memberships: NDArray[np.float64] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    predict: Predict | None = None
    learned: Callable[[], Learned] | None = None
    twice: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    members: tuple[NDArray[np.int64], ...] = ()

    def inductive(self, restore: Restore, learned: Callable[[], Learned], K: int, *blocks: Block) -> Decoded:
        """Return the same, able to label other videos by what was learned, today as from a bundle."""
        return replace(self, predict=lambda others: restore(learned(), K, *blocks)(others), learned=learned)


Decode = Callable[[Frames, int, np.random.Generator], Decoded]
"""frames, K, generator -> labels, by a decoder with its settings. The generator is the only source of randomness."""


@dataclass(frozen=True)
class Given:
    """What people say of the samples of some videos.

    Attributes
    ----------
    labels
        By video id, the key step (T,) of every sample: a number from 1, 0 for background, -1 where nothing is said.
    names
        What key steps are called, where they have names.
    K
        Largest number of a key step, whether or not it is in any of the ``labels``.
    """

    labels: Mapping[str, NDArray[np.int64]]
    names: Mapping[int, str]
    K: int


def first_samples(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return where each video begins among the samples of all, (V,)."""
    sizes = np.asarray(lengths, dtype=np.int64)
    return np.asarray(np.cumsum(sizes) - sizes)


def rows_of(lengths: Sequence[int], videos: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the samples of the videos at these places, one video after the other.

    >>> rows_of([2, 1, 3], [2, 0]).tolist()
    [3, 4, 5, 0, 1]
    """
    starts = first_samples(lengths)
    return np.concatenate([np.arange(starts[v], starts[v] + lengths[v]) for v in videos])


def directions(x: NDArray[Any]) -> NDArray[np.float64]:
    """Scale rows (T, D) to length 1; a row of zeros stays."""
    samples = np.asarray(x, dtype=np.float64)
    norms = np.linalg.norm(samples, axis=1, keepdims=True)
    return np.asarray(np.divide(samples, norms, out=np.zeros_like(samples), where=norms > 0))


def middle_times(lengths: Sequence[int]) -> NDArray[np.float64]:
    """Return (i + 1/2) / T of every sample i = 0..T-1 of videos one after the other, (sum of T,), inside (0, 1)."""
    return np.concatenate([(np.arange(length) + 0.5) / length for length in lengths])


PER_VIDEO = 150
"""Mean number of samples per video to segment in a task of several videos; a mean-field window then has seven."""

MOST_LEARNED = 20_000
"""Samples that are learned from, `PER_VIDEO` at most of each video, before a task counts as one of many videos."""

LEARNED = 10_000
"""Samples of many videos that are learned from. Two seeds of the consensus then agree as well as with twice as many, at
half the time."""


def learned_from(lengths: Sequence[int], most: int | None = None) -> NDArray[np.int64]:
    """Return the places of the videos to learn from, ascending: all, or evenly spaced ones.

    All where ``lengths``, thinned to `PER_VIDEO` samples per video, are at most `MOST_LEARNED` samples; else as many
    videos as have about ``most`` of them, by default `LEARNED`.
    """
    V, samples = len(lengths), sum(thinned(lengths, PER_VIDEO * len(lengths))[1])
    n = V if samples <= MOST_LEARNED else max(2, V * (most or LEARNED) // samples)
    return np.linspace(0, V - 1, n).round().astype(np.int64)


def in_parts(lengths: Sequence[int], videos: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Divide the videos at some places into parts of about `MOST_LEARNED` samples, which bounds memory."""
    sizes = np.cumsum(np.asarray(lengths)[videos])
    return np.split(videos, np.flatnonzero(np.diff(sizes // MOST_LEARNED)) + 1)


def decode_by_some(
    frames: Frames, some: NDArray[np.int64], learn: Predict, rule: Callable[[Decoded], Predict]
) -> Decoded:
    """Decode the videos at some places, and label the others by a rule made of what was learned from these.

    ``twice``, ``members`` and the facts, to which ``videos`` adds how many were learned from, are those of the videos
    at these places. The others come `in_parts`.
    """
    made, rest = learn(frames.of(some)), np.setdiff1d(np.arange(len(frames.lengths)), some)
    if not len(rest):
        return made
    predict, found = rule(made), [(some, made)]
    found += [(part, predict(frames.of(part))) for part in in_parts(frames.lengths, rest)]
    back = np.argsort(np.concatenate([rows_of(frames.lengths, part) for part, _ in found]))
    members = np.full((len(made.members), sum(frames.lengths)), UNKNOWN)
    for own, member in zip(made.members, members, strict=True):
        member[rows_of(frames.lengths, some)] = own
    memberships = [said.memberships for _, said in found if said.memberships is not None]
    return replace(
        made,
        labels=np.concatenate([said.labels for _, said in found])[back],
        memberships=np.concatenate(memberships)[back],
        members=tuple(members),
        facts={name: {**facts, "videos": len(some)} for name, facts in made.facts.items()},
    )
