"""Whether a video looks like those that a result was learned from, and is as long as they are.

The features of some samples of each video, averaged over space and standardised by channel, are compared: a video lies
as far from others as the median of its samples' distances to their nearest samples. Another take of the same task lies
about as far from the videos of the study as these from each other; a test pattern, a black picture or another task lies
several times as far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rgwot.embedding.interface import VideoFeatures
from rgwot.embedding.values import SHOWS, unusual_lengths, usual_length

FAR = 2.5
"""A video is told if it lies this many times as far as the farthest video of the study from the others.

On twelve tasks of people and robots, held-out recordings lie at most 1.5 times as far; test patterns, and a video of
another task, more than 5 times as far from eight takes of hand washing.
"""

SAMPLES, PER_VIDEO = 600, 100
"""Most samples that are kept, of all videos and of one."""

_LEAST = 0.05
"""Two videos of the same few values are not exactly equal: least distance, relative to that of independent ones."""


def likeness(videos: Sequence[VideoFeatures]) -> dict[str, NDArray[np.floating]]:
    """Return as arrays what `far_from` and `length_told` need.

    ``mean``, ``scale`` (C,) and ``samples`` (n, C) are of the features, ``usual`` () is the largest distance of a video
    from the others, and ``length_s`` () the usual length. With fewer than two videos nothing is known.
    """
    if len(videos) < 2:
        return {}
    count = min(PER_VIDEO, max(2, SAMPLES // len(videos)))
    means = [_means(video, count) for video in videos]
    every = np.concatenate(means)
    scale = every.std(axis=0)
    # A channel that hardly varies in the study would outweigh all others.
    scale = np.maximum(scale, 0.01 * max(float(np.sqrt(np.square(scale).mean())), 1e-12))
    scaled = [(mean - every.mean(axis=0)) / scale for mean in means]
    distances = [_distance(one, np.concatenate(scaled[:at] + scaled[at + 1 :])) for at, one in enumerate(scaled)]
    usual = max(*distances, _LEAST * np.sqrt(2 * every.shape[1]))
    samples = np.concatenate(scaled).astype(np.float32)
    return {
        "mean": every.mean(axis=0),
        "scale": scale,
        "samples": samples,
        "usual": np.asarray(usual),
        "length_s": np.asarray(usual_length([video.duration_s for video in videos])),
    }


def far_from(known: Mapping[str, NDArray[np.floating]], video: VideoFeatures) -> float:
    """Return how many times as far a video lies as the farthest video of the study; 0 if that is unknown."""
    if not known:
        return 0.0
    x = (_means(video, PER_VIDEO) - known["mean"]) / known["scale"]
    return _distance(x, known["samples"].astype(np.float64)) / float(known["usual"])


def length_told(known: Mapping[str, NDArray[np.floating]], video: VideoFeatures) -> str:
    """Return a line if a video is far longer or shorter than those of the study, otherwise an empty text."""
    if "length_s" not in known:
        return ""
    usual_s = float(known["length_s"])
    word = unusual_lengths({video.video: video.duration_s}, usual_s).get(video.video)
    return (
        ""
        if word is None
        else (
            f"is far {word} ({video.duration_s:.3g} s) than the videos of the study (median {usual_s:.3g} s); check "
            f"that it shows the {SHOWS[word]}"
        )
    )


def _means(video: VideoFeatures, count: int) -> NDArray[np.float64]:
    """Return the spatial means of evenly chosen samples of a video, (n, C)."""
    chosen = np.unique(np.linspace(0, len(video) - 1, min(count, len(video))).round().astype(np.int64))
    return np.asarray(video.frames(chosen).mean(axis=(2, 3), dtype=np.float64))


def _distance(x: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Return the median distance of samples to the nearest of the others."""
    with threadpool_limits(limits=1):
        squares = np.square(x).sum(axis=1)[:, None] + np.square(others).sum(axis=1) - 2 * x @ others.T
    return float(np.median(np.sqrt(np.maximum(squares.min(axis=1), 0))))
