"""Carry labels from annotated videos over to others by dynamic time warping (methods 5.10).

A classifier learns little from a single annotated video; its order of key steps tells more. Libraries align one pair
at a time; here the antidiagonals of many pairs are computed together, on `ALIGNED` samples per video.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.interface import UNKNOWN, first_samples
from rgwot.keysteps.meanfield import Array

ALIGNED = 120
"""Evenly spaced samples per video; some repeat where a video is shorter."""

PAIRS = 256
"""Pairs that are aligned together, which bounds the memory."""

SPREAD = 0.1
"""Relative excess over the smallest cost at which the weight of an annotated video has fallen to 1/e."""

DOUBT = 0.1
"""Probability that is spread evenly over the annotated classes, since alignments err."""


def evenly_spaced(values: NDArray[Any], lengths: Sequence[int]) -> NDArray[Any]:
    """Return `ALIGNED` of every video, (V, ALIGNED, ...), of values (T, ...) of videos one after the other."""
    rows = [
        start + np.rint(np.linspace(0, T - 1, ALIGNED)).astype(np.int64)
        for start, T in zip(first_samples(lengths), lengths, strict=True)
    ]
    return np.asarray(values[np.array(rows)])


def warp(one: Array, other: Array) -> tuple[Array, NDArray[np.int64]]:
    r"""Align pairs of sequences by dynamic time warping.

    .. math:: S_{ij} = |x_i - y_j|^2 + \min(S_{i-1,j-1}, S_{i-1,j}, S_{i,j-1})

    Parameters
    ----------
    one, other
        Sequences x and y, (P, R, D) each.

    Returns
    -------
    costs : (P,)
        S of the last two samples.
    paths : (P, 2 R - 1, 2)
        Pairs (i, j) of the cheapest path, last first, then -1.
    """
    P, R, _ = one.shape
    costs, paths = np.empty(P), np.full((P, 2 * R - 1, 2), -1)
    for first in range(0, P, PAIRS):
        x, y = one[first : first + PAIRS], other[first : first + PAIRS]
        squares = np.square(x).sum(axis=2)[:, :, None] + np.square(y).sum(axis=2)[:, None, :]
        apart = np.maximum(squares - 2 * x @ y.transpose(0, 2, 1), 0)
        sums = np.full((len(x), R + 1, R + 1), np.inf)
        sums[:, 0, 0] = 0
        for k in range(2 * R - 1):
            i = np.arange(max(0, k - R + 1), min(k, R - 1) + 1)
            j = k - i
            before = np.minimum(np.minimum(sums[:, i, j], sums[:, i, j + 1]), sums[:, i + 1, j])
            sums[:, i + 1, j + 1] = apart[:, i, j] + before
        costs[first : first + len(x)] = sums[:, R, R]
        row, i, j = np.arange(len(x)), np.full(len(x), R), np.full(len(x), R)
        for k in range(2 * R - 1):
            inside = (i > 0) & (j > 0)
            paths[first : first + len(x), k] = np.where(inside[:, None], np.stack([i, j], axis=1) - 1, -1)
            up, left = np.maximum(i - 1, 0), np.maximum(j - 1, 0)
            step = np.stack([sums[row, up, left], sums[row, up, j], sums[row, i, left]]).argmin(axis=0)
            i, j = np.where(step == 2, i, up), np.where(step == 1, j, left)
    return costs, paths


def carry_over(x: Array, lengths: Sequence[int], shown: Array, said: NDArray[np.int64], C: int) -> Array:
    """Return probabilities (T, C) of the classes of samples, by the labels of annotated videos.

    Each video is aligned with every annotated one; a sample has the labels of the samples that it is matched with,
    annotated videos weighing more the less they cost. Where none of these has a label, all classes are alike.

    Parameters
    ----------
    x
        Directions (T, D) of videos one after the other.
    lengths
        Samples of each video.
    shown, said
        `evenly_spaced` directions (n, R, D) of annotated videos and their labels (n, R), R = `ALIGNED`: 0..C-1 or
        `UNKNOWN`.
    C
        Number of classes.
    """
    V, n = len(lengths), len(shown)
    few = np.asarray(evenly_spaced(x, lengths), dtype=np.float64)
    costs, paths = warp(np.repeat(few, n, axis=0), np.tile(shown, (V, 1, 1)))
    costs = costs.reshape(V, n)
    least = costs.min(axis=1, keepdims=True)
    weights = np.exp(-(costs - least) / np.maximum(SPREAD * least, 1e-12))
    known = np.bincount(said[said != UNKNOWN], minlength=C) > 0
    found = np.zeros((V, ALIGNED, C))
    for pair, path in enumerate(paths):
        video, other = divmod(pair, n)
        i, j = path[path[:, 0] >= 0].T
        labels = said[other, j]
        counts = np.zeros((ALIGNED, C))
        np.add.at(counts, (i[labels != UNKNOWN], labels[labels != UNKNOWN]), 1)
        total = counts.sum(axis=1, keepdims=True)
        found[video] += weights[video, other] * np.where(total > 0, counts / np.maximum(total, 1), 1 / C)
    found /= found.sum(axis=2, keepdims=True)
    # A few labels may lie between the samples that are aligned.
    found = (1 - DOUBT) * found + DOUBT * (known / known.sum() if known.any() else 1 / C)
    return np.concatenate(
        [own[np.rint(np.linspace(0, ALIGNED - 1, T)).astype(np.int64)] for own, T in zip(found, lengths, strict=True)]
    )
