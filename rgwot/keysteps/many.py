"""Tasks of many videos: a decoder learns from some of them and labels the others by what it learned (methods 5.8).

Its answer is no better for more than some ten thousand samples, each of which costs hundreds of segmentations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.interface import UNKNOWN, Decoded, Frames, Predict, rows_of
from rgwot.timing import thinned

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
