"""Whether a video, and each part of it, looks like the videos that a result was learned from, and is about as long.

The features of some samples of each video, averaged over space and standardised by channel, are compared: a video lies
as far from others as the median of its samples' distances to their nearest samples. Another take of the same task lies
about as far from the videos of the study as these do from each other; a test pattern, a black picture or another task
lies several times as far away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rgwot.embedding.interface import VideoFeatures
from rgwot.embedding.values import SHOWS, unusual_lengths, usual_length

FAR = 2.5
"""A video is reported if it lies this many times as far away as the farthest video of the study from the others.

On twelve tasks of people and robots, held-out recordings lie at most 1.5 times as far; test patterns, and a video of
another task, more than 5 times as far from eight takes of hand washing.
"""

STRANGE, STRANGE_SHARE = 1.5, 1 / 7
"""A part of a video is reported if it has at least this share of the samples, and each of these lies this many times as
far away as 95 % of the samples of any video of the study lie from the other videos.

In 267 held-out recordings of eleven tasks, at most 7 % of the samples lie so far away; in takes of hand washing with
black parts, just these parts do.
"""

SAMPLES, PER_VIDEO = 600, 100
"""Largest number of samples that are kept, of all videos together and of one video."""

_LEAST = 0.05
"""Least distance that counts as usual, relative to that of independent samples; videos with the same few values are
nearly equal."""


def likeness(videos: Sequence[VideoFeatures]) -> dict[str, NDArray[np.floating]]:
    """Return the arrays that `far_from`, `unlike_told` and `length_told` need.

    ``mean``, ``scale`` (C,) and ``samples`` (n, C) are of the features, ``usual`` () is the largest distance of a video
    from the others, ``nearly_all`` () the largest distance within which 95 % of the samples of a video are, and
    ``length_s`` () the usual length, if it is known. With fewer than two videos, the result is empty.
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
    # Once for all videos, because finding the thread pools takes longer than the distances.
    with threadpool_limits(limits=1):
        distances = [_distances(one, np.concatenate(scaled[:at] + scaled[at + 1 :])) for at, one in enumerate(scaled)]
    usual, nearly_all = (
        max(*(float(np.quantile(one, share)) for one in distances), _LEAST * np.sqrt(2 * every.shape[1]))
        for share in (0.5, 0.95)
    )
    known = {
        "mean": every.mean(axis=0),
        "scale": scale,
        "samples": np.concatenate(scaled).astype(np.float32),
        "usual": np.asarray(usual),
        "nearly_all": np.asarray(nearly_all),
    }
    length_s = np.asarray(usual_length([video.duration_s for video in videos]))
    return known if np.isnan(length_s) else {**known, "length_s": length_s}


def check_likeness(known: Mapping[str, NDArray[np.floating]], channels: int) -> None:
    """Raise ValueError if the arrays of `likeness` do not fit each other, or not the number of ``channels``."""
    if not known:
        return
    shapes = {"mean": (channels,), "scale": (channels,), "samples": (len(known["samples"]), channels), "usual": ()}
    shapes |= {name: () for name in ("nearly_all", "length_s") if name in known}
    for name, shape in shapes.items():
        if known[name].shape != shape:
            raise ValueError(f"{name} of shape {known[name].shape}, expected {shape}")
    if not len(known["samples"]):
        raise ValueError("no samples")
    for name in shapes.keys() - {"mean", "samples"}:
        if not (known[name] > 0).all():
            raise ValueError(f"{name} is not above 0")
    if not all(np.isfinite(known[name]).all() for name in shapes):
        raise ValueError("not all numbers are finite")


def far_from(known: Mapping[str, NDArray[np.floating]], video: VideoFeatures) -> float:
    """Return how far a video lies from the study, relative to the study's farthest video; 0 if that is unknown."""
    if not known:
        return 0.0
    return float(np.median(_from_known(known, video))) / float(known["usual"])


def unlike_told(known: Mapping[str, NDArray[np.floating]], video: VideoFeatures) -> str:
    """Return a warning if a video, or a part of it, looks like no video of the study, otherwise an empty text."""
    times = far_from(known, video)
    # Written so that NaN is reported, too.
    if not times <= FAR:
        return (
            f"looks like none of the videos of the study ({times:.1f} times as far away as any of them from the "
            f"others, expected at most {FAR:g}), so its key steps mean nothing; is it of this task?"
        )
    # Bundles of earlier versions lack this array.
    if "nearly_all" not in known:
        return ""
    strange = _from_known(known, video) > STRANGE * float(known["nearly_all"])
    if strange.mean() < STRANGE_SHARE:
        return ""
    # The compared samples are evenly spaced, so the share of strange samples is a share of time.
    first_s, last_s = (video.time_s[_chosen(video, PER_VIDEO)[np.flatnonzero(strange)[at]]] for at in (0, -1))
    return (
        f"looks like none of the videos of the study in {strange.mean():.0%} of its time, between {first_s:.3g} and "
        f"{last_s:.3g} s, where its key steps mean nothing; does it show something else there?"
    )


def length_told(known: Mapping[str, NDArray[np.floating]], video: VideoFeatures) -> str:
    """Return a warning if a video is far longer or shorter than those of the study, otherwise an empty text."""
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


def _from_known(known: Mapping[str, NDArray[np.floating]], video: VideoFeatures) -> NDArray[np.float64]:
    """Return the distances of evenly chosen samples of a video to the nearest samples of the study."""
    x = (_means(video, PER_VIDEO) - known["mean"]) / known["scale"]
    with threadpool_limits(limits=1):
        return _distances(x, known["samples"].astype(np.float64))


def _chosen(video: VideoFeatures, count: int) -> NDArray[np.int64]:
    """Return the indices of ``count`` evenly chosen samples of a video, or of all samples if it is shorter."""
    return np.unique(np.linspace(0, len(video) - 1, min(count, len(video))).round().astype(np.int64))


def _means(video: VideoFeatures, count: int) -> NDArray[np.float64]:
    """Return the spatial means of evenly chosen samples of a video, (n, C)."""
    return np.asarray(video.frames(_chosen(video, count)).mean(axis=(2, 3), dtype=np.float64))


def _distances(x: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of each sample to the nearest of the others."""
    squares = np.square(x).sum(axis=1)[:, None] + np.square(others).sum(axis=1) - 2 * x @ others.T
    return np.asarray(np.sqrt(np.maximum(squares.min(axis=1), 0)))
