"""Any decoder, given relative time (methods 5.5) and clusters beyond K (methods 5.6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.background import keep_clusters, key_step_clusters
from rgwot.keysteps.interface import Decode, Decoded, Frames, Learned, Predict, Restore
from rgwot.keysteps.relative_time import with_time

KEPT = "key_step_clusters"
"""Among what was learned with a surplus, the clusters that are key steps; the others are background."""

NUMBERS = "numbers"
"""Among what was learned, the numbers of the clusters."""


def extended(decoder: Decode, time: float, surplus: int) -> Decode:
    """Return a decoder whose embeddings have a share ``time`` of relative time, and which makes ``surplus`` clusters
    more than K, of which those least like key steps are background.

    The decoder itself where both are 0.
    """  # noqa: D205
    if not time and not surplus:
        return decoder

    def decode(frames: Frames, K: int, generator: np.random.Generator) -> Decoded:
        made = decoder(_timed(frames, time), K + surplus, generator)
        clusters = key_step_clusters(made.labels, frames.lengths, K + surplus, K) if surplus else None
        predict, learned = made.predict, made.learned
        return replace(
            _kept(made, clusters),
            predict=None if predict is None else _extended_rule(predict, time, clusters),
            learned=learned if learned is None or clusters is None else lambda: {**learned(), KEPT: clusters},
        )

    return decode


def restored(restore: Restore, learned: Learned, K: int, time: float, surplus: int) -> Predict:
    """Return how other videos are labelled by what an `extended` decoder learned with the same time and surplus.

    ``restore`` is that of the decoder, with its settings.
    """
    own = {name: value for name, value in learned.items() if name not in (KEPT, NUMBERS)}
    predict = _extended_rule(restore(own, K + surplus), time, learned[KEPT] if surplus else None)
    if NUMBERS not in learned:
        return predict

    def numbered(others: Frames) -> Decoded:
        found = predict(others)
        return replace(found, labels=renumbered(found.labels, learned[NUMBERS]))

    return numbered


def renumbered(labels: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return labels with cluster k called ``numbers[k]``; background, -1, stays.

    >>> renumbered(np.array([0, -1, 2]), np.array([1, 2, 0])).tolist()
    [1, -1, 0]
    """
    return np.where(labels < 0, labels, numbers[labels])


def _extended_rule(predict: Predict, time: float, clusters: NDArray[np.int64] | None) -> Predict:
    return lambda others: _kept(predict(_timed(others, time)), clusters)


def _timed(frames: Frames, share: float) -> Frames:
    if not share:
        return frames
    return replace(frames, x=with_time(frames.x, frames.lengths, share), place=2)


def _kept(found: Decoded, clusters: NDArray[np.int64] | None) -> Decoded:
    return found if clusters is None else replace(found, labels=keep_clusters(found.labels, clusters))
