"""Segments that look like their neighbours are no evidence of a key step (methods 9.6).

A decoder that knows when key steps usually come finds one where it was due, though it was left out, and finds two that
were swapped in their usual order. What the other videos say of the looks of every key step, time apart, tells that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.consensus import FOLDS, LEAST_PROBABILITY, Array, Classifier
from rgwot.procedure import Event, Recording
from rgwot.procedure.differences import usual_lengths

MOST_CONSIDERED = 20_000
"""Samples from which a classifier learns at most."""

MARGIN = 1.0
"""By how much neighbours have to explain the samples of a segment better, in nats per sample."""


def looks(x: Array, labels: NDArray[np.int64], lengths: Sequence[int], K: int) -> Array:
    """Return the logarithms of the probabilities (T, K) of key steps by what other videos say of their looks.

    Samples x (T, D) are of videos one after the other, with the samples of each in ``lengths``, and labels (T,) in
    0..K-1, or below 0 for background. A linear classifier is trained on the other videos of `FOLDS` parts. NaN for key
    steps that none of those has.
    """
    fold = np.repeat(np.arange(len(lengths)) % FOLDS, lengths)
    log_p = np.full((len(x), K), np.nan)
    every = -(-len(x) // MOST_CONSIDERED)
    for part in np.unique(fold):
        rest = np.flatnonzero((fold != part) & (labels >= 0))[::every]
        if not len(rest):
            continue
        fold_p = Classifier.fit(x[rest], labels[rest], K).probabilities(x[fold == part])
        fold_p = np.log(np.maximum(fold_p, LEAST_PROBABILITY))
        fold_p[:, np.bincount(labels[rest], minlength=K) == 0] = np.nan
        log_p[fold == part] = fold_p
    return log_p


LASTING = 0.7
"""Part of the usual length of a key step from which the only segment of it in a video stays, whatever it looks like."""


def usual_samples(labels: Iterable[NDArray[np.int64]]) -> dict[int, float]:
    """Return in how many samples each key step usually comes (`rgwot.procedure.differences.usual_lengths`)."""
    recordings = [
        Recording(
            str(at),
            tuple(Event(int(steps[start]) + 1, start, end) for start, end in _runs(steps) if steps[start] >= 0),
            0,
        )
        for at, steps in enumerate(labels)
    ]
    return {step - 1: length for step, length in usual_lengths(recordings).items()}


def evident(labels: NDArray[np.int64], looks: Array, usual: Mapping[int, float]) -> NDArray[np.int64]:
    """Give segments of a video that look like their neighbours to these, and return the labels (T,) that result.

    A segment falls to the one before up to some sample and to the one after from there on, wherever these together
    explain its samples best, if that is by more than `MARGIN` nats per sample better than its own key step does.
    A key step that nothing would be left of keeps what lasts `LASTING` of its ``usual`` samples: in one video it may
    look as it does in no other.
    """
    cleaned = labels.copy()
    for start, end in _runs(labels):
        own = int(labels[start])
        if own < 0 or np.isnan(looks[start, own]):
            continue
        before = int(labels[start - 1]) if start else -1
        after = int(labels[end]) if end < len(labels) else -1
        # What each neighbour explains of the samples before, and from, every place to part at.
        left, right = (_explained(looks[start:end], step) for step in (before, after))
        total = np.concatenate([[0.0], left.cumsum()]) + np.concatenate([right[::-1].cumsum()[::-1], [0.0]])
        part = int(total.argmax())
        if total[part] - looks[start:end, own].sum() > MARGIN * (end - start):
            cleaned[start : start + part], cleaned[start + part : end] = before, after
    for start, end in _runs(labels):
        own = int(labels[start])
        if own >= 0 and own not in cleaned and end - start >= LASTING * usual.get(own, 0.0):
            cleaned[start:end] = own
    return cleaned


def _runs(labels: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return where each segment of a video begins and ends."""
    borders = (np.flatnonzero(np.diff(labels)) + 1).tolist()
    return list(pairwise([0, *borders, len(labels)])) if len(labels) else []


def _explained(looks: Array, step: int) -> Array:
    """Return the log probabilities (n,) of a key step for n samples; very low for background or an unknown key step."""
    looks_here = looks[:, step] if step >= 0 else np.full(len(looks), np.nan)
    return np.where(np.isnan(looks_here), 100 * np.log(LEAST_PROBABILITY), looks_here)
