"""Dynamic time warping of videos (methods 5.10)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.interface import Array, Scalar, first_samples

ALIGNED = 120
"""Number of evenly spaced samples per video; some repeat in shorter videos."""

PAIRS = 256
"""Number of pairs that are aligned at once, to bound memory."""


def evenly_spaced(values: NDArray[Scalar], lengths: Sequence[int]) -> NDArray[Scalar]:
    """Return `ALIGNED` evenly spaced values of every video, (V, ALIGNED, ...), from concatenated values (T, ...)."""
    rows = [
        start + np.rint(np.linspace(0, T - 1, ALIGNED)).astype(np.int64)
        for start, T in zip(first_samples(lengths), lengths, strict=True)
    ]
    return np.asarray(values[np.array(rows)])


def warp(x_all: Array, y_all: Array) -> tuple[Array, NDArray[np.int64]]:
    r"""Align pairs of sequences by dynamic time warping.

    .. math:: S_{ij} = |x_i - y_j|^2 + \min(S_{i-1,j-1}, S_{i-1,j}, S_{i,j-1})

    Parameters
    ----------
    x_all, y_all
        Sequences x and y, (P, R, D) each.

    Returns
    -------
    costs : (P,)
        S of the last two samples.
    paths : (P, 2 R - 1, 2)
        Pairs (i, j) of the cheapest path, last first, then -1.
    """
    P, R, _ = x_all.shape
    costs, paths = np.empty(P), np.full((P, 2 * R - 1, 2), -1)
    for first in range(0, P, PAIRS):
        x, y = x_all[first : first + PAIRS], y_all[first : first + PAIRS]
        squares = np.square(x).sum(axis=2)[:, :, None] + np.square(y).sum(axis=2)[:, None, :]
        some = slice(first, first + len(x))
        costs[some], paths[some] = aligned(np.maximum(squares - 2 * x @ y.transpose(0, 2, 1), 0))
    return costs, paths


def aligned(apart: Array) -> tuple[Array, NDArray[np.int64]]:
    """Align pairs of sequences by the costs (P, R, R) of matching samples; return costs and paths as `warp` does."""
    P, R, _ = apart.shape
    paths = np.full((P, 2 * R - 1, 2), -1)
    sums = np.full((P, R + 1, R + 1), np.inf)
    sums[:, 0, 0] = 0
    for k in range(2 * R - 1):
        i = np.arange(max(0, k - R + 1), min(k, R - 1) + 1)
        j = k - i
        before = np.minimum(np.minimum(sums[:, i, j], sums[:, i, j + 1]), sums[:, i + 1, j])
        sums[:, i + 1, j + 1] = apart[:, i, j] + before
    row, i, j = np.arange(P), np.full(P, R), np.full(P, R)
    for k in range(2 * R - 1):
        inside = (i > 0) & (j > 0)
        paths[:, k] = np.where(inside[:, None], np.stack([i, j], axis=1) - 1, -1)
        up, previous_j = np.maximum(i - 1, 0), np.maximum(j - 1, 0)
        step = np.stack([sums[row, up, previous_j], sums[row, up, j], sums[row, i, previous_j]]).argmin(axis=0)
        i, j = np.where(step == 2, i, up), np.where(step == 1, j, previous_j)
    return sums[:, R, R], paths
