"""Videos in which a single key step comes at a different place from that in annotated videos (methods 5.10).

Dynamic time warping carries labels over only if key steps come in the same order. For each key step that an annotated
video has once, the alignment is repeated with that step at every other place; partial sums make this cheap. If one of
these alignments is much cheaper, the samples of the step are put back to their usual place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.interface import Array
from rgwot.keysteps.warping import PAIRS, aligned

GAIN = 125.0
"""A move must save at least this much of the cost of an alignment of `rgwot.keysteps.warping.ALIGNED` samples."""

USUAL_GAINS = 3.0
"""A move must save at least this multiple of what the best move saves in the median video, since the moves of key steps
that look like others save a lot in any video."""

MOST_MOVED = 0.5
"""Largest share of videos in which a key step is moved; with more, there is no order to return to."""


def usual_orders(
    x: Array, log_p: Array, references: Array, reference_labels: NDArray[np.int64], least: float | None = None
) -> tuple[dict[int, NDArray[np.int64]], float]:
    """Return an order of the samples (R,) of each video in which a key step is moved, by the index of the video.

    In this order, the key step is at its usual place. A move counts if it saves more than ``least`` for all references;
    by default, `GAIN`, `USUAL_GAINS` and `MOST_MOVED` decide. The second result is the limit that was used.

    Parameters
    ----------
    x, log_p
        Directions (V, R, D) of evenly spaced samples, and log probabilities (V, R, C) of their classes by appearance;
        the last class is background.
    references, reference_labels
        Directions (n, R, D) of annotated videos, and their labels (n, R): 0..C-1, or negative if unknown.
    """
    orders: dict[int, NDArray[np.int64]] = {}
    gains = np.zeros(len(x))
    for first in range(0, len(x), PAIRS):
        some = slice(first, first + PAIRS)
        gains[some], found = _best_moves(x[some], log_p[some], references, reference_labels)
        orders |= {first + video: order for video, order in found.items()}
    if least is None:
        least = max(GAIN, USUAL_GAINS * float(np.median(gains)))
        if (gains > least).mean() > MOST_MOVED:
            least = np.inf
    return {video: order for video, order in orders.items() if gains[video] > least}, least


def _best_moves(
    x: Array, log_p: Array, references: Array, reference_labels: NDArray[np.int64]
) -> tuple[Array, dict[int, NDArray[np.int64]]]:
    """Return what the best move of each video saves (V,), and orders that undo moves which save more than `GAIN`."""
    V, R, C = log_p.shape
    # Where an annotated video has no label, all classes are equally likely.
    log_p = np.concatenate([log_p, np.full((V, R, 1), -np.log(C))], axis=2)
    gains, best = np.zeros((len(references), V, C)), np.zeros((len(references), V, C, 2), dtype=np.int64)
    aparts, parts = [], [segments_of(labels) for labels in reference_labels]
    for n, (y, labels) in enumerate(zip(references, reference_labels, strict=True)):
        apart = np.square(x).sum(axis=2)[:, :, None] + np.square(y).sum(axis=1) - 2 * x @ y.T
        aparts.append(np.maximum(apart, 0) - log_p[:, :, np.where(labels < 0, C, labels)])
        steps = [int(labels[first]) for first, _ in parts[n]]
        once = [i for i, step in enumerate(steps) if 0 <= step < C - 1 and steps.count(step) == 1]
        plain, costs = moved_costs(aparts[n], parts[n], once)
        for i in once:
            gains[n, :, steps[i]] = np.maximum(plain - costs[i].min(axis=0), 0)
            best[n, :, steps[i]] = np.stack([np.full(V, i), costs[i].argmin(axis=0)], axis=1)
    least = gains.min(axis=0)
    found = {}
    for video in np.flatnonzero(least.max(axis=1) > GAIN):
        step = int(least[video].argmax())
        n = int(gains[:, video, step].argmax())
        found[int(video)] = _put_back(aparts[n][video], parts[n], *best[n, video, step].tolist())
    return least.max(axis=1), found


def _put_back(apart: Array, parts: Sequence[tuple[int, int]], i: int, j: int) -> NDArray[np.int64]:
    """Return the order (R,) of a video's samples that undoes the move of part i of a reference next to part j."""
    R, places = len(apart), [place for place in range(len(parts)) if place != i]
    places.insert(places.index(j) + (j > i), i)
    moved = np.concatenate([np.arange(*parts[place]) for place in places])
    path = aligned(apart[None, :, moved])[1][0]
    path = path[path[:, 0] >= 0]
    part = np.repeat(np.arange(len(parts)), [last - first for first, last in parts])[moved[path[:, 1]]]
    first, last = int(path[part == i, 0].min()), int(path[part == i, 0].max()) + 1
    to = int(path[part == i + 1, 0].min()) if i + 1 < len(parts) else R
    rest = np.r_[0:first, last:R]
    return np.insert(rest, int(np.searchsorted(rest, to)), np.arange(first, last))


