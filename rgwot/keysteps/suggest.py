"""Which videos are worth annotating first (methods 5.9)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rgwot.embedding.interface import EmbeddedVideo
from rgwot.keysteps.consensus import Array, Components, in_context
from rgwot.keysteps.interface import Frames

SAMPLES = 40
"""Samples of a video, at most, by which it is compared with others."""


def suggest(frames: Frames, n: int, labelled: Collection[int] = (), among: Collection[int] | None = None) -> list[int]:
    r"""Return the ``n`` videos that, together with those that have labels, are most like all others.

    .. math:: \min_{M} \sum_v \frac{1}{T_v} \sum_{i \in v} \min_{j \in M} |z_i - z_j|

    over sets M of videos that contain the labelled ones, z a sample in its context with its relative time, as
    classifiers see it. The best video is added one by one, and then changed for another as long as that is better.

    Parameters
    ----------
    frames
        Samples of V videos.
    n
        How many, at most V less the labelled ones.
    labelled
        Places of videos that have labels already.
    among
        Places of videos that may be chosen; None: all.

    Returns
    -------
    Places of videos, the one worth most first.
    """
    distances = _distances(frames)
    candidates = [place for place in (range(len(distances)) if among is None else among) if place not in labelled]
    chosen: list[int] = []

    def cost(places: Sequence[int]) -> float:
        return float(distances[[*labelled, *places]].min(axis=0).sum())

    for _ in range(min(n, len(candidates))):
        rest = [place for place in candidates if place not in chosen]
        chosen.append(min(rest, key=lambda place: cost([*chosen, place])))
    best = cost(chosen) if chosen else 0.0
    improved = True
    while improved:
        improved = False
        for at in range(len(chosen)):
            for place in candidates:
                other = [*chosen[:at], place, *chosen[at + 1 :]]
                if place not in chosen and cost(other) < best * (1 - 1e-9):
                    chosen, best, improved = other, cost(other), True
    return chosen


def frames_of(videos: Mapping[str, EmbeddedVideo], features_fps: float) -> Frames:
    """Return the samples of videos one after the other."""
    x = np.concatenate([video.embedding for video in videos.values()])
    return Frames(x, tuple(len(video.time_s) for video in videos.values()), features_fps)


def _distances(frames: Frames) -> Array:
    """Return (V, S): from each video, the distance of every compared sample of all videos, divided by their number."""
    seen = in_context(frames, timed=True)
    z = Components.fit(seen, 1).apply(seen)
    videos = np.split(z, np.cumsum(frames.lengths)[:-1])
    few = [video[np.unique(np.linspace(0, len(video) - 1, SAMPLES).round().astype(np.int64))] for video in videos]
    every: NDArray[np.float64] = np.concatenate(few)
    weights = np.concatenate([np.full(len(video), 1 / len(video)) for video in few])
    squares = np.square(every).sum(axis=1)
    found = np.empty((len(few), len(every)))
    for place, video in enumerate(few):
        apart = squares[:, None] + np.square(video).sum(axis=1) - 2 * every @ video.T
        found[place] = np.sqrt(np.maximum(apart.min(axis=1), 0)) * weights
    return found
