"""The frames that show best what a key step is: those nearest to the mean of its cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Frames shown of every key step.
TYPICAL = 6
#: Seconds between two typical frames of one video; nearer ones look the same.
APART_S = 2.0


class Samples(NamedTuple):
    """Embeddings (T, D), times (T,) in seconds and key steps (T,) of one video."""

    embedding: NDArray[Any]
    time_s: NDArray[Any]
    key_step: NDArray[Any]


class TypicalFrame(NamedTuple):
    """A sample of a video, and its Euclidean distance to the mean of its key step."""

    video: str
    time_s: float
    distance: float


def typical_frames(videos: Mapping[str, Samples], n: int = TYPICAL) -> dict[int, list[TypicalFrame]]:
    """Return the most typical frames of every key step, nearest to the mean of its samples, different videos first.

    The nearest sample of every video comes first, videos in the order of their distances; where they are fewer
    than ``n``, the second one of every video follows, at least `APART_S` from the first, and so on.

    Parameters
    ----------
    videos
        Samples of the videos by id.
    n
        Frames per key step at most.

    Returns
    -------
    dict
        Key steps in ascending order.
    """
    # 0 is what a method calls background.
    steps = sorted({int(step) for samples in videos.values() for step in np.unique(samples.key_step)} - {0})
    return {step: _typical(videos, step, n) for step in steps}


def _typical(videos: Mapping[str, Samples], step: int, n: int) -> list[TypicalFrame]:
    own = {name: np.flatnonzero(samples.key_step == step) for name, samples in videos.items()}
    own = {name: places for name, places in own.items() if len(places)}
    mean = np.concatenate([videos[name].embedding[places] for name, places in own.items()]).mean(axis=0)
    rounds: list[list[TypicalFrame]] = [[] for _ in range(n)]
    for name, places in own.items():
        samples = videos[name]
        distances = np.linalg.norm(samples.embedding[places] - mean, axis=1)
        chosen: list[float] = []
        # A stable sort: of equal distances the earlier frame is taken.
        for place in np.argsort(distances, kind="stable"):
            time_s = float(samples.time_s[places[place]])
            if all(abs(time_s - other) >= APART_S for other in chosen):
                rounds[len(chosen)].append(TypicalFrame(name, time_s, float(distances[place])))
                chosen.append(time_s)
            if len(chosen) == n:
                break
    ranked = [frame for one in rounds for frame in sorted(one, key=lambda frame: (frame.distance, frame.video))]
    return ranked[:n]
