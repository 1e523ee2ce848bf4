"""Segments that are not evidence of a key step, because they look like their neighbours (methods 9.6).

A decoder that knows when key steps usually come may find a key step at its usual time although it was left out, and two
key steps in their usual order although they were swapped. The appearance of key steps in the other videos, without
time, reveals such errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.consensus import FOLDS, LEAST_PROBABILITY, Classifier
from rgwot.keysteps.interface import Array
from rgwot.procedure import Event, Recording
from rgwot.procedure.differences import usual_lengths
from rgwot.timing import runs

MOST_CONSIDERED = 20_000
"""Largest number of samples for a classifier."""

MARGIN = 1.0
"""A segment is given to its neighbours if they explain its samples better by this many nats per sample."""


def appearance(x: Array, labels: NDArray[np.int64], lengths: Sequence[int], K: int) -> Array:
    """Return log probabilities (T, K) of key steps by their appearance in the other videos.

    Samples x (T, D) and labels (T,), in 0..K-1 or below 0 for background, are those of concatenated videos of
    ``lengths`` samples. The videos are divided into `FOLDS` parts or fewer, and the probabilities of each part come
    from a linear classifier that is trained on the other parts; they are NaN for key steps that the other parts lack.
    """
    fold = np.repeat(np.arange(len(lengths)) % FOLDS, lengths)
    log_p = np.full((len(x), K), np.nan)
    every = -(-len(x) // MOST_CONSIDERED)
    for part in np.unique(fold):
        others = np.flatnonzero((fold != part) & (labels >= 0))[::every]
        if not len(others):
            continue
        fold_p = Classifier.fit(x[others], labels[others], K).probabilities(x[fold == part])
        fold_p = np.log(np.maximum(fold_p, LEAST_PROBABILITY))
        fold_p[:, np.bincount(labels[others], minlength=K) == 0] = np.nan
        log_p[fold == part] = fold_p
    return log_p


LASTING = 0.7
"""A key step that would disappear from a video keeps a segment that has at least this part of the usual length."""


def usual_samples(labels: Iterable[NDArray[np.int64]]) -> dict[int, float]:
    """Return the usual length of each key step in samples (`rgwot.procedure.differences.usual_lengths`)."""
    recordings = [
        Recording(
            str(at),
            tuple(Event(int(steps[start]) + 1, start, end) for start, end in _runs(steps) if steps[start] >= 0),
            0,
        )
        for at, steps in enumerate(labels)
    ]
    return {step - 1: length for step, length in usual_lengths(recordings).items()}


def without_lookalikes(labels: NDArray[np.int64], log_p: Array, usual: Mapping[int, float]) -> NDArray[np.int64]:
    """Return labels (T,) in which the segments of a video that look like their neighbours are given to the neighbours.

    A segment is divided between the segments before and after it, at the sample where both together explain it best, if
    they explain it by more than `MARGIN` nats per sample better than its own key step. A key step that would disappear
    keeps its first segment of at least `LASTING` of its ``usual`` samples, because it may look different in this video.
    """
    cleaned = labels.copy()
    for start, end in _runs(labels):
        step_here = int(labels[start])
        if step_here < 0 or np.isnan(log_p[start, step_here]):
            continue
        before = int(labels[start - 1]) if start else -1
        after = int(labels[end]) if end < len(labels) else -1
        # For each possible border: how well the previous key step explains the samples before it, and the next key
        # step the samples after it.
        by_before, by_after = (_explained(log_p[start:end], step) for step in (before, after))
        total = np.concatenate([[0.0], by_before.cumsum()]) + np.concatenate([by_after[::-1].cumsum()[::-1], [0.0]])
        part = int(total.argmax())
        if total[part] - log_p[start:end, step_here].sum() > MARGIN * (end - start):
            cleaned[start : start + part], cleaned[start + part : end] = before, after
    for start, end in _runs(labels):
        step_here = int(labels[start])
        if step_here >= 0 and step_here not in cleaned and end - start >= LASTING * usual.get(step_here, 0.0):
            cleaned[start:end] = step_here
    return cleaned


def _runs(labels: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the start and end of each segment of a video."""
    _, starts, ends = runs(labels)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def _explained(looks: Array, step: int) -> Array:
    """Return the log probabilities (n,) of a key step for n samples; very low for background or an unknown key step."""
    looks_here = looks[:, step] if step >= 0 else np.full(len(looks), np.nan)
    return np.where(np.isnan(looks_here), 100 * np.log(LEAST_PROBABILITY), looks_here)
