"""What one iteration sees: a pair of videos, sorted random frames of each, and the context of every frame.

Every draw is a function of the seed and the iteration, never of what was drawn before: a resumed run needs no
saved random state, and changing the accumulation does not change the pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

ContextSide = Literal["after", "before", "both"]


class Stream(IntEnum):
    """Independent random streams of one seed."""

    WEIGHTS = 0
    VIDEOS = 1
    PAIRS = 2
    DROPOUT = 3
    ALIGNMENT = 4
    LOSS = 5


@dataclass(frozen=True)
class Pair:
    """Two different videos and, for each, N sorted frame indices."""

    videos: tuple[int, int]
    frames: tuple[NDArray[np.int64], NDArray[np.int64]]


def generator(seed: int, stream: Stream, iteration: int = 0) -> np.random.Generator:
    """Return the generator of one iteration of one stream."""
    return np.random.default_rng([seed, int(stream), iteration])


def draw_frames(length: int, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw ``n`` distinct frames of a video, uniformly from [0, length), sorted (methods 3.2).

    A video shorter than ``n`` frames, but of one at least, gives all of them, and the rest by sampling with repetition.
    """
    if length >= n:
        return np.sort(rng.choice(length, size=n, replace=False)).astype(np.int64)
    repeated = rng.integers(0, length, size=n - length)
    return np.sort(np.concatenate([np.arange(length), repeated])).astype(np.int64)


def draw_pair(lengths: NDArray[np.int64], n: int, rng: np.random.Generator) -> Pair:
    """Draw an ordered pair of different videos uniformly, and ``n`` frames of each (methods 3.2).

    ``lengths`` holds the frames of every video, of at least two.
    """
    first, second = (int(video) for video in rng.choice(len(lengths), size=2, replace=False))
    return Pair((first, second), (draw_frames(int(lengths[first]), n, rng), draw_frames(int(lengths[second]), n, rng)))


def draw_videos(available: int, n_train: int, seed: int) -> NDArray[np.int64]:
    """Choose which ``n_train`` of the at least as many ``available`` videos are trained on, sorted.

    Of one seed, the choice of n videos is contained in the choice of n + 1.
    """
    return np.sort(generator(seed, Stream.VIDEOS).permutation(available)[:n_train])


def context_offsets(c: int, context_s: float, fps: float, side: ContextSide) -> NDArray[np.int64]:
    """Return the offsets, in frames and in order of time, of a stack of ``c`` frames, the sampled one included.

    Neighbours are ``context_s`` seconds apart: the k-th context frame is round(k context_s fps) frames of the features
    away, and at least k, so that context frames differ. ``after``: the sampled frame is the first; ``before``: the
    last; ``both``: in the middle, with one more frame after than before when ``c`` is even.
    """
    steps = [max(k, math.floor(k * context_s * fps + 0.5)) for k in range(c)]
    before = {"after": 0, "before": c - 1, "both": (c - 1) // 2}[side]
    after = c - 1 - before
    return np.array([-step for step in steps[before:0:-1]] + steps[: after + 1], dtype=np.int64)


def with_context(frames: NDArray[np.int64], offsets: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Return the (n, c) stacks of sampled frames, clamped to the ends of the video (methods 3.2)."""
    stacks: NDArray[np.int64] = np.clip(frames[:, None] + offsets[None, :], 0, length - 1)
    return stacks
