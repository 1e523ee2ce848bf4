"""How far two answers are the same, when neither is the truth (methods 6.8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.evaluation.metrics import IntArray, contingency, f1, macro, match, strict

#: Share of a key step from which another one is part of it, and from which the other one lies inside it.
PART, INSIDE = 0.2, 0.5


class Agreement(NamedTuple):
    """Two answers side by side.

    Attributes
    ----------
    n_frames
        Frames compared.
    adjusted_rand
        Adjusted Rand index of the frames: 1 the same partition, about 0 for unrelated ones.
    same
        Share of the frames with matched key steps, after the best one-to-one matching, 0 to 1.
    macro_f1, strict_f1
        F1 after the best one-to-one matching of key steps, mean over those of the first answer, and of all frames.
    steps
        Key steps of either answer, (m,) and (n,); 0 is background.
    overlap
        (m, n) frames.
    matched
        Key steps of the second answer by those of the first, by the matching.
    kappa, kappas
        Cohen's kappa of the frames with matched key steps, and of every key step of the first answer against all other
        frames; 0 where it has no partner, NaN where there is nothing but it in both.
    segments_f1, segments_f1s
        F1 of segments: of all, and by key step of the first answer; NaN where there is none. A segment is found by one
        of the matched key step from `OVERLAP` on (`rgwot.evaluation.segmental.found_segments`).
    split, merged
        Key steps of the first answer that are several of the second, and of the second that are several of the first:
        each of the parts has a fifth of it or more, and lies more than half inside it.
    """

    n_frames: int
    adjusted_rand: float
    same: float
    macro_f1: float
    strict_f1: float
    steps: tuple[IntArray, IntArray]
    overlap: IntArray
    matched: dict[int, int]
    kappa: float
    kappas: dict[int, float]
    segments_f1: float
    segments_f1s: dict[int, float]
    split: dict[int, list[int]]
    merged: dict[int, list[int]]

    def swapped(self) -> Agreement:
        """Return the same with the answers in the other order."""
        return _of_overlap(self.steps[1], self.steps[0], self.overlap.T, self.adjusted_rand)


def agreement(first: Sequence[IntArray], second: Sequence[IntArray]) -> Agreement:
    """Compare the key steps of two answers for the same frames.

    Parameters
    ----------
    first, second
        One array (T_v,) per video, of the same frames; at least one frame in all.

    Examples
    --------
    >>> found = agreement([np.array([1, 1, 2, 2, 2, 2])], [np.array([5, 5, 7, 7, 8, 8])])
    >>> found.split
    {2: [7, 8]}
    """
    a, b = np.concatenate(list(first)), np.concatenate(list(second))
    if a.shape != b.shape or not a.size:
        raise ValueError(f"labels: found {a.size} and {b.size} frames, expected as many of both, at least one")
    from sklearn.metrics import adjusted_rand_score

    names_a, rows = np.unique(a, return_inverse=True)
    names_b, columns = np.unique(b, return_inverse=True)
    overlap = contingency(rows, columns, len(names_a), len(names_b))
    return _of_overlap(names_a, names_b, overlap, float(adjusted_rand_score(a, b)))


def _of_overlap(names_a: IntArray, names_b: IntArray, overlap: IntArray, adjusted_rand: float) -> Agreement:
    pairs = match(overlap)
    mean, whole = macro(overlap, pairs), strict(overlap, pairs)
    return Agreement(
        int(overlap.sum()),
        adjusted_rand,
        float(overlap[pairs].sum() / overlap.sum()),
        f1(mean.precision, mean.recall),
        f1(whole.precision, whole.recall),
        (names_a, names_b),
        overlap,
        {int(names_a[g]): int(names_b[k]) for g, k in zip(*pairs, strict=True) if overlap[g, k]},
        _parts(overlap, names_a, names_b),
        _parts(overlap.T, names_b, names_a),
    )


def _parts(overlap: NDArray[np.int64], whole: IntArray, part: IntArray) -> dict[int, list[int]]:
    """Return the rows that consist of several columns."""
    of_whole, of_part = overlap / overlap.sum(axis=1, keepdims=True), overlap / overlap.sum(axis=0, keepdims=True)
    found = {}
    for row, name in enumerate(whole):
        parts = np.flatnonzero((of_whole[row] >= PART) & (of_part[row] > INSIDE))
        if len(parts) > 1:
            found[int(name)] = [int(part[at]) for at in parts[np.argsort(-overlap[row, parts], kind="stable")]]
    return found
