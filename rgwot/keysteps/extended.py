"""Extensions of any decoder: time beside the features (methods 5.5) and surplus clusters (5.6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rgwot.embedding.interface import USUAL
from rgwot.keysteps.common_time import with_time
from rgwot.keysteps.interface import (
    Decode,
    Decoded,
    Frames,
    Learned,
    Predict,
    Restore,
)
from rgwot.keysteps.surplus import keep_clusters, key_step_clusters

KEPT = "key_step_clusters"
"""Key of the learned parameters with surplus clusters: the clusters that are key steps; others are background."""

TIME_REFERENCES = "time_references"
"""Key of the learned parameters with common time: its references."""

NUMBERS = "numbers"
"""Key of the learned parameters: the numbers of the clusters."""


def extended(decoder: Decode, time: float, surplus: int, common: NDArray[np.floating] | None = None) -> Decode:
    """Wrap a decoder: time gets the share ``time`` of the embeddings (`with_time`), and of K + ``surplus`` clusters,
    those least like key steps become background.

    If both are 0, the decoder itself is returned.
    """  # noqa: D205
    if not time and not surplus:
        return decoder

    def decode(frames: Frames, K: int, generator: np.random.Generator) -> Decoded:
        decoded = decoder(_timed(frames, time, common), K + surplus, generator)
        clusters = key_step_clusters(decoded.labels, frames.lengths, K + surplus, K) if surplus else None
        arrays = {name: array for name, array in ((KEPT, clusters), (TIME_REFERENCES, common)) if array is not None}
        learned = None if decoded.learned is None else {**decoded.learned, **arrays}
        return replace(_kept(decoded, clusters), learned=learned)

    return decode


def restored(restore: Restore, learned: Learned, K: int, time: float, surplus: int) -> Predict:
    """Return the function that labels other videos by an `extended` decoder with the same time and surplus.

    ``restore`` is the `Restore` of the decoder, with its settings.

    Raises
    ------
    ValueError
        If the arrays do not belong to K key steps.
    """
    if NUMBERS in learned and sorted(learned[NUMBERS].tolist()) != list(range(K)):
        raise ValueError(f"{NUMBERS} are not 0 to {K - 1}")
    # The decoder `labelled` also has a class for background, and ``classes`` holds the class of each centre.
    most = len(learned["classes"]) if "classes" in learned else K + surplus
    if (found := len(learned.get("centres", ()))) > most:
        raise ValueError(f"{found} centres, expected at most {most}")
    if not np.isfinite(learned.get("centres", 0.0)).all():
        raise ValueError("centres are not finite")
    arrays = {name: value for name, value in learned.items() if name not in (KEPT, NUMBERS, TIME_REFERENCES, USUAL)}
    clusters, predict = learned[KEPT] if surplus else None, restore(arrays, K + surplus)

    def extended_predict(others: Frames) -> Decoded:
        decoded = _kept(predict(_timed(others, time, learned.get(TIME_REFERENCES))), clusters)
        if NUMBERS not in learned:
            return decoded
        numbers, u = learned[NUMBERS], decoded.memberships
        # With surplus clusters, memberships have more columns than there are key steps, and stay as they are.
        if u is not None and u.shape[1] == len(numbers):
            u = u[:, np.argsort(numbers)]
        return replace(decoded, labels=renumbered(decoded.labels, numbers), memberships=u)

    return extended_predict


def renumbered(labels: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Replace cluster k by ``numbers[k]`` in labels; background (-1) does not change.

    >>> renumbered(np.array([0, -1, 2]), np.array([1, 2, 0])).tolist()
    [1, -1, 0]
    """
    return np.where(labels < 0, labels, numbers[labels])


def _timed(frames: Frames, share: float, common: NDArray[np.floating] | None) -> Frames:
    if not share:
        return frames
    return replace(frames, x=with_time(frames.x, frames.lengths, share, common), place=2)


def _kept(decoded: Decoded, clusters: NDArray[np.int64] | None) -> Decoded:
    if clusters is None:
        return decoded
    members = tuple(np.where(member < 0, member, keep_clusters(member, clusters)) for member in decoded.members)
    return replace(decoded, labels=keep_clusters(decoded.labels, clusters), members=members)