def stretched(order: NDArray[np.int64], T: int) -> NDArray[np.int64]:
    """Return the order of all T samples of a video from the order of evenly spaced ones (R,).

    >>> stretched(np.array([1, 0]), 4).tolist()
    [2, 3, 0, 1]
    """
    R = len(order)
    nearest = np.rint(np.arange(T) * (R - 1) / max(T - 1, 1)).astype(np.int64)
    return np.argsort(np.argsort(order)[nearest], kind="stable")


def segments_of(labels: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the first sample of every segment of labels (T,), and the one after its last.

    >>> segments_of(np.array([4, 4, 1, 4]))
    [(0, 2), (2, 3), (3, 4)]
    """
    return list(pairwise([0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]))


def moved_costs(apart: Array, parts: Sequence[tuple[int, int]], chosen: Iterable[int]) -> tuple[Array, Array]:
    """Return the costs (V,) of warping videos onto a reference, and with a part of it moved (P, P, V).

    Entry (i, j) of the second array is the cost if part i comes directly after part j > i or before part j < i;
    infinity for i that are not ``chosen``, and for i = j.

    Parameters
    ----------
    apart
        Costs (V, R, R) of matching each sample of videos with each sample of the reference.
    parts
        First sample, and the one after the last, of each of P parts of the reference.
    chosen
        Indices of the parts that may be moved.
    """
    V, R, P = len(apart), apart.shape[1], len(parts)
    costs = np.full((P, P, V), np.inf)
    plain = _later(apart, parts, set(chosen), costs)
    # Moves to an earlier time are found in reversed time.
    backwards = [(R - stop, R - start) for start, stop in reversed(parts)]
    _later(apart[:, ::-1, ::-1], backwards, {P - 1 - i for i in chosen}, costs[::-1, ::-1])
    return plain, costs


def _later(apart: Array, parts: Sequence[tuple[int, int]], chosen: set[int], costs: Array) -> Array:
    """Fill in the costs if a part comes later; return the costs (V,) without a move."""
    V, R, P = len(apart), apart.shape[1], len(parts)
    start = np.full((V, R + 1), np.inf)
    start[:, 0] = 0
    before, behind = [start], [start]
    for part in parts:
        before.append(_aligned(before[-1], apart, *part))
    backwards = apart[:, ::-1, ::-1]
    for first, last in reversed(parts):
        behind.append(_aligned(behind[-1], backwards, R - last, R - first))
    for i in sorted(chosen):
        sums = before[i]
        for j in range(i + 1, P):
            sums = _aligned(sums, apart, *parts[j])
            moved, rest = _aligned(sums, apart, *parts[i]), behind[P - 1 - j][:, ::-1]
            # The next sample of the reference is first matched with the same sample of the video, or with the next one.
            costs[i, j] = moved[:, R] if j == P - 1 else (moved + rest).min(axis=1)
            if j < P - 1:
                costs[i, j] = np.minimum(costs[i, j], (moved[:, 1:] + rest[:, :-1]).min(axis=1))
    return before[-1][:, R]


def _aligned(sums: Array, apart: Array, first: int, last: int) -> Array:
    """Return the costs (V, R + 1) of alignments that continue with the samples first..last-1 of the reference.

    Entry t is the least cost if the last sample of the video so far is t - 1.
    """
    for j in range(first, last):
        column = apart[:, :, j]
        total = np.cumsum(column, axis=1)
        entered = np.minimum(sums[:, :-1], sums[:, 1:]) - total + column
        sums = np.concatenate([np.full((len(sums), 1), np.inf), total + np.minimum.accumulate(entered, axis=1)], axis=1)
    return sums
